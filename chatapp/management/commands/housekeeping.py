"""`manage.py housekeeping`: do now what the app does every hour."""

import time
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from chatapp.management.sentences import explain_errors
from chatapp.models import Conversation, Message, Retention
from chatapp.models.conversations.chats.folders import TRASH_DAYS
from chatapp.realtime.worker.housekeeping import run_cleanup_steps

EVERY_SECONDS = 3.0
KINDS: Mapping[str, str] = {
    "conversations": "conversations",
    "messages": "messages",
    "images": "images",
    "files": "files",
    "details": "details in the audit log",
}


class Command(BaseCommand):
    help = (
        "Permanently delete what has been in the trash for thirty days and what is older than "
        "/retention/ allows. If somebody was erased, rewrite the database's files. Can be run "
        "while the app is running, and stopped and started again. While a SQLite file is "
        "rewritten, ten seconds for each GB, nothing else can be written."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would be deleted, and delete nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with explain_errors():
            self._print_preview() if options["dry_run"] else self._clean_up()

    def _print_preview(self) -> None:
        over = timezone.now() - timedelta(days=TRASH_DAYS)
        trash = Conversation.objects.purgeable().count()
        deleted = Message.objects.purgeable(over).count()
        self.stdout.write(f"Conversations in the trash for {TRASH_DAYS} days or more: {trash:,}")
        self.stdout.write(f"Messages deleted {TRASH_DAYS} days ago or earlier: {deleted:,}")
        self.stdout.write(f"Past their retention: {_in_words(Retention.now().preview().counts)}")

    def _clean_up(self) -> None:
        last_line_at, deleted_counts = time.monotonic(), Counter[str]()
        for steps, deleted_counts in enumerate(run_cleanup_steps(), 1):
            if time.monotonic() - last_line_at > EVERY_SECONDS:
                last_line_at = time.monotonic()
                self.stdout.write(
                    f"{steps:,} steps; past their retention: {_in_words(deleted_counts)}"
                )
        self.stdout.write("Everything due was deleted.")
        if deleted_counts:
            self.stdout.write(f"Deleted past their retention: {_in_words(deleted_counts)}")


def _in_words(counts: Counter[str]) -> str:
    kinds = [kind for kind in KINDS if counts[kind]]
    return ", ".join(f"{counts[kind]:,} {KINDS[kind]}" for kind in kinds) or "nothing"
