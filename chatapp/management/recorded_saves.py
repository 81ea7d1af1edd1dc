"""Record audit events for Django's own commands that create or change accounts.

They prompt in the terminal and then save one user. The event is recorded with that save, so that no
transaction stays open while somebody types.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction

from chatapp.models import User, audit

ROLES = ("is_staff", "is_superuser", "reviews")


@contextmanager
def record_saves() -> Iterator[None]:
    """Record an audit event with each `User.save` inside the block."""
    save = User.save

    def save_and_record(person: User, *args: Any, **options: Any) -> None:
        is_new = person._state.adding  # noqa: SLF001 - documented by Django
        with transaction.atomic():
            save(person, *args, **options)
            roles = {name: True for name in ROLES if getattr(person, name)}
            detail = {"after": roles} if is_new else {}
            action = "person.added" if is_new else "password.changed"
            audit.record(action, actor=None, about=person, detail=detail)

    User.save = save_and_record  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        User.save = save  # type: ignore[method-assign]
