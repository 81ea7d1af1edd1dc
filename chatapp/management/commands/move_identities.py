"""`manage.py move_identities`: keeps people's identities when the provider's issuer has changed."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatapp.accounts import identities


class Command(BaseCommand):
    help = (
        "Let those who signed in by the organisation's sign-in under another issuer sign in under "
        "the one that CHATAPP_OIDC_URL has now. Run it only if the provider has moved and its "
        "subjects are the same people: whoever has a subject there gets the account."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("issuer", help="the old issuer, as manage.py doctor names it")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.CHATAPP_OIDC_URL:
            raise CommandError("Set CHATAPP_OIDC_URL first.")
        try:
            issuer = identities.configured_issuer()
        except identities.UNUSABLE as error:
            raise CommandError(
                f"The provider can't be used, so nothing was moved: {error}"
            ) from error
        moved, left = identities.move(options["issuer"], issuer)
        self.stdout.write(f"Identities moved to {issuer}: {moved}.")
        if left:
            raise CommandError(
                f"{left} were left: somebody has signed in by the same subject of {issuer} before, "
                "and has an account of their own by it. Remove that account, then run this again."
            )
