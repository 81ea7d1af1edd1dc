"""Permissions of DATA_DIR, which holds the secret key and, on SQLite, everyone's chats."""

import logging
import os
import stat
from pathlib import Path

logger = logging.getLogger(__name__)

OURS = ("secret_key", "chatapp.sqlite3")  # files that identify the app's own directory


def make_private(directory: Path) -> None:
    """Remove other users' permissions from `directory`, if it is the app's own.

    The group's permissions are left alone: the administrator chose them.
    """
    try:
        status = directory.stat()
    except OSError:
        return  # reported by the code that needs it
    is_ours = status.st_uid == os.geteuid() and any((directory / name).exists() for name in OURS)
    if is_ours and is_open(status.st_mode):
        directory.chmod(0o700)
        logger.warning("%s was open to all users of this machine; removed their access", directory)


def is_open(mode: int) -> bool:
    """Return whether users other than the owner and the group have any permission."""
    return bool(stat.S_IMODE(mode) & stat.S_IRWXO)
