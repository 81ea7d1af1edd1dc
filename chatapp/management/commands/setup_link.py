"""`manage.py setup_link`: prints once more the link by which the first account is made."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from chatapp.accounts.setup_link import setup_link
from chatapp.management.sentences import in_sentences


class Command(BaseCommand):
    help = "Print the one-time link by which the first account is made, an administrator."

    def handle(self, *args: Any, **options: Any) -> None:
        with in_sentences():
            link = setup_link(_origin())
        if link is None:
            raise CommandError(
                "There is an account already, which ended the link. An administrator adds others; "
                "`manage.py createsuperuser` makes another administrator."
            )
        self.stdout.write(link)


def _origin() -> str:
    """Where people reach the app: the first public address, or else where it listens."""
    public = [origin for origin in settings.CSRF_TRUSTED_ORIGINS if "*" not in origin]
    host = f"[{settings.HOST}]" if ":" in settings.HOST else settings.HOST
    return public[0] if public else f"http://{host}:{settings.PORT}"
