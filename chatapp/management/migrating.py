"""Additions to Django's `migrate`: one transaction on SQLite, progress, clear errors."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

from django.core.management.base import CommandError
from django.db import connection, transaction

from chatapp.db.errors import UPGRADE, problem_with

PROGRESS_SECONDS = 3.0

_UNCHANGED = {
    "sqlite": "Nothing was lost: the database is as it was, and the previous version of chatapp "
    "works with it.",
    "postgresql": "Nothing was lost: this step was undone, and the previous version of chatapp "
    "works with the steps before it.",
}
_REPORT = "This is a fault of chatapp. Please report it with this message."


class MigrationFailed(CommandError):
    """An error raised by a migration, or by the steps before and after all migrations."""

    def __init__(self, step: str, error: Exception) -> None:
        self.step = step  # the migration, as app.name
        problem = problem_with(connection, error)
        if problem is None or problem.remedy == UPGRADE:
            reason, remedy = str(error).strip().partition("\n")[0] or type(error).__name__, _REPORT
        else:
            reason, remedy = problem
        unchanged = _UNCHANGED[connection.vendor]
        super().__init__(f"The upgrade failed at {step}: {reason}.\n{unchanged}\n{remedy}")


@contextmanager
def one_transaction_on_sqlite() -> Iterator[None]:
    """Run all migrations or none. PostgreSQL runs each in its own, so that nobody waits long.

    Django rebuilds tables with foreign keys unchecked, which can only be set outside a transaction;
    it checks all of them after each migration.
    """
    if connection.vendor != "sqlite":
        yield
        return
    connection.disable_constraint_checking()
    try:
        with transaction.atomic():
            yield
    finally:
        connection.enable_constraint_checking()


class SlowSteps:
    """Reports the current step every few seconds if it is slow; used in a `with` statement."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._step, self._began_at = "", 0.0
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def begin(self, step: str) -> None:
        """Begin this step, or none if it is empty."""
        self._step, self._began_at = step, time.monotonic()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._has_ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._has_ended.wait(PROGRESS_SECONDS):
            seconds = time.monotonic() - self._began_at
            if self._step and seconds >= PROGRESS_SECONDS:
                self._report(f"{self._step}: {seconds:.0f} s")
