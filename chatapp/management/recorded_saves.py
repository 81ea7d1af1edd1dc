"""Django's own commands for accounts ask at the terminal, and then save one person: that is where
the event belongs, in a transaction that nobody's typing holds open."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction

from chatapp.models import User, audit

ROLES = ("is_staff", "is_superuser", "reviews")


@contextmanager
def recorded_saves() -> Iterator[None]:
    """Whoever is saved meanwhile, by whoever has the terminal, is saved with an event."""
    save = User.save

    def save_and_record(person: User, *args: Any, **options: Any) -> None:
        is_new = person._state.adding  # noqa: SLF001 - Django documents it
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
