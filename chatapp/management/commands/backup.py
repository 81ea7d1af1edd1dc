"""`manage.py backup`: write the whole installation into one archive, while the app runs."""

import tomllib
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection, transaction

from chatapp import environment
from chatapp.management.backups import data_dir, postgres, sqlite
from chatapp.management.backups.archive import (
    DATABASE,
    FILES,
    FORMAT,
    ArchiveWriter,
    Manifest,
    chunks_of,
    new_archive,
)
from chatapp.management.backups.progress import Progress
from chatapp.models import AuditHead, audit


class Command(BaseCommand):
    help = "Write the database and the files in DATA_DIR into one archive, while the app runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="the archive, a new file")

    def handle(self, *args: Any, **options: Any) -> None:
        file = options["file"].absolute()
        _refuse_location(file)
        try:
            with new_archive(file) as archive:
                manifest = self._fill(archive, file.parent)
        except OSError as error:
            raise CommandError(
                f"The backup failed. {error.filename or file}: {error.strerror}."
            ) from error
        files = len(manifest.members) - 1
        self.stdout.write(
            f"Backed up in {file} ({file.stat().st_size:,} bytes): {sum(manifest.rows.values()):,} "
            f"rows of {len(manifest.rows)} tables, {files} files."
        )
        self.stdout.write(_about_secret(manifest))

    def _fill(self, archive: ArchiveWriter, directory: Path) -> Manifest:
        """Copy the database first, so that the files it refers to are there or newer."""
        _record_event()
        database = postgres if connection.vendor == "postgresql" else sqlite
        version = _version()
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        with database.snapshot(directory, self._progress("Copying")) as snapshot:
            progress = self._progress("Writing", snapshot.size)
            archive.add(DATABASE, progress.counted(snapshot.chunks))
        for path in data_dir.files():
            # A missing file was deleted meanwhile.
            with suppress(FileNotFoundError), (settings.DATA_DIR / path).open("rb") as stream:
                archive.add(FILES + path.as_posix(), chunks_of(stream))
        manifest = Manifest(
            format=FORMAT,
            version=version,
            made_at=made_at,
            engine=connection.vendor,
            migrations=snapshot.migrations,
            rows=dict(snapshot.rows),
            secret_fingerprint=data_dir.fingerprint(settings.SECRET_KEY),
            members=archive.members,
            audit_head=snapshot.audit_head,
        )
        archive.finish(manifest)
        return manifest

    def _progress(self, doing: str, total: int = 0) -> Progress:
        return Progress(lambda line: self.stderr.write(line, self.style.NOTICE), doing, total)


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


def _record_event() -> None:
    """Record the event before the copy, so that the backup contains it.

    Skipped if the database is older than the audit log, or if SQLite's file is missing, which
    connecting would create.
    """
    name = connection.settings_dict["NAME"]
    exists = connection.vendor != "sqlite" or Path(name).exists()
    if exists and AuditHead._meta.db_table in connection.introspection.table_names():
        with transaction.atomic():
            audit.record("backup.made", actor=None)


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


def _version() -> str:
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["project"]
    return str(project["version"])
