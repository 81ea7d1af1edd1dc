"""`manage.py check_upstream`: check a gateway; exit status 1 if it can't serve."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatapp.checks.report import TerminalReport
from chatapp.management.targets import add_target_arguments, target_endpoint
from chatapp.tools import CLOCK
from chatapp.upstream.check import check

LIMIT_SECONDS = 300.0  # a model may have to load first


class Command(BaseCommand):
    help = "Ask a provider a few short questions and print what it supports."

    def add_arguments(self, parser: CommandParser) -> None:
        add_target_arguments(parser)
        parser.add_argument("--model", default="", help="the model to ask (default: one it lists)")

    def handle(self, *args: Any, **options: Any) -> None:
        endpoint, offered = target_endpoint(options["target"], options["key_from_env"])
        model = options["model"] or offered
        steps = check(endpoint, model, CLOCK.as_request(), LIMIT_SECONDS)
        if failures := TerminalReport(self).show_steps(steps):
            raise CommandError(f"It can't serve the app. {failures[0].clean().sentences}")
        self.stdout.write("It can serve the app.")
