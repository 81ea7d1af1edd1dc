"""`manage.py doctor`: check this installation; exit status 1 if a check failed."""

import shutil
from argparse import ArgumentTypeError
from typing import Any
from urllib.parse import urlsplit

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatapp.checks.results import CheckResult, Status
from chatapp.doctor.examination import IDLE_SECONDS, Title, examine
from chatapp.doctor.report import lines, summary
from chatapp.doctor.schema import repair_triggers
from chatapp.management.sentences import explain_errors
from chatapp.management.upgrading import refuse_old_schema

MAX_WIDTH = 100


class Command(BaseCommand):
    help = "Check this installation and, with --url, its public address; say what to set or run."
    # The doctor runs them itself; their failure must not prevent its other checks.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--url",
            type=_public_url,
            help="also check this public address, for example https://chat.example.org",
        )
        parser.add_argument(
            "--idle",
            type=_seconds,
            default=IDLE_SECONDS,
            metavar="SECONDS",
            help="how long a silent WebSocket must stay open through the public address "
            "(default: %(default)g)",
        )

        parser.add_argument(
            "--repair-triggers",
            action="store_true",
            help="first make the database's triggers again and recompute the sums they maintain; "
            "the app may be running",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["repair_triggers"]:
            refuse_old_schema()
            with explain_errors():
                repair_triggers()
            self._write("The triggers were made again and their sums recomputed.\n")
        self._width = min(shutil.get_terminal_size().columns, MAX_WIDTH)
        results: list[CheckResult] = []
        for part in examine(options["url"] or "", options["idle"], progress=self.show_waiting):
            match part:
                case Title(text):
                    self._write(f"\n{self.style.MIGRATE_HEADING(text)}" if results else text)
                case CheckResult():
                    results.append(part)
                    self._show(part)
        self._write(f"\n{summary(results)}")
        count = sum(result.status is Status.FAILED for result in results)
        if count:
            raise CommandError(f"{count} check{'s' if count > 1 else ''} failed.")

    def _show(self, result: CheckResult) -> None:
        paint = {
            Status.OK: self.style.SUCCESS,
            Status.NOTE: self.style.NOTICE,
            Status.WARNING: self.style.WARNING,
            Status.FAILED: self.style.ERROR,
            Status.SKIPPED: self.style.NOTICE,
        }[result.status]
        first, *other_lines = lines(result, self._width)
        self._erase()
        self._write(first.replace(result.status, paint(result.status), 1))
        for line in other_lines:
            self._write(line)

    def _write(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()

    def show_waiting(self, left: float) -> None:
        """Show a countdown, only in a terminal."""
        if self.stderr.isatty():
            self.stderr.write(f"\r  waiting  Idle socket      {left:3.0f} s more", ending="")
            self.stderr.flush()

    def _erase(self) -> None:
        if self.stderr.isatty():
            self.stderr.write("\r\033[K", ending="")
            self.stderr.flush()


def _public_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise ArgumentTypeError(f'"{text}" is not an address, for example https://chat.example.org')
    return text


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 86400:
        raise ArgumentTypeError(f'"{text}" is not a number of seconds, for example 75')
    return seconds
