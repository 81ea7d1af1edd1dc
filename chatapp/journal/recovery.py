"""Completes the replies of processes of this host that died, from their journals.

A folder that can be locked is a dead process's: the lock goes with its process, and no number can
be mistaken for another's. What is completed is only what its process left unsaved, and never made
shorter; a reply that somebody has gone on from stays as that person read it.
"""

import fcntl
import logging
import math
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.db import DatabaseError, InterfaceError, OperationalError, transaction

from chatapp.journal.records import MAX_BYTES, Heading, records
from chatapp.journal.replay import Replay, length_of
from chatapp.journal.writing import folder, installation
from chatapp.models import Message, Usage, allowances
from chatapp.upstream.wire.reply import Ending

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Completed:
    """A reply that is saved now as far as it had arrived."""

    user: int
    conversation: UUID


def complete_lost_replies(within: float = math.inf) -> list[Completed]:
    """Does so for every process of this host that died, or for what so many seconds are enough for;
    call it again for the rest. Raises what the database does."""
    give_up_at = time.monotonic() + within
    completed = []
    for path in _named_by_ids(folder()):
        with _locked(path) as is_dead:
            if is_dead:
                completed += _complete_all(path, give_up_at)
    if completed:
        logger.warning("Replies of a process that died were completed: %d", len(completed))
    return completed


def _named_by_ids(parent: Path) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if _id_of(path))
    except OSError:
        return []


def _id_of(path: Path) -> UUID | None:
    """The id that names the file; None for a name that is none of ours."""
    with suppress(ValueError):
        if (found := UUID(path.name)).hex == path.name:
            return found
    return None


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(lock)


def _complete_all(path: Path, give_up_at: float) -> list[Completed]:
    completed: list[Completed] = []
    for file in _named_by_ids(path):
        if time.monotonic() > give_up_at:
            return completed
        if (data := _read(file)) is None:
            continue  # not ours to read or to remove
        heading = next(records(data), None)
        if isinstance(heading, Heading):
            if heading.installation != installation():
                continue
            if (heading.process, heading.reply) == (_id_of(path), _id_of(file)):
                completed += _completed(heading, data)
        with suppress(OSError):
            file.unlink()
    with suppress(OSError):
        path.rmdir()
    return completed


def _read(file: Path) -> bytes | None:
    """None for what can't be read, or is no file of this process's user."""
    try:
        number = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            return None
        with os.fdopen(number, "rb", closefd=False) as opened:
            return opened.read(MAX_BYTES)
    except OSError:
        return None
    finally:
        os.close(number)


def _completed(heading: Heading, data: bytes) -> list[Completed]:
    try:
        completed = _complete(heading, data)
    except (OperationalError, InterfaceError):
        raise  # the database is away; it is tried again
    except (DatabaseError, ValueError):  # it can't be stored, and never could be
        logger.exception("Reply %s can't be completed from its journal", heading.reply)
        return []
    return [completed] if completed else []


def _complete(heading: Heading, data: bytes) -> Completed | None:
    with transaction.atomic():
        rows = Message.objects.select_related("conversation").select_for_update(of=("self",))
        message = rows.filter(pk=heading.reply, streamed_by=heading.process).first()
        if message is None or message.ending not in (Message.STREAMING, Ending.INTERRUPTED):
            return None  # it was deleted, or saved by its process
        replay = Replay(records(data))
        more = replay.length - length_of(message.rounds)
        if more < 0 or (more == 0 and not message.is_streaming and not replay.others):
            return None
        if message.children.exists():
            usage = replay.usage.of_reply(message)
            Usage.book([usage])
            allowances.settle([usage])
            return None
        _take(message, replay)
    return Completed(message.conversation.user_id, message.conversation_id)


def _take(message: Message, replay: Replay) -> None:
    message.earlier_rounds = []
    for round, reply in replay.rounds:
        message.keep_round(round, reply)
    message.take(replay.reply, replay.runs)
    message.finish(replay.reply, replay.ending_of(replay.reply))
    others = [
        message.other_choice(other, replay.ending_of(other))
        for other in replay.others
        if other.has_arrived
    ]
    message.save_reply(replay.usage, others)
