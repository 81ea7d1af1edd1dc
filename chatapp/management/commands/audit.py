"""`manage.py audit`: verifies the audit log, exports it, and deletes its beginning."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from chatapp.management.backups.archive import verified
from chatapp.management.backups.progress import Progress
from chatapp.management.sentences import in_sentences
from chatapp.models import audit
from chatapp.models.audit import Head, triggers
from chatapp.models.audit.exporting import some_lines


class Command(BaseCommand):
    help = "Verify the audit log, export it, or delete its beginning."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        verify = actions.add_parser("verify", help="Say whether the log is as it was written.")
        verify.add_argument(
            "--head",
            action="append",
            default=[],
            type=_head,
            metavar="NUMBER:HASH",
            help="where it ended once, as the app's own log says every hour; may be given again",
        )
        verify.add_argument(
            "--backup",
            action="append",
            default=[],
            type=Path,
            metavar="FILE",
            help="a backup, whose manifest says where it ended then; may be given again",
        )
        export = actions.add_parser("export", help="Print all events as JSON lines.")
        export.add_argument(
            "--after", type=int, default=0, metavar="NUMBER", help="only later ones"
        )
        prune = actions.add_parser("prune", help="Delete the events of before a day for good.")
        prune.add_argument("--before", type=_day, required=True, metavar="YYYY-MM-DD")

    def handle(self, *args: Any, **options: Any) -> None:
        with in_sentences():
            getattr(self, f"_{options['action']}")(options)

    def _verify(self, options: dict[str, Any]) -> None:
        heads: list[Head] = options["head"]
        for file in options["backup"]:
            with verified(
                file, Progress(lambda line: self.stderr.write(line), "Checking")
            ) as found:
                heads += filter(None, [Head.parsed(found.manifest.audit_head)])
        try:
            verdict = audit.verify(heads)
        except audit.Broken as broken:
            raise CommandError(f"The audit log does not hold. {broken}") from broken
        if not triggers.are_there():
            raise CommandError(
                "The audit log holds, but the database would let it be changed: its triggers were "
                "taken away. `manage.py migrate` makes them anew."
            )
        if not (verdict.first and verdict.last):
            self.stdout.write("The audit log is empty.")
            return
        self.stdout.write(
            f"The audit log holds: {_counted(verdict.events)}, from "
            f"{verdict.first.at:%Y-%m-%d %H:%M} to {verdict.last.at:%Y-%m-%d %H:%M} UTC."
        )
        if verdict.erased:
            self.stdout.write(
                f"Details that were erased, with a person or for their age: {verdict.erased:,}."
            )
        if verdict.old_keys:
            self.stdout.write(
                f"Events whose key is gone, and for which later ones vouch: {verdict.old_keys:,}."
            )
        if heads:
            self.stdout.write(f"It goes on from where it ended before: {len(heads)} compared.")
        self.stdout.write(f"It ends with {verdict.head}")

    def _export(self, options: dict[str, Any]) -> None:
        after: int = options["after"]
        with transaction.atomic():
            event = audit.record("log.exported", actor=None, detail={"after": after})
        while some := some_lines(after, event.sequence):
            for line in some:
                self.stdout.write(json.dumps(line, ensure_ascii=False))
            after = some[-1]["sequence"]

    def _prune(self, options: dict[str, Any]) -> None:
        pruned = audit.prune(options["before"])
        if not pruned.events:
            self.stdout.write("There is nothing of before that day.")
            return
        self.stdout.write(
            f"{_counted(pruned.events)} are deleted: all up to number {pruned.to}. The log goes on "
            "from there, and says so."
        )


def _counted(events: int) -> str:
    return f"{events:,} {'event' if events == 1 else 'events'}"


def _head(text: str) -> Head:
    if (head := Head.parsed(text)) is None:
        raise CommandError(f'"{text}" is not where a log ends, for example 17:2bdc15…')
    return head


def _day(text: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise CommandError(f'"{text}" is no day, for example 2026-01-31') from None
