"""`manage.py reindex`: rebuild the search index from everything that is stored."""

import time
from typing import Any

from django.core.management.base import BaseCommand
from django.db import connection

from chatapp.management.sentences import explain_errors
from chatapp.models import reindex
from chatapp.models.search import full_text

EVERY_SECONDS = 3.0


class Command(BaseCommand):
    help = (
        "Rebuild the search index of all messages and titles, step by step. Can be run while the "
        "app is running, and stopped and started again."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        last_line_at, done = time.monotonic(), 0
        with explain_errors():
            for done, total in reindex():
                if time.monotonic() - last_line_at > EVERY_SECONDS:
                    last_line_at = time.monotonic()
                    self.stdout.write(f"{done:,} of {total:,} messages and titles")
            full_text.clear_deleted(connection)
        self.stdout.write(f"All {done:,} messages and titles are in the search index.")
