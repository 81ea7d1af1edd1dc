"""The list of erased people, in a file beside the database.

An older backup still contains them; after it is restored, this file says whom to erase again.
`DATA_DIR/erasures.jsonl` has one line per erasure: its time, the account's id, and when the account
was created, since a restored database may reuse the id. It contains no names and no text.
"""

import errno
import os
from datetime import datetime
from pathlib import Path

import msgspec
from django.conf import settings
from django.utils import timezone

from chatapp.models import User

NAME = "erasures.jsonl"
_APPENDING = os.O_RDWR | os.O_CREAT | os.O_APPEND


class Erasure(msgspec.Struct, frozen=True):
    at: datetime
    person: int
    joined: datetime


def file() -> Path:
    return Path(settings.DATA_DIR) / NAME


def write(person: User) -> None:
    """Append an erasure and sync it to disk. If it raises `OSError`, do not erase the person."""
    append([Erasure(timezone.now(), person.pk, person.date_joined)])


def append(erasures: list[Erasure]) -> None:
    lines = b"".join(msgspec.json.encode(erasure) + b"\n" for erasure in erasures)
    descriptor = os.open(file(), _APPENDING, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        is_torn = size and os.pread(descriptor, 1, size - 1) != b"\n"
        lines = b"\n" + lines if is_torn else lines
        # One call, so that lines of several processes do not interleave.
        if os.write(descriptor, lines) < len(lines):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file()))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path) -> list[Erasure]:
    """Return the erasures in the file, [] if there is none.

    A torn line is skipped: the person is erased only after a complete line is on disk.
    """
    erasures = []
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            erasures.append(msgspec.json.decode(line, type=Erasure))
        except msgspec.MsgspecError:
            continue
    return erasures


def find_restored_people(erasures: list[Erasure]) -> list[User]:
    """Return erased people whose accounts exist: the database is older than their erasure."""
    keys = {(erasure.person, erasure.joined) for erasure in erasures}
    people = User.objects.in_bulk({erasure.person for erasure in erasures}).values()
    return [person for person in people if (person.pk, person.date_joined) in keys]
