"""`manage.py backup`: the whole installation in one archive, while the app runs."""

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
    help = "Write the database and DATA_DIR's own files into one archive, while the app runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="the archive, a new file")

    def handle(self, *args: Any, **options: Any) -> None:
        file = options["file"].absolute()
        _refuse_place(file)
        try:
            with new_archive(file) as archive:
                manifest = self._fill(archive, file.parent)
        except OSError as error:
            raise CommandError(
                f"Nothing is backed up. {error.filename or file}: {error.strerror}."
            ) from error
        files = len(manifest.members) - 1
        self.stdout.write(
            f"Backed up in {file} ({file.stat().st_size:,} bytes): {sum(manifest.rows.values()):,} "
            f"rows of {len(manifest.rows)} tables, {files} files."
        )
        self.stdout.write(_about_secret(manifest))

    def _fill(self, archive: ArchiveWriter, directory: Path) -> Manifest:
        """The database first, so that the files it names are still there or newer."""
        _record()
        database = postgres if connection.vendor == "postgresql" else sqlite
        version = _version()
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        with database.snapshot(directory, self._progress("Copying")) as snapshot:
            progress = self._progress("Writing", snapshot.size)
            archive.add(DATABASE, progress.counted(snapshot.chunks))
        for path in data_dir.files():
            # One that is gone by now was deleted meanwhile.
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


def _refuse_place(file: Path) -> None:
    if file.exists():
        raise CommandError(f"{file} exists. Name another file, or remove it.")
    if not file.parent.is_dir():
        raise CommandError(f"{file.parent} is no directory. Make it, or name another place.")
    if file.resolve().is_relative_to(settings.DATA_DIR):
        raise CommandError(
            f"{file} is in DATA_DIR, which is what is backed up. Name a place outside of it, best "
            "on another disk."
        )


def _record() -> None:
    """First, so that the backup itself has it. A database of before there was a log has none, and
    SQLite would make the file that is missing."""
    name = connection.settings_dict["NAME"]
    is_there = connection.vendor != "sqlite" or Path(name).exists()
    if is_there and AuditHead._meta.db_table in connection.introspection.table_names():
        with transaction.atomic():
            audit.record("backup.made", actor=None)


def _about_secret(manifest: Manifest) -> str:
    is_inside = FILES + str(data_dir.SECRET_KEY) in manifest.members
    if is_inside and not environment.text("SECRET_KEY"):
        return (
            "It holds the secret key, which decrypts upstream keys and signs sessions: keep it as "
            "secret as the installation itself."
        )
    return (
        "It does not hold SECRET_KEY, which came from the environment: keep that elsewhere, since "
        "restoring needs it. The conversations in it are as private as they were."
    )


def _version() -> str:
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["project"]
    return str(project["version"])
