"""`manage.py rotate_secrets`: encrypt stored secrets with a new SECRET_KEY."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from chatapp.management import stored_secrets
from chatapp.models import audit


class Command(BaseCommand):
    help = (
        "Encrypt all stored secrets with SECRET_KEY, including those that only an old key in "
        "SECRET_KEY_FALLBACKS can decrypt. Can be run while the app is running."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        done = stored_secrets.rotate()
        # This event, signed with the new key, covers all earlier ones: the old key may go.
        with transaction.atomic():
            detail = {"rotated": done.rotated, "unreadable": len(done.problems)}
            audit.record("secrets.rotated", actor=None, detail=detail)
        self.stdout.write(f"{done.rotated} stored secrets are now encrypted with SECRET_KEY.")
        if done.problems:
            raise CommandError("\n".join(done.problems))
