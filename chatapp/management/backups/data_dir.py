"""What DATA_DIR keeps besides the database: the generated secret key, recordings, uploads.

Whatever lies there is kept, apart from what is made anew.
"""

import os
from collections.abc import Iterator
from pathlib import Path, PurePath

from django.conf import settings
from django.utils.crypto import salted_hmac

from chatapp.accounts import erasures

SECRET_KEY = PurePath("secret_key")
ERASURES = PurePath(erasures.NAME)
JOURNAL = PurePath("journal")  # of replies that are being written, which is nothing to go back to


def files() -> Iterator[PurePath]:
    """The files to keep, by their place in DATA_DIR."""
    for folder, folders, names in os.walk(settings.DATA_DIR, followlinks=True):
        here = Path(folder)
        folders[:] = [name for name in folders if is_kept((here / name).relative_to(_root()))]
        for name in sorted(names):
            path = (here / name).relative_to(_root())
            if is_kept(path) and (here / name).is_file():
                yield path


def is_kept(path: PurePath) -> bool:
    """False for databases, which have tools of their own, for locks, the journal, and what is
    collected."""
    first = path.parts[0]
    is_database = len(path.parts) == 1 and ".sqlite3" in first
    is_collected = _root() / first == Path(settings.STATIC_ROOT or "")
    if is_database or is_collected or first == JOURNAL.name:
        return False
    return not (first.endswith(".lock") or first.startswith("."))


def fingerprint(secret: str) -> str:
    """Tells whether two secrets are one, and nothing else of them."""
    return salted_hmac("chatapp.backup", "fingerprint", secret, algorithm="sha256").hexdigest()


def _root() -> Path:
    return Path(settings.DATA_DIR)
