"""`manage.py usage`: proves that the sums of usage are the ledger's, and adds them up anew."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatapp.management.sentences import in_sentences
from chatapp.models import Usage, facts, ledger, rollup

MOST_TOLD = 20


class Command(BaseCommand):
    help = "Prove that the sums of usage are equal to the ledger, or add them up anew."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("verify", help="Compare the sums of each day and month with the ledger.")
        actions.add_parser(
            "rebuild",
            help="Add the ledger up anew, also where CHATAPP_TIME_ZONE was changed. The app may "
            "serve meanwhile; replies that end wait for a moment.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with in_sentences():
            getattr(self, f"_{options['action']}")()

    def _verify(self) -> None:
        wrong = [
            f"{table}: {day}, person {person}, {upstream} {model}"
            for table, day, person, upstream, model in rollup.differences()
        ]
        wrong += [f"conversation {key}" for key in facts.differences()]
        if wrong:
            more = [f"and {len(wrong) - MOST_TOLD:,} more"] if len(wrong) > MOST_TOLD else []
            raise CommandError("\n".join(["The sums differ.", *wrong[:MOST_TOLD], *more, _CURE]))
        if misdated := rollup.misdated():
            raise CommandError(f"{_rows(misdated)} count in days of another zone. {_CURE}")
        counted = Usage.objects.exclude(day=None).count()
        self.stdout.write(f"The sums hold: {_rows(counted)} of every day and month.")
        if waiting := Usage.objects.filter(day=None).count():
            self.stdout.write(
                f"{_rows(waiting)} of a process of the version before will count in a minute."
            )

    def _rebuild(self) -> None:
        while ledger.complete():
            pass
        rollup.rebuild()
        facts.rebuild()
        self.stdout.write("The sums are made anew.")


_CURE = "`manage.py usage rebuild` adds them up anew."


def _rows(count: int) -> str:
    return f"{count:,} {'row' if count == 1 else 'rows'} of the ledger"
