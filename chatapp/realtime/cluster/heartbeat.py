"""Records in the database that this worker is alive, and reports what the database says of others.

It runs in a thread of its own, so that neither a busy event loop nor a slow query makes a living
worker look dead. What each beat finds is passed to the event loop as a `HeartbeatReport`.
"""

import asyncio
import logging
import math
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, OperationalError, connection, connections

from chatapp import metrics
from chatapp.db.connections import is_locked, unpooled_connection
from chatapp.models import Message, Process
from chatapp.models.platform.processes import EXPIRY_SECONDS, HeartbeatMonitor, Heartbeats
from chatapp.realtime.journal import CompletedReply, complete_lost_replies

logger = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
LOCK_SECONDS = 2.0  # how long a beat waits for SQLite's lock


@dataclass(frozen=True)
class StreamingReply:
    """A reply stored as streaming, and the worker that runs it."""

    conversation: UUID
    reply: UUID
    owner: UUID | None


@dataclass(frozen=True)
class HeartbeatReport:
    """The state of the database at one beat."""

    own: frozenset[UUID]  # replies stored as streaming in this worker
    alive: frozenset[UUID] = frozenset()
    streaming: tuple[StreamingReply, ...] = ()  # in the conversations that are shown here
    # Replies completed from the journals of dead workers of this host.
    completed: tuple[CompletedReply, ...] = ()


class ShownConversations(Protocol):
    """Lists the conversations to query the database about. Thread-safe."""

    def conversations(self) -> Collection[UUID]: ...


class HeartbeatSource(Protocol):
    """The interface of a heartbeat that a worker needs."""

    @property
    def database_answers(self) -> bool:
        """Whether the database answered about a second ago.

        A database that hangs counts as answering only briefly. One that is locked for writing
        counts as answering: writes wait for the lock.
        """

    def was_given_up(self, since: float) -> bool:
        """Whether others may have ended replies of this worker since `since` (monotonic time)."""

    def reports(self, source: ShownConversations) -> AsyncGenerator[HeartbeatReport, None]:
        """Yield a report for each beat from now on, also on the conversations of `source`."""

    def stop(self) -> None:
        """Stop beating and sign off; returns soon even if the database is unavailable."""


class Heartbeat(HeartbeatSource):
    """Beats from `start` to `stop`, and cleans up after dead workers."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._did_answer = True
        self._shown: ShownConversations | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # of the task that reads the reports
        self._reports: asyncio.Queue[HeartbeatReport] = asyncio.Queue()
        self._answered_at = self._beat_at = self._steady_since = time.monotonic()
        self._is_locked = False
        self._returned_at = -math.inf
        self._completed: deque[CompletedReply] = deque()  # not yet reported
        self._silences = HeartbeatMonitor()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    @property
    def database_answers(self) -> bool:
        return self._did_answer and time.monotonic() - self._answered_at < EXPIRY_SECONDS

    def was_given_up(self, since: float) -> bool:
        return self._returned_at >= since or time.monotonic() - self._beat_at > EXPIRY_SECONDS

    def start(self) -> None:
        self._thread.start()

    async def reports(self, source: ShownConversations) -> AsyncGenerator[HeartbeatReport, None]:
        self._loop, self._shown = asyncio.get_running_loop(), source
        while True:
            yield await self._reports.get()

    def complete_lost_replies(self, within: float = math.inf) -> int:
        """Complete replies of this host's dead workers from their journals; return how many.

        Takes at most about `within` seconds. The next report reports the completed replies.
        """
        completed = complete_lost_replies(within)
        self._completed.extend(completed)
        metrics.orphans.inc(len(completed))
        return len(completed)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(EXPIRY_SECONDS)

    def _run(self) -> None:
        # Not from the pool, which may be exhausted for a while.
        connections[DEFAULT_DB_ALIAS] = unpooled_connection(settings.DATABASES, LOCK_SECONDS)
        while not self._stopping.wait(BEAT_SECONDS):
            try:
                self._beat()
            except Error as error:
                connection.close()
                if self._did_answer:
                    logger.error("The database can't be reached; replies go on: %s", error)
                self._did_answer = False
            except Exception:  # without beats this process would be presumed dead
                logger.exception("A heartbeat failed")
            else:
                connection.close_if_unusable_or_obsolete()
                if not self._did_answer:
                    logger.warning("The database can be reached again")
                self._did_answer = True
        self._sign_off()

    def _beat(self) -> None:
        beats = Process.objects.read_heartbeats()
        self._answered_at = time.monotonic()
        if not self._record_beat():
            return
        now = time.monotonic()
        if now - self._beat_at > 2 * BEAT_SECONDS:
            self._steady_since = now
        self._beat_at = now
        alive = frozenset() if self.process.is_alone else self._reap(beats, now)
        if self._loop:
            report = self._build_report(alive)
            self._loop.call_soon_threadsafe(self._reports.put_nowait, report)

    def _reap(self, beats: Heartbeats, now: float) -> frozenset[UUID]:
        """End what dead workers left behind; return the workers that are alive."""
        self.complete_lost_replies(BEAT_SECONDS)  # no longer, so that no beat is missed
        # Right after an outage of the database all beats are old, though the workers are alive.
        if dead := self._silences.find_dead(beats, now, self._steady_since):
            Process.objects.forget(dead)
        if now - self._steady_since > EXPIRY_SECONDS and (
            interrupted := Message.objects.interrupt_orphans()
        ):
            metrics.orphans.inc(interrupted)
            logger.warning("%d replies were marked as interrupted: their process died", interrupted)
        return frozenset(beats.keys() - dead.keys())

    def _record_beat(self) -> bool:
        """Record a beat; return False if another program has locked the database."""
        try:
            was_forgotten = self.process.record_heartbeat()
        except OperationalError as error:
            if not is_locked(error):
                raise
            self._answered_at = time.monotonic()
            if not self._is_locked:
                logger.error("The database is locked; replies go on: %s", error)
            self._is_locked = True
            return False
        if self._is_locked:
            logger.warning("The database is no longer locked")
            self._is_locked = False
        if was_forgotten:
            logger.warning("This process was stalled for so long that others presumed it dead")
            self._returned_at = time.monotonic()
        return True

    def _build_report(self, alive: frozenset[UUID]) -> HeartbeatReport:
        streaming = Message.objects.streaming()
        own = frozenset(streaming.filter(streamed_by=self.process.pk).values_list("pk", flat=True))
        source = None if self.process.is_alone else self._shown
        conversations = source.conversations() if source else ()
        replies = (
            streaming.filter(conversation__in=conversations) if conversations else streaming.none()
        )
        rows = replies.values_list("conversation_id", "pk", "streamed_by")
        return HeartbeatReport(
            own, alive, tuple(StreamingReply(*row) for row in rows), self._pop_completed()
        )

    def _pop_completed(self) -> tuple[CompletedReply, ...]:
        return tuple(self._completed.popleft() for _ in range(len(self._completed)))

    def _sign_off(self) -> None:
        try:
            Process.objects.filter(pk=self.process.pk).delete()
        except Error as error:
            logger.warning("This process could not sign off in the database: %s", error)
        connection.close()
