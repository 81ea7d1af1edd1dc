"""Hourly cleanup: purges expired trash, deleted messages, saved prompts and presets, and what
`Retention` no longer keeps.

It also deletes the files that nothing refers to any more, empties SQLite's write-ahead log, vacuums
the database after an erasure, and logs the head of the audit log. The work is cut into short
transactions so that others get their turn. It runs every hour and on request.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import TypeVar
from uuid import UUID

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from chatapp.db.connections import empty_write_ahead_log, unpooled_connection
from chatapp.models import (
    Attachment,
    Conversation,
    FileSet,
    Import,
    ImportFile,
    Message,
    ReplyImage,
    StoredFile,
)
from chatapp.models.audit import read_head
from chatapp.models.conversations.chats.folders import TRASH_DAYS
from chatapp.models.conversations.turns.exports import ChatExport, delete_lost_exports
from chatapp.models.files.abandoned import delete_abandoned
from chatapp.models.library.sharing import kinds
from chatapp.models.retention.run import RetentionRun
from chatapp.models.retention.vacuuming import stop_vacuum, vacuum_erased
from chatapp.realtime.generation import run_in_write_thread

logger = logging.getLogger(__name__)

T = TypeVar("T")

EVERY_SECONDS = 3600.0
PAUSE_SECONDS = 0.05  # between two steps


def purge_messages() -> bool:
    over = timezone.now() - timedelta(days=TRASH_DAYS)
    return bool(Message.objects.purge_deleted(over))


def purge_library() -> bool:
    return any(kind.objects.purge() for kind in kinds())


# Each call does part of the work and returns whether there was any.
STEPS: Sequence[Callable[[], bool]] = (Conversation.objects.purge, purge_messages, purge_library)
# Afterwards, the same for files.
FILE_STEPS: Sequence[Callable[[], bool]] = (
    ReplyImage.objects.move_one_to_storage,
    Attachment.objects.delete_abandoned,
    ImportFile.objects.delete_expired,
    Import.objects.forget_old_report,
    FileSet.objects.delete_unused,
    StoredFile.objects.delete_unused,
    ChatExport.objects.delete_expired,
)


def log_audit_head() -> None:
    """Write the audit log's head to the application log.

    That log is kept elsewhere, so truncating the audit log leaves a trace there:
    `manage.py audit verify --head` compares the two.
    """
    if (head := read_head()).sequence:
        logger.info("The audit log ends with %s", head)


def clean_up() -> int:
    """Run the whole cleanup and return the number of steps it took."""
    return sum(1 for _ in run_cleanup_steps())


def run_cleanup_steps() -> Iterator[Counter[str]]:
    """Run the cleanup step by step.

    Yields the counts of what the retention policy has deleted so far, as in `RetentionRun.gone`.
    """
    gone: Counter[str] = Counter()
    for step in STEPS:
        for _ in iter(step, False):
            yield gone
    round = None
    while round is None or round.gone:
        round = RetentionRun()
        try:
            for _ in iter(round.step, False):
                yield gone + round.gone
        finally:
            round.record()
        gone += round.gone
    for step in FILE_STEPS:
        for _ in iter(step, False):
            yield gone
    delete_abandoned()
    delete_lost_exports()
    empty_write_ahead_log(connection)
    vacuum_erased(connection)
    log_audit_head()


class Housekeeping:
    """Runs the cleanup periodically: `run` it in a task until cancelled.

    `changed(user, conversation)` announces each erased conversation.
    """

    def __init__(self, changed: Callable[[int, UUID], None]) -> None:
        self._changed = changed
        self._asked = asyncio.Event()

    def wake(self) -> None:
        """Start the next cleanup now instead of at the hour. Call it on the event loop."""
        self._asked.set()

    async def run(self) -> None:
        while True:
            self._asked.clear()
            try:
                await self._clean_up()
            except (Error, OSError) as error:
                logger.warning("Cleanup failed and will be tried again in an hour: %s", error)
            try:
                await asyncio.wait_for(self._asked.wait(), EVERY_SECONDS)
            except TimeoutError:
                continue

    async def _clean_up(self) -> None:
        round = RetentionRun()
        try:
            for step in (*STEPS, round.step):
                while await run_in_write_thread(step):
                    self._announce(round)
                    await asyncio.sleep(PAUSE_SECONDS)
        finally:
            await run_in_write_thread(round.record)
        await _clean_up_files()
        await run_in_write_thread(partial(empty_write_ahead_log, connection))
        await run_in_write_thread(log_audit_head)
        await _vacuum()

    def _announce(self, round: RetentionRun) -> None:
        while round.erased:
            self._changed(*round.erased.pop())


async def _clean_up_files() -> None:
    """Move and delete files in threads of their own, since a bucket may keep them waiting."""
    for step in FILE_STEPS:
        has_more = True
        while has_more:
            has_more = await asyncio.to_thread(_with_connection, step)
            await asyncio.sleep(PAUSE_SECONDS)
    await asyncio.to_thread(_with_connection, delete_abandoned)
    await asyncio.to_thread(_with_connection, delete_lost_exports)


def _with_connection(step: Callable[[], T]) -> T:
    try:
        return step()
    finally:
        connection.close()


async def _vacuum() -> None:
    """Vacuum in a thread of its own, since it may take minutes. Cancelling stops the vacuum."""
    sessions: list[BaseDatabaseWrapper] = []

    def vacuum() -> None:
        connections[DEFAULT_DB_ALIAS] = session = unpooled_connection(settings.DATABASES)
        sessions.append(session)
        try:
            vacuum_erased(session, is_serving=True)
        finally:
            session.close()
            del connections[DEFAULT_DB_ALIAS]

    try:
        await asyncio.to_thread(vacuum)
    except asyncio.CancelledError:
        for session in sessions:
            stop_vacuum(session)
        raise
