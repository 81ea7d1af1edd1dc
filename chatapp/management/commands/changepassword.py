"""`manage.py changepassword`: Django's command, recorded in the audit log."""

from typing import Any

from django.contrib.auth.management.commands import changepassword

from chatapp.management.recorded_saves import record_saves


class Command(changepassword.Command):
    def handle(self, *args: Any, **options: Any) -> str | None:
        with record_saves():
            return super().handle(*args, **options)
