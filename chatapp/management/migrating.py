"""Django's `migrate` with one transaction on SQLite, progress and clear errors."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connection, transaction

from chatapp.db.errors import UPGRADE, problem_with
from chatapp.db.locks import only_one_process
from chatapp.management.sentences import explain_errors
from chatapp.server.data_dir import make_private

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


class MigrateCommand(migrate.Command):
    """Django's command with progress and clear errors, run by one process at a time."""

    total = 0  # the number of migrations to apply, if the caller knows it

    def execute(self, *args: Any, **options: Any) -> str | None:
        with explain_errors():
            if connection.vendor == "sqlite" and not options.get("plan"):
                _try_to_write()
            output: str | None = super().execute(*args, **options)
        return output

    def handle(self, *args: Any, **options: Any) -> None:
        make_private(settings.DATA_DIR)
        self._step, self._count = "", 0
        try:
            with (
                SlowSteps(lambda line: self.stderr.write(line, self.style.NOTICE)) as self._slow,
                only_one_process("migrate"),
                one_transaction_on_sqlite(),
            ):
                super().handle(*args, **options)
        except Exception as error:
            problem = problem_with(connection, error)
            if self._step or (problem and problem.remedy == UPGRADE):
                raise MigrationFailed(self._step or "its preparation", error) from error
            raise

    def migration_progress_callback(
        self, action: str, migration: Any = None, fake: bool = False
    ) -> None:
        match action:
            case "apply_start" | "unapply_start":
                self._count += 1
                of = f" ({self._count} of {self.total})" if self.total else ""
                self._step = f"{migration.app_label}.{migration.name}"
                self._slow.begin(f"{self._step}{of}")
            case "apply_success" | "unapply_success":
                self._step = "its triggers and sums"
                self._slow.begin("Triggers and sums")
        super().migration_progress_callback(action, migration, fake)


def _try_to_write() -> None:
    """Raise an error if the database is read-only.

    Otherwise Django's checks, which run first, would report a SQLite without JSON support.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TABLE chatapp_tried (id integer)")
        transaction.set_rollback(True)
