"""`manage.py housekeeping`: deletes at once what the app deletes by itself every hour."""

import time
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from chatapp.management.sentences import in_sentences
from chatapp.models import Conversation, Message, Retention
from chatapp.models.shelves import TRASH_DAYS
from chatapp.realtime.worker.housekeeping import cleaning

EVERY_SECONDS = 3.0
KINDS: Mapping[str, str] = {
    "conversations": "conversations",
    "messages": "messages",
    "images": "images",
    "details": "details of the audit log",
}


class Command(BaseCommand):
    help = (
        "Deletes for good what has been in the trash for thirty days, and what is kept no longer "
        "by what is set under /retention/; after somebody was erased, has the database's files "
        "written anew. May be run while the app serves, and be stopped and started again; only to "
        "a file of SQLite's nobody writes while it is written anew, ten seconds for each GB."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would go, and delete nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with in_sentences():
            self._tell() if options["dry_run"] else self._clean_up()

    def _tell(self) -> None:
        over = timezone.now() - timedelta(days=TRASH_DAYS)
        trash = Conversation.objects.purgeable().count()
        deleted = Message.objects.purgeable(over).count()
        self.stdout.write(f"Of the trash: {trash:,} conversations")
        self.stdout.write(f"Deleted in conversations: {deleted:,} messages")
        self.stdout.write(
            f"Kept for as long as is set: {_in_words(Retention.now().preview().counts)}"
        )

    def _clean_up(self) -> None:
        told_at, gone = time.monotonic(), Counter[str]()
        for steps, gone in enumerate(cleaning(), 1):
            if time.monotonic() - told_at > EVERY_SECONDS:
                told_at = time.monotonic()
                self.stdout.write(f"{steps:,} steps; kept for as long as is set: {_in_words(gone)}")
        self.stdout.write("What was to be deleted is deleted.")
        if gone:
            self.stdout.write(f"Kept for as long as was set: {_in_words(gone)}")


def _in_words(counts: Counter[str]) -> str:
    kinds = [kind for kind in KINDS if counts[kind]]
    return ", ".join(f"{counts[kind]:,} {KINDS[kind]}" for kind in kinds) or "nothing"
