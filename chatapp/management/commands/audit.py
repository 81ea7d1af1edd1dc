"""`manage.py audit`: verify the audit log, export it, or delete its beginning."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection, transaction

from chatapp.command_line import MANAGE
from chatapp.db.triggers import find_differences
from chatapp.management.backups.archive import open_verified
from chatapp.management.backups.progress import Progress
from chatapp.management.sentences import explain_errors
from chatapp.models import audit
from chatapp.models.audit import Head
from chatapp.models.audit.exporting import export_batch


class Command(BaseCommand):
    help = "Verify the audit log, export it, or delete its beginning."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        verify = actions.add_parser("verify", help="Check that the log was not changed.")
        verify.add_argument(
            "--head",
            action="append",
            default=[],
            type=_head,
            metavar="NUMBER:HASH",
            help="an earlier end of the log, as the app's log shows every hour; may be repeated",
        )
        verify.add_argument(
            "--backup",
            action="append",
            default=[],
            type=Path,
            metavar="FILE",
            help="a backup, whose manifest has the end of the log at that time; may be repeated",
        )
        export = actions.add_parser("export", help="Print all events as JSON lines.")
        export.add_argument(
            "--after", type=int, default=0, metavar="NUMBER", help="only later events"
        )
        prune = actions.add_parser("prune", help="Permanently delete the events before a day.")
        prune.add_argument("--before", type=_day, required=True, metavar="YYYY-MM-DD")

    def handle(self, *args: Any, **options: Any) -> None:
        with explain_errors():
            getattr(self, f"_{options['action']}")(options)

    def _verify(self, options: dict[str, Any]) -> None:
        heads: list[Head] = options["head"]
        for file in options["backup"]:
            with open_verified(
                file, Progress(lambda line: self.stderr.write(line), "Checking")
            ) as archive:
                heads += filter(None, [Head.parse(archive.manifest.audit_head)])
        try:
            verdict = audit.verify(heads)
        except audit.Broken as broken:
            raise CommandError(f"The audit log is not intact. {broken}") from broken
        if any(name.startswith("chatapp_audit") for name in find_differences(connection)):
            raise CommandError(
                "The audit log is intact, but the database would allow changes: its triggers were "
                f"removed. Run `{MANAGE} migrate` to create them again."
            )
        if not (verdict.first and verdict.last):
            self.stdout.write("The audit log is empty.")
            return
        self.stdout.write(
            f"The audit log is intact: {_format_count(verdict.events)}, from "
            f"{verdict.first.at:%Y-%m-%d %H:%M} to {verdict.last.at:%Y-%m-%d %H:%M} UTC."
        )
        if verdict.erased:
            self.stdout.write(
                f"Details erased with a person or because of their age: {verdict.erased:,}."
            )
        if verdict.old_keys:
            self.stdout.write(
                f"Events with an old key, verified through later ones: {verdict.old_keys:,}."
            )
        if heads:
            self.stdout.write(f"It continues from its earlier ends: {len(heads)} compared.")
        self.stdout.write(f"It ends with {verdict.head}")

    def _export(self, options: dict[str, Any]) -> None:
        after: int = options["after"]
        with transaction.atomic():
            event = audit.record("log.exported", actor=None, detail={"after": after})
        while batch := export_batch(after, event.sequence):
            for line in batch:
                self.stdout.write(json.dumps(line, ensure_ascii=False))
            after = batch[-1]["sequence"]

    def _prune(self, options: dict[str, Any]) -> None:
        pruned = audit.prune(options["before"])
        if not pruned.events:
            self.stdout.write("There are no events before that day.")
            return
        self.stdout.write(
            f"Deleted {_format_count(pruned.events)}, up to number {pruned.to}. "
            "The log continues from there and records the deletion."
        )


def _format_count(events: int) -> str:
    return f"{events:,} {'event' if events == 1 else 'events'}"


def _head(text: str) -> Head:
    if (head := Head.parse(text)) is None:
        raise CommandError(f'"{text}" is not the end of a log, for example 17:2bdc15…')
    return head


def _day(text: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise CommandError(f'"{text}" is not a day, for example 2026-01-31') from None
