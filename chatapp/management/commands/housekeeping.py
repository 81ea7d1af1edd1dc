"""`manage.py housekeeping`: deletes at once what the app deletes by itself every hour."""

from typing import Any

from django.core.management.base import BaseCommand

from chatapp.worker.housekeeping import clean_up


class Command(BaseCommand):
    help = "Deletes for good what has been in the trash for thirty days."

    def handle(self, *args: Any, **options: Any) -> None:
        clean_up()
        self.stdout.write("What was to be deleted is deleted.")
