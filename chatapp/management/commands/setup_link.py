"""`manage.py setup_link`: print the link to create the first account again."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from chatapp.accounts.setup_link import setup_link
from chatapp.command_line import MANAGE
from chatapp.management.sentences import explain_errors


class Command(BaseCommand):
    help = "Print the one-time link to create the first account, an administrator."

    def handle(self, *args: Any, **options: Any) -> None:
        with explain_errors():
            host = f"[{settings.HOST}]" if ":" in settings.HOST else settings.HOST
            link = setup_link(f"http://{host}:{settings.PORT}")
        if link is None:
            raise CommandError(
                "An account already exists, so the link is no longer valid. Administrators can add "
                f"accounts; `{MANAGE} createsuperuser` creates another administrator."
            )
        self.stdout.write(link)
