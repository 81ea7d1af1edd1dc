"""`manage.py usage`: verify that the sums of usage match the ledger, or rebuild them."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatapp.command_line import MANAGE
from chatapp.management.sentences import explain_errors
from chatapp.models import Usage
from chatapp.models.billing import rollup
from chatapp.models.conversations.threads import ledger
from chatapp.models.review import facets

MAX_LINES = 20


class Command(BaseCommand):
    help = "Verify that the sums of usage match the ledger, or rebuild them."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("verify", help="Compare the sums of each day and month with the ledger.")
        actions.add_parser(
            "rebuild",
            help="Rebuild the sums from the ledger, for example after changing CHATAPP_TIME_ZONE. "
            "The app may be running; replies that end meanwhile wait a moment.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with explain_errors():
            getattr(self, f"_{options['action']}")()

    def _verify(self) -> None:
        wrong = [
            f"{table}: {day}, person {person}, {upstream} {model}"
            for table, day, person, upstream, model in rollup.differences()
        ]
        wrong += [f"conversation {key}" for key in facets.differences()]
        if wrong:
            more = [f"and {len(wrong) - MAX_LINES:,} more"] if len(wrong) > MAX_LINES else []
            raise CommandError(
                "\n".join(["The sums differ from the ledger.", *wrong[:MAX_LINES], *more, _REMEDY])
            )
        if misdated := rollup.count_misdated():
            raise CommandError(
                f"{_rows(misdated)} are counted on days of another time zone. {_REMEDY}"
            )
        counted = Usage.objects.exclude(day=None).count()
        self.stdout.write(f"The sums are correct: {_rows(counted)}, for every day and month.")
        if waiting := Usage.objects.filter(day=None).count():
            self.stdout.write(
                f"{_rows(waiting)}, written by the previous version, will be counted in a minute."
            )

    def _rebuild(self) -> None:
        ledger.complete_all()
        rollup.rebuild()
        facets.rebuild()
        self.stdout.write("The sums were rebuilt.")


_REMEDY = f"Run `{MANAGE} usage rebuild`."


def _rows(count: int) -> str:
    return f"{count:,} {'row' if count == 1 else 'rows'} of the ledger"
