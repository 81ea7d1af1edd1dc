"""`manage.py restore`: what `manage.py backup` wrote, into an empty installation."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from chatapp import environment
from chatapp.management.backups import data_dir, postgres, sqlite
from chatapp.management.backups.archive import DATABASE, FILES, Archive, verified
from chatapp.management.backups.progress import Progress
from chatapp.models import Message, Process

ENGINES = {
    "sqlite": ("SQLite", "Unset DATABASE_URL"),
    "postgresql": ("PostgreSQL", "Set DATABASE_URL to an empty PostgreSQL database"),
}


class Command(BaseCommand):
    help = "Restore an archive of `backup` into an empty installation; the app must not run."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="the archive")

    def handle(self, *args: Any, **options: Any) -> None:
        database = postgres if connection.vendor == "postgresql" else sqlite
        with verified(options["file"], self._progress("Checking")) as archive:
            _refuse_unfit(archive)
            database.refuse_unless_empty()
            _refuse_files()
            _refuse_lack_of_space(archive.size)
            with tempfile.TemporaryDirectory(prefix=".restore-", dir=settings.DATA_DIR) as folder:
                files = Path(folder, "files")
                for name, path in archive.files.items():
                    archive.extract(name, files / path)
                progress = self._progress("Restoring", archive.manifest.members[DATABASE].size)
                chunks = progress.counted(archive.chunks(DATABASE))
                database.restore(chunks, archive.manifest.rows, Path(folder))
                for path in archive.files.values():
                    _put_in_place(files / path, settings.DATA_DIR / path)
            self._tell(archive)
            self._bring_up_to_date(archive)

    def _tell(self, archive: Archive) -> None:
        manifest = archive.manifest
        self.stdout.write(
            f"Restored the backup of {manifest.made_at} by chatapp {manifest.version}: "
            f"{sum(manifest.rows.values()):,} rows of {len(manifest.rows)} tables, as counted "
            f"then; {len(archive.files)} files."
        )

    def _bring_up_to_date(self, archive: Archive) -> None:
        settings.SECRET_KEY = _secret_of(archive)  # migrations may read what it encrypted
        missing = _known_migrations() - set(archive.manifest.migrations)
        call_command("migrate", verbosity=0)
        if missing:
            self.stdout.write(f"Its schema was older: applied {', '.join(sorted(missing))}.")
        Process.objects.all().delete()  # those of the installation that was copied
        if interrupted := Message.objects.interrupt_orphans():
            self.stdout.write(f"Replies that were streaming then, now interrupted: {interrupted}.")
        self.stdout.write("Start the app.")

    def _progress(self, doing: str, total: int = 0) -> Progress:
        return Progress(lambda line: self.stderr.write(line, self.style.NOTICE), doing, total)


def _refuse_unfit(archive: Archive) -> None:
    """Raises `CommandError` where this installation could not use what is in the archive."""
    manifest = archive.manifest
    if manifest.engine != connection.vendor:
        theirs, cure = ENGINES.get(manifest.engine, (manifest.engine, "Use that"))
        raise CommandError(
            f"This backup is of {theirs}, and this installation uses {connection.display_name}. "
            f"{cure}, and restore again."
        )
    if unknown := sorted(set(manifest.migrations) - _known_migrations()):
        raise CommandError(
            f"This backup was made by a newer version, chatapp {manifest.version}: this one does "
            f"not know {', '.join(unknown)}. Install that version, and restore again."
        )
    if data_dir.fingerprint(_secret_of(archive)) != manifest.secret_fingerprint:
        raise CommandError(
            "This backup was made with another SECRET_KEY, without which the upstreams' keys in "
            "it can't be decrypted. Set SECRET_KEY to what it was then, and restore again."
        )
    if not all(map(data_dir.is_kept, archive.files.values())):
        raise CommandError("This backup holds files that no backup holds. Nothing was changed.")


def _known_migrations() -> set[str]:
    return {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations}


def _secret_of(archive: Archive) -> str:
    """The secret key that the installation will have: the environment's, or else the archive's."""
    name = FILES + str(data_dir.SECRET_KEY)
    if environment.text("SECRET_KEY") or name not in archive.files:
        return str(settings.SECRET_KEY)
    return b"".join(archive.chunks(name)).decode().strip()


def _refuse_files() -> None:
    """A secret key is there in any case: reading the settings generates one."""
    if kept := [str(path) for path in data_dir.files() if path != data_dir.SECRET_KEY]:
        raise CommandError(
            f"This installation is not empty: {settings.DATA_DIR} holds {', '.join(kept[:5])}. "
            "Nothing was changed. Set DATA_DIR to a new directory, or move them away."
        )


def _refuse_lack_of_space(needed: int) -> None:
    free = shutil.disk_usage(settings.DATA_DIR).free
    if needed > free:
        raise CommandError(
            f"{settings.DATA_DIR} has {free:,} bytes free and the backup takes {needed:,}. Nothing "
            "was changed. Make room, and restore again."
        )


def _put_in_place(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    source.rename(target)
