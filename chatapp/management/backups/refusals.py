"""Checks before a restore; each raises `CommandError` before anything is changed."""

import shutil

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from chatapp import environment
from chatapp.management.backups import data_dir
from chatapp.management.backups.archive import FILES, Archive

ENGINES = {
    "sqlite": ("SQLite", "Unset DATABASE_URL"),
    "postgresql": ("PostgreSQL", "Set DATABASE_URL to an empty PostgreSQL database"),
}

# Of Django's admin, which versions up to 0.5.0 had. Databases made by them still record these.
FORMER_MIGRATIONS = {
    "admin.0001_initial",
    "admin.0002_logentry_remove_auto_add",
    "admin.0003_logentry_add_action_flag_choices",
}


def refuse_incompatible(archive: Archive) -> None:
    """Raise `CommandError` if this installation couldn't use what is in the archive."""
    manifest = archive.manifest
    if manifest.engine != connection.vendor:
        theirs, remedy = ENGINES.get(manifest.engine, (manifest.engine, "Use that"))
        raise CommandError(
            f"This backup is from {theirs}, but this installation uses {connection.display_name}. "
            f"{remedy}, and restore again."
        )
    if unknown := sorted(set(manifest.migrations) - list_migrations() - FORMER_MIGRATIONS):
        raise CommandError(
            f"This backup was made by a newer version, chatapp {manifest.version}. This version "
            f"doesn't know {', '.join(unknown)}. Install the newer one, and restore again."
        )
    if data_dir.fingerprint(read_secret_key(archive)) != manifest.secret_fingerprint:
        raise CommandError(
            "This backup was made with another SECRET_KEY, which is needed to decrypt the "
            "upstreams' keys in it. Set SECRET_KEY to that key, and restore again."
        )
    if not all(map(data_dir.is_kept, archive.files.values())):
        raise CommandError(
            "This backup contains files that don't belong in one. Nothing was changed."
        )


def refuse_files() -> None:
    """Raise `CommandError` if DATA_DIR has files besides the secret key and erasures.jsonl.

    Reading the settings generates a secret key. The list of erasures is kept and merged.
    """
    expected = (data_dir.SECRET_KEY, data_dir.ERASURES)
    if existing_files := [str(path) for path in data_dir.files() if path not in expected]:
        raise CommandError(
            f"This installation is not empty: {settings.DATA_DIR} has "
            f"{', '.join(existing_files[:5])}. Nothing was changed. "
            "Set DATA_DIR to a new directory, or move these files away."
        )


def refuse_lack_of_space(needed: int) -> None:
    free = shutil.disk_usage(settings.DATA_DIR).free
    if needed > free:
        raise CommandError(
            f"{settings.DATA_DIR} has {free:,} bytes free, but the backup needs {needed:,}. "
            "Nothing was changed. Free space, and restore again."
        )


def list_migrations() -> set[str]:
    """Return the migrations of this version, as `app.name`."""
    return {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations}


def read_secret_key(archive: Archive) -> str:
    """Return the future secret key: from the environment, or else from the archive."""
    name = FILES + str(data_dir.SECRET_KEY)
    if environment.text("SECRET_KEY") or name not in archive.files:
        return str(settings.SECRET_KEY)
    return b"".join(archive.chunks(name)).decode().strip()
