"""`manage.py rotate_secrets`: puts what is stored encrypted under a new SECRET_KEY."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from chatapp.management import stored_secrets
from chatapp.models import audit


class Command(BaseCommand):
    help = (
        "Encrypt the stored keys and headers anew by SECRET_KEY, those that an old key in "
        "SECRET_KEY_FALLBACKS still reads among them. May be run while the app serves."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        done = stored_secrets.rotate()
        # Signed with the new key, it vouches for all events before it: the old one may go.
        with transaction.atomic():
            detail = {"rotated": done.rotated, "unreadable": len(done.problems)}
            audit.record("secrets.rotated", actor=None, detail=detail)
        self.stdout.write(f"{done.rotated} stored secrets are encrypted by SECRET_KEY now.")
        if done.problems:
            raise CommandError("\n".join(done.problems))
