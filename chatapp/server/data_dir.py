"""DATA_DIR is its owner's alone: it holds the secret key, and on SQLite everybody's chats."""

import logging
import os
import stat
from pathlib import Path

logger = logging.getLogger(__name__)

OURS = ("secret_key", "chatapp.sqlite3")  # what tells a directory of the app's own


def make_private(directory: Path) -> None:
    """Closes it to other users, where it is ours and open to all. What its group may do stays:
    that, somebody has chosen."""
    try:
        status = directory.stat()
    except OSError:
        return  # whoever needs it says so
    is_ours = status.st_uid == os.geteuid() and any((directory / name).exists() for name in OURS)
    if is_ours and is_open(status.st_mode):
        directory.chmod(0o700)
        logger.warning("%s was open to all users of this machine, and is ours alone now", directory)


def is_open(mode: int) -> bool:
    """Whether others than the owner and the group may do anything there."""
    return bool(stat.S_IMODE(mode) & stat.S_IRWXO)
