"""`manage.py backup`: write the whole installation into one archive, while the app runs."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatapp import environment
from chatapp.management.backups import data_dir
from chatapp.management.backups.archive import FILES, Manifest
from chatapp.management.backups.making import write_backup


class Command(BaseCommand):
    help = "Write the database and the files in DATA_DIR into one archive, while the app runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="the archive, a new file")

    def handle(self, *args: Any, **options: Any) -> None:
        file = options["file"].absolute()
        _refuse_location(file)
        manifest = write_backup(file, lambda line: self.stderr.write(line, self.style.NOTICE))
        files = len(manifest.members) - 1
        self.stdout.write(
            f"Backed up in {file} ({file.stat().st_size:,} bytes): {sum(manifest.rows.values()):,} "
            f"rows of {len(manifest.rows)} tables, {files} files."
        )
        self.stdout.write(_about_secret(manifest))


def _refuse_location(file: Path) -> None:
    if file.exists():
        raise CommandError(f"{file} exists. Name another file, or remove it.")
    if not file.parent.is_dir():
        raise CommandError(
            f"{file.parent} is not a directory. Create it, or choose another location."
        )
    if file.resolve().is_relative_to(settings.DATA_DIR):
        raise CommandError(
            f"{file} is in DATA_DIR, which is what is backed up. Choose a location outside of it, "
            "preferably on another disk."
        )


def _about_secret(manifest: Manifest) -> str:
    is_inside = FILES + str(data_dir.SECRET_KEY) in manifest.members
    if is_inside and not environment.text("SECRET_KEY"):
        return (
            "It contains the secret key, which decrypts upstream keys and signs sessions. Keep it "
            "as secret as the installation itself."
        )
    return (
        "It does not contain SECRET_KEY, which came from the environment. Keep that elsewhere: "
        "restoring needs it. The chats in the backup are as private as those in the app."
    )
