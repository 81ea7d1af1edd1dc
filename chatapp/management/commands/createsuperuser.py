"""`manage.py createsuperuser`: Django's command, recorded in the audit log."""

from typing import Any

from django.contrib.auth.management.commands import createsuperuser

from chatapp.management.recorded_saves import record_saves


class Command(createsuperuser.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        with record_saves():
            super().handle(*args, **options)
