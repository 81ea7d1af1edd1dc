"""A housekeeping of files alone."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.storage import Storage
from django.utils import timezone

from chatapp.models import Attachment, StoredFile
from chatapp.models.files.abandoned import delete_abandoned

OnCommit = Callable[..., AbstractContextManager[Any]]


@pytest.fixture
def clean_up(disk: Storage, django_capture_on_commit_callbacks: OnCommit) -> Callable[[], None]:
    """Return a function that deletes all unused files as housekeeping does an hour later."""

    def clean_up() -> None:
        StoredFile.objects.update(used_at=timezone.now() - timedelta(hours=1))
        with django_capture_on_commit_callbacks(execute=True):
            while Attachment.objects.delete_abandoned() or StoredFile.objects.delete_unused():
                pass
        delete_abandoned()

    return clean_up
