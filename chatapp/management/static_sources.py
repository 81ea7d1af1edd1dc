"""Whether the static files that are served were made of what is there now.

What they were made of is kept beside them, by name, size and time: a look takes milliseconds, where
to collect takes seconds. Nothing follows from which of two times is the later.
"""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import staticfiles_storage

MADE_BY = ("django", "rjsmin", "whitenoise", "brotli")


def are_collected() -> bool:
    """Whether to collect them would change nothing."""
    with suppress(OSError):
        return _memory().read_text() == fingerprint()
    return False


def remember(sources: str) -> None:
    """They were made of these, whose `fingerprint` it is."""
    _memory().write_text(sources)


def fingerprint() -> str:
    """Of the sources, and of what makes of them what is served."""
    made_by = [type(staticfiles_storage).__name__, *map(version, MADE_BY)]
    return hashlib.sha256("\n".join([*made_by, *sorted(_sources())]).encode()).hexdigest()


def _sources() -> Iterator[str]:
    for finder in get_finders():
        for path, storage in finder.list([]):
            status = Path(storage.path(path)).stat()
            yield f"{path} {status.st_size} {status.st_mtime_ns}"


def _memory() -> Path:
    return Path(settings.STATIC_ROOT) / ".sources"
