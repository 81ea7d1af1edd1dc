"""`manage.py upgrade`: prepare for a new version."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from chatapp.management.upgrading import upgrade


class Command(BaseCommand):
    help = (
        "Back up and migrate the database and collect static files, as far as necessary. The "
        "backup is in DATA_DIR/backups."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--no-backup",
            action="store_true",
            help="Make no backup, because there is one already.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        upgrade(self.stderr.write, makes_backup=not options["no_backup"])
