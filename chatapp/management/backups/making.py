"""Write the whole installation into a new archive, while the app runs."""

import tomllib
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection, transaction

from chatapp.management.backups import data_dir, postgres, sqlite
from chatapp.management.backups.archive import (
    DATABASE,
    FILES,
    FORMAT,
    ArchiveWriter,
    Manifest,
    new_archive,
    read_chunks,
)
from chatapp.management.backups.progress import Progress
from chatapp.models import AuditHead, audit


def write_backup(file: Path, report: Callable[[str], None]) -> Manifest:
    """Write the archive `file`, with progress in `report`. Raises `CommandError`, leaving no file.

    The database may have the schema of an earlier version.
    """
    try:
        with new_archive(file) as archive:
            return _fill(archive, file.parent, report)
    except OSError as error:
        raise CommandError(
            f"The backup failed. {error.filename or file}: {error.strerror}."
        ) from error


def _fill(archive: ArchiveWriter, directory: Path, report: Callable[[str], None]) -> Manifest:
    """Copy the database first, so that the files it refers to are there or newer."""
    _record_event()
    database = postgres if connection.vendor == "postgresql" else sqlite
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    with database.snapshot(directory, Progress(report, "Copying")) as snapshot:
        progress = Progress(report, "Writing", snapshot.size)
        archive.add(DATABASE, progress.count_bytes(snapshot.chunks))
    for path in data_dir.files():
        # A missing file was deleted meanwhile.
        with suppress(FileNotFoundError), (settings.DATA_DIR / path).open("rb") as stream:
            archive.add(FILES + path.as_posix(), read_chunks(stream))
    manifest = Manifest(
        format=FORMAT,
        version=read_version(),
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


def read_version() -> str:
    """Return the version of this code."""
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["project"]
    return str(project["version"])
