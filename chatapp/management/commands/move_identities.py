"""`manage.py move_identities`: keep people's identities when the provider's issuer changed."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatapp.accounts import identities


class Command(BaseCommand):
    help = (
        "Move identities of the organisation's sign-in from an old issuer to the one that "
        "CHATAPP_OIDC_URL has now. Run this only if the provider has moved and each subject is "
        "still the same person: signing in with a subject opens its account."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("issuer", help="the old issuer, as shown by manage.py doctor")

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
                f"{left} were not moved: someone has already signed in with the same subject of "
                f"{issuer} and has another account. Remove that account, then run this again."
            )
