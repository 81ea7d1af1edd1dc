"""`manage.py migrate`: Django's command, run by one process at a time.

So every process of a deployment may migrate when it starts: the first one does, and the others wait
and find nothing to do.
"""

from typing import Any

from django.conf import settings
from django.core.management.commands import migrate
from django.db import connection, transaction

from chatapp.db.locks import only_one_process
from chatapp.management.sentences import in_sentences
from chatapp.server.data_dir import make_private


class Command(migrate.Command):
    def execute(self, *args: Any, **options: Any) -> str | None:
        with in_sentences():
            if connection.vendor == "sqlite" and not options.get("plan"):
                _try_to_write()
            output: str | None = super().execute(*args, **options)
        return output

    def handle(self, *args: Any, **options: Any) -> None:
        make_private(settings.DATA_DIR)
        with only_one_process("migrate"):
            super().handle(*args, **options)


def _try_to_write() -> None:
    """Raise an error if the database is read-only.

    Otherwise Django's checks, which run first, would report a SQLite without JSON support.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TABLE chatapp_tried (id integer)")
        transaction.set_rollback(True)
