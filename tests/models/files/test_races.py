"""Deleting unused files while others store the same content."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeVar

import pytest
from django.db import connection, transaction
from django.utils import timezone

from chatapp.models import StoredFile, User
from tests.support.attaching import stored_names
from tests.support.stored import wait_until_somebody_waits

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("disk")]

T = TypeVar("T")


@pytest.fixture
def old(alice: User) -> StoredFile:
    file = StoredFile.store(b"Sales fell", alice.pk)
    StoredFile.objects.update(used_at=timezone.now() - timedelta(hours=1))
    return file


def elsewhere(act: Callable[[], T]) -> T:
    try:
        return act()
    finally:
        connection.close()


@contextmanager
def meanwhile(act: Callable[[], T]) -> Iterator["Future[T]"]:
    """Let another thread act while a transaction is open; it ends after the transaction."""
    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic():
            future: Future[T] = Future()
            yield future
            acting = thread.submit(elsewhere, act)
            wait_until_somebody_waits()
        future.set_result(acting.result())


def test_content_that_is_stored_while_it_is_deleted_is_there_afterwards(
    alice: User, old: StoredFile
) -> None:
    with meanwhile(lambda: StoredFile.store(b"Sales fell", alice.pk)) as stored:
        assert StoredFile.objects.delete_unused()
    assert StoredFile.objects.get() == stored.result()
    assert stored.result().read() == b"Sales fell"
    assert stored_names() == {stored.result().name}


def test_content_that_is_being_stored_again_is_not_deleted(alice: User, old: StoredFile) -> None:
    with meanwhile(StoredFile.objects.delete_unused) as deleted:
        assert StoredFile.store(b"Sales fell", alice.pk) == old
    assert not deleted.result()
    assert old.read() == b"Sales fell"
