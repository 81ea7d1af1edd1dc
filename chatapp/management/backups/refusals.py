"""What keeps an archive from being restored here: `CommandError`s, before anything is changed."""

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


def refuse_unfit(archive: Archive) -> None:
    """Raises `CommandError` where this installation could not use what is in the archive."""
    manifest = archive.manifest
    if manifest.engine != connection.vendor:
        theirs, cure = ENGINES.get(manifest.engine, (manifest.engine, "Use that"))
        raise CommandError(
            f"This backup is of {theirs}, and this installation uses {connection.display_name}. "
            f"{cure}, and restore again."
        )
    if unknown := sorted(set(manifest.migrations) - known_migrations()):
        raise CommandError(
            f"This backup was made by a newer version, chatapp {manifest.version}: this one does "
            f"not know {', '.join(unknown)}. Install that version, and restore again."
        )
    if data_dir.fingerprint(secret_of(archive)) != manifest.secret_fingerprint:
        raise CommandError(
            "This backup was made with another SECRET_KEY, without which the upstreams' keys in "
            "it can't be decrypted. Set SECRET_KEY to what it was then, and restore again."
        )
    if not all(map(data_dir.is_kept, archive.files.values())):
        raise CommandError("This backup holds files that no backup holds. Nothing was changed.")


def refuse_files() -> None:
    """A secret key is there in any case: reading the settings generates one. Who was erased may be
    told by a file, which the backup does not take the place of."""
    expected = (data_dir.SECRET_KEY, data_dir.ERASURES)
    if kept := [str(path) for path in data_dir.files() if path not in expected]:
        raise CommandError(
            f"This installation is not empty: {settings.DATA_DIR} holds {', '.join(kept[:5])}. "
            "Nothing was changed. Set DATA_DIR to a new directory, or move them away."
        )


def refuse_lack_of_space(needed: int) -> None:
    free = shutil.disk_usage(settings.DATA_DIR).free
    if needed > free:
        raise CommandError(
            f"{settings.DATA_DIR} has {free:,} bytes free and the backup takes {needed:,}. Nothing "
            "was changed. Make room, and restore again."
        )


def known_migrations() -> set[str]:
    """Those of this version, as `app.name`."""
    return {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations}


def secret_of(archive: Archive) -> str:
    """The secret key that the installation will have: the environment's, or else the archive's."""
    name = FILES + str(data_dir.SECRET_KEY)
    if environment.text("SECRET_KEY") or name not in archive.files:
        return str(settings.SECRET_KEY)
    return b"".join(archive.chunks(name)).decode().strip()
