"""Completes the replies of dead processes of this host from their journals.

A folder that can be locked belongs to a dead process: its lock ended with it, and unlike a process
number, a lock can't be mistaken for another's. Only replies left unsaved are completed, and none
is made shorter. A reply that the person has already continued from stays as they read it.
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

from chatapp.models import Message, Usage
from chatapp.models.billing import budget_accounts
from chatapp.realtime.journal.records import MAX_BYTES, Heading, records
from chatapp.realtime.journal.replay import Replay, length_of
from chatapp.realtime.journal.writing import folder, installation
from chatapp.upstream.wire.reply import Ending

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Completed:
    """A reply that was saved with all text that had arrived."""

    user: int
    conversation: UUID


def complete_lost_replies(within: float = math.inf) -> list[Completed]:
    """Complete the replies of this host's dead processes and return them.

    Stops after `within` seconds; call it again for the rest. Raises Django's database errors.
    """
    give_up_at = time.monotonic() + within
    completed = []
    for path in _named_by_ids(folder()):
        with _locked(path) as is_dead:
            if is_dead:
                completed += _complete_all(path, give_up_at)
    if completed:
        logger.warning("Replies of a dead process were completed: %d", len(completed))
    return completed


def _named_by_ids(parent: Path) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if _id_of(path))
    except OSError:
        return []


def _id_of(path: Path) -> UUID | None:
    """Return the id that a file or folder is named by, or None for any other name."""
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
            continue  # not ours: neither read nor removed
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
    """Return the file's content, or None if it is unreadable or owned by another user."""
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
        raise  # the database is unavailable: retried later
    except (DatabaseError, ValueError):  # it can never be stored
        logger.exception("Reply %s can't be completed from its journal", heading.reply)
        return []
    return [completed] if completed else []


def _complete(heading: Heading, data: bytes) -> Completed | None:
    with transaction.atomic():
        rows = Message.objects.select_related("conversation").select_for_update(of=("self",))
        message = rows.filter(pk=heading.reply, streamed_by=heading.process).first()
        if message is None or message.ending not in (Message.STREAMING, Ending.INTERRUPTED):
            return None  # deleted, or saved by its process
        replay = Replay(records(data))
        more = replay.length - length_of(message.rounds)
        if more < 0 or (more == 0 and not message.is_streaming and not replay.others):
            return None
        if message.children.exists():
            usage = message.bill(replay.usage)
            Usage.book([usage])
            budget_accounts.settle([usage])
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
