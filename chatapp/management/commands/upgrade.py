"""`manage.py upgrade`: all that a new version needs while the old one still serves."""

from typing import Any

from django.core.management.base import BaseCommand

from chatapp.management.upgrading import upgrade


class Command(BaseCommand):
    help = "Migrate the database and collect static files, where there is something to be done."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        upgrade()
