"""Who was erased, in a file beside the database: a backup of before has them still, and whoever
restores it is told by this file whom to erase again.

`DATA_DIR/erasures.jsonl` has a line for each: when, the account's id, and when that was made, since
an id may be given anew in a database that was restored. No word of anybody's stands in it.
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
    """It is on the disk when this returns; raises `OSError`, and then nobody is to be erased."""
    append([Erasure(timezone.now(), person.pk, person.date_joined)])


def append(erasures: list[Erasure]) -> None:
    lines = b"".join(msgspec.json.encode(one) + b"\n" for one in erasures)
    descriptor = os.open(file(), _APPENDING, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        is_torn = size and os.pread(descriptor, 1, size - 1) != b"\n"
        lines = b"\n" + lines if is_torn else lines
        if os.write(descriptor, lines) < len(lines):  # in one call, between other processes' lines
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file()))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path) -> list[Erasure]:
    """Empty where there is no file. A line that is torn is left out: what it says was not done."""
    found = []
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            found.append(msgspec.json.decode(line, type=Erasure))
        except msgspec.MsgspecError:
            continue
    return found


def still_here(erasures: list[Erasure]) -> list[User]:
    """Those who have an account all the same: the database is older than their erasure."""
    known = {(one.person, one.joined) for one in erasures}
    people = User.objects.in_bulk({one.person for one in erasures}).values()
    return [person for person in people if (person.pk, person.date_joined) in known]
