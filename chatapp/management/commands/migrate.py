"""`manage.py migrate`: Django's command, run by one process at a time.

So every process of a deployment may migrate when it starts: the first one does, and the others wait
and find nothing to do. On SQLite all migrations run in one transaction.
"""

from typing import Any

from django.conf import settings
from django.core.management.commands import migrate
from django.db import connection, transaction

from chatapp.db.errors import UPGRADE, problem_with
from chatapp.db.locks import only_one_process
from chatapp.management.migrating import MigrationFailed, SlowSteps, one_transaction_on_sqlite
from chatapp.management.sentences import explain_errors
from chatapp.server.data_dir import make_private


class Command(migrate.Command):
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
