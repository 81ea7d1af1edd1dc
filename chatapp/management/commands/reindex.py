"""`manage.py reindex`: makes what searches read anew, of all that is stored."""

import time
from typing import Any

from django.core.management.base import BaseCommand
from django.db import connection

from chatapp.management.sentences import in_sentences
from chatapp.models import full_text, reindex

EVERY_SECONDS = 3.0


class Command(BaseCommand):
    help = (
        "Make the search index anew, of every message and title, bit by bit. May be run while the "
        "app serves, and be stopped and started again."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        told_at, done = time.monotonic(), 0
        with in_sentences():
            for done, total in reindex():
                if time.monotonic() - told_at > EVERY_SECONDS:
                    told_at = time.monotonic()
                    self.stdout.write(f"{done:,} of {total:,} messages and titles")
            full_text.clear_deleted(connection)
        self.stdout.write(f"Searches find all {done:,} messages and titles.")
