"""`manage.py doctor`: check this installation; exit status 1 if a check failed."""

from argparse import ArgumentTypeError
from typing import Any
from urllib.parse import urlsplit

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatapp.checks.report import TerminalReport
from chatapp.doctor.examination import IDLE_SECONDS, examine
from chatapp.doctor.schema import repair_triggers
from chatapp.management.sentences import explain_errors
from chatapp.management.upgrading import refuse_old_schema


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
            self.stdout.write("The triggers were made again and their sums recomputed.\n\n")
        failures = TerminalReport(self).show_steps(examine(options["url"] or "", options["idle"]))
        if count := len(failures):
            raise CommandError(f"{count} check{'s' if count > 1 else ''} failed.")


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
