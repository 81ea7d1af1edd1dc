"""The files in DATA_DIR to back up besides the database: secret key, recordings, uploads.

Every file is backed up, except those that can be generated again.
"""

import os
from collections.abc import Iterator
from pathlib import Path, PurePath

from django.conf import settings
from django.utils.crypto import salted_hmac

from chatapp.erasure import register

SECRET_KEY = PurePath("secret_key")
ERASURES = PurePath(register.NAME)
JOURNAL = PurePath("journal")  # of running replies: useless after a restore
BACKUPS = PurePath("backups")  # made before upgrades
FAILED_UPGRADE = PurePath("failed-upgrade.json")


def files() -> Iterator[PurePath]:
    """Yield the files to back up, as paths relative to DATA_DIR."""
    for folder, folders, names in os.walk(settings.DATA_DIR, followlinks=True):
        folder_path = Path(folder)
        folders[:] = [
            name for name in folders if is_kept((folder_path / name).relative_to(_root()))
        ]
        for name in sorted(names):
            path = (folder_path / name).relative_to(_root())
            if is_kept(path) and (folder_path / name).is_file():
                yield path


def is_kept(path: PurePath) -> bool:
    """Return whether to back up the file at `path` in DATA_DIR.

    False for databases, which have their own tools, copies of databases that are being imported,
    locks, the journal, collected static files, and what upgrades leave.
    """
    first = path.parts[0]
    is_copy = first.startswith("import-") and first.endswith(".db")
    is_database = len(path.parts) == 1 and (".sqlite3" in first or is_copy)
    is_collected = _root() / first == Path(settings.STATIC_ROOT or "")
    if is_database or is_collected or PurePath(first) in (JOURNAL, BACKUPS, FAILED_UPGRADE):
        return False
    return not (first.endswith(".lock") or first.startswith("."))


def fingerprint(secret: str) -> str:
    """Return a hash that identifies a secret without revealing it."""
    return salted_hmac("chatapp.backup", "fingerprint", secret, algorithm="sha256").hexdigest()


def _root() -> Path:
    return Path(settings.DATA_DIR)
