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
from chatapp.realtime.journal.records import MAX_BYTES, Heading, read_records
from chatapp.realtime.journal.replay import Replay, count_characters
from chatapp.realtime.journal.writing import folder, installation
from chatapp.upstream.wire.reply import Ending

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class CompletedReply:
    """A reply that was saved with all text that had arrived."""

    user: int
    conversation: UUID


def complete_lost_replies(within: float = math.inf) -> list[CompletedReply]:
    """Complete the replies of this host's dead processes and return them.

    Stops after `within` seconds; call it again for the rest. Raises Django's database errors.
    """
    give_up_at = time.monotonic() + within
    completed = []
    for path in _list_id_paths(folder()):
        with _try_lock_folder(path) as is_dead:
            if is_dead:
                completed += _complete_all(path, give_up_at)
    if completed:
        logger.warning("Replies of a dead process were completed: %d", len(completed))
    return completed


def _list_id_paths(parent: Path) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if _parse_id(path))
    except OSError:
        return []


def _parse_id(path: Path) -> UUID | None:
    """Return the id that a file or folder is named by, or None for any other name."""
    with suppress(ValueError):
        if (identifier := UUID(path.name)).hex == path.name:
            return identifier
    return None


@contextmanager
def _try_lock_folder(path: Path) -> Iterator[bool]:
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


def _complete_all(path: Path, give_up_at: float) -> list[CompletedReply]:
    completed: list[CompletedReply] = []
    for file in _list_id_paths(path):
        if time.monotonic() > give_up_at:
            return completed
        if (data := _read_file(file)) is None:
            continue  # not ours: neither read nor removed
        heading = next(read_records(data), None)
        if isinstance(heading, Heading):
            if heading.installation != installation():
                continue
            if (heading.process, heading.reply) == (_parse_id(path), _parse_id(file)):
                completed += _try_complete(heading, data)
        with suppress(OSError):
            file.unlink()
    with suppress(OSError):
        path.rmdir()
    return completed


def _read_file(file: Path) -> bytes | None:
    """Return the file's content, or None if it is unreadable or owned by another user."""
    try:
        number = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return None
        with os.fdopen(number, "rb", closefd=False) as opened:
            return opened.read(MAX_BYTES)
    except OSError:
        return None
    finally:
        os.close(number)


def _try_complete(heading: Heading, data: bytes) -> list[CompletedReply]:
    try:
        completed = _complete(heading, data)
    except (OperationalError, InterfaceError):
        raise  # the database is unavailable: retried later
    except (DatabaseError, ValueError):  # it can never be stored
        logger.exception("Reply %s can't be completed from its journal", heading.reply)
        return []
    return [completed] if completed else []


def _complete(heading: Heading, data: bytes) -> CompletedReply | None:
    with transaction.atomic():
        rows = Message.objects.select_related("conversation").select_for_update(of=("self",))
        message = rows.filter(pk=heading.reply, streamed_by=heading.process).first()
        if message is None or message.ending not in (Message.STREAMING, Ending.INTERRUPTED):
            return None  # deleted, or saved by its process
        replay = Replay(read_records(data))
        more = replay.length - count_characters(message.rounds)
        if more < 0 or (more == 0 and not message.is_streaming and not replay.others):
            return None
        if message.children.exists():
            usage = message.bill(replay.usage)
            Usage.book([usage])
            budget_accounts.settle([usage])
            return None
        _apply_replay(message, replay)
    return CompletedReply(message.conversation.user_id, message.conversation_id)


def _apply_replay(message: Message, replay: Replay) -> None:
    message.earlier_rounds = []
    for round, reply in replay.rounds:
        message.keep_round(round, reply)
    message.copy_progress(replay.reply, replay.runs)
    message.finish(replay.reply, replay.find_ending(replay.reply))
    others = [
        message.other_choice(other, replay.find_ending(other))
        for other in replay.others
        if other.has_arrived
    ]
    message.save_reply(replay.usage, others)
