"""`manage.py upgrade`: prepare for a new version, while the old one is still running."""

from typing import Any

from django.core.management.base import BaseCommand

from chatapp.management.upgrading import upgrade


class Command(BaseCommand):
    help = "Migrate the database and collect static files, if necessary."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        upgrade()
