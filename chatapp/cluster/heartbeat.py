"""A worker's sign of life, told to the database; and what the database tells of the others.

In a thread of its own, so that neither a busy event loop nor a slow query lets a living worker
look dead. What it sees at each beat comes to the event loop as a `Sighting`.
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
from chatapp.journal import Completed, complete_lost_replies
from chatapp.models import Message, Process
from chatapp.models.connections import is_locked, unpooled_connection
from chatapp.models.processes import EXPIRY_SECONDS, Beats, Silences

logger = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
LOCK_SECONDS = 2.0  # that a beat waits for SQLite's lock


@dataclass(frozen=True)
class Streaming:
    """A reply that the database has as streaming, and the worker that writes it."""

    conversation: UUID
    reply: UUID
    owner: UUID | None


@dataclass(frozen=True)
class Sighting:
    """What the database said at one beat."""

    own: frozenset[UUID]  # replies that are stored as streaming in this worker
    alive: frozenset[UUID] = frozenset()
    streaming: tuple[Streaming, ...] = ()  # in the conversations asked for
    # Replies that were completed from the journal of a worker of this host that died.
    completed: tuple[Completed, ...] = ()


class Shown(Protocol):
    """Knows what the database is to be asked about; may be asked from any thread."""

    def conversations(self) -> Collection[UUID]: ...


class Beating(Protocol):
    """What a worker is told of itself."""

    @property
    def database_answers(self) -> bool:
        """Whether it did about a second ago; one that only hangs does not for long.

        One that is locked for writing answers: what is to be written waits for it.
        """

    def was_given_up(self, since: float) -> bool:
        """Whether others may have reaped replies of this worker since then (monotonic)."""

    def sightings(self, shown: Shown) -> AsyncGenerator[Sighting, None]:
        """Of each beat from now on, one; looks at the conversations that are `shown`, too."""

    def stop(self) -> None:
        """Returns when this worker is forgotten, or soon where the database is away."""


class Heartbeat(Beating):
    """Beats from `start` to `stop`, and reaps what dead workers left."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._did_answer = True
        self._shown: Shown | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # of whoever reads the sightings
        self._sightings: asyncio.Queue[Sighting] = asyncio.Queue()
        self._answered_at = self._beat_at = self._steady_since = time.monotonic()
        self._is_locked = False
        self._returned_at = -math.inf
        self._completed: deque[Completed] = deque()  # that nobody was told of yet
        self._silences = Silences()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    @property
    def database_answers(self) -> bool:
        return self._did_answer and time.monotonic() - self._answered_at < EXPIRY_SECONDS

    def was_given_up(self, since: float) -> bool:
        return self._returned_at >= since or time.monotonic() - self._beat_at > EXPIRY_SECONDS

    def start(self) -> None:
        self._thread.start()

    async def sightings(self, shown: Shown) -> AsyncGenerator[Sighting, None]:
        self._loop, self._shown = asyncio.get_running_loop(), shown
        while True:
            yield await self._sightings.get()

    def complete_lost_replies(self, within: float = math.inf) -> int:
        """Completes replies of this host's dead workers, for so many seconds; returns how many.
        The next sighting tells of them."""
        completed = complete_lost_replies(within)
        self._completed.extend(completed)
        metrics.orphans.inc(len(completed))
        return len(completed)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(EXPIRY_SECONDS)

    def _run(self) -> None:
        # Not of the pool, which may be busy for long.
        connections[DEFAULT_DB_ALIAS] = unpooled_connection(settings.DATABASES, LOCK_SECONDS)
        while not self._stopping.wait(BEAT_SECONDS):
            try:
                self._beat()
            except Error as error:
                connection.close()
                if self._did_answer:
                    logger.error("The database can't be reached, replies go on: %s", error)
                self._did_answer = False
            except Exception:  # without its beats this process would be taken for dead
                logger.exception("A beat failed")
            else:
                connection.close_if_unusable_or_obsolete()
                if not self._did_answer:
                    logger.warning("The database is back")
                self._did_answer = True
        self._sign_off()

    def _beat(self) -> None:
        beats = Process.objects.beats()
        self._answered_at = time.monotonic()
        if not self._is_seen():
            return
        now = time.monotonic()
        if now - self._beat_at > 2 * BEAT_SECONDS:
            self._steady_since = now
        self._beat_at = now
        alive = frozenset() if self.process.is_alone else self._reap(beats, now)
        if self._loop:
            sighting = self._look(alive)
            self._loop.call_soon_threadsafe(self._sightings.put_nowait, sighting)

    def _reap(self, beats: Beats, now: float) -> frozenset[UUID]:
        """Ends what dead workers left; returns those that are alive."""
        self.complete_lost_replies(BEAT_SECONDS)  # and no longer, or this one would miss its beats
        # After a pause of the database nobody has been heard for long, and yet they live.
        if dead := self._silences.dead(beats, now, self._steady_since):
            Process.objects.forget(dead)
        if now - self._steady_since > EXPIRY_SECONDS and (
            interrupted := Message.objects.interrupt_orphans()
        ):
            metrics.orphans.inc(interrupted)
            logger.warning("%d replies were cut short: their process died", interrupted)
        return frozenset(beats.keys() - dead.keys())

    def _is_seen(self) -> bool:
        """Tells the database that this process lives, unless another program has locked it."""
        try:
            was_forgotten = self.process.beat()
        except OperationalError as error:
            if not is_locked(error):
                raise
            self._answered_at = time.monotonic()
            if not self._is_locked:
                logger.error("The database is locked, replies go on: %s", error)
            self._is_locked = True
            return False
        if self._is_locked:
            logger.warning("The database is not locked any more")
            self._is_locked = False
        if was_forgotten:
            logger.warning("This process stood still for so long that others took it for dead")
            self._returned_at = time.monotonic()
        return True

    def _look(self, alive: frozenset[UUID]) -> Sighting:
        streaming = Message.objects.streaming()
        own = frozenset(streaming.filter(streamed_by=self.process.pk).values_list("pk", flat=True))
        asked = None if self.process.is_alone else self._shown
        shown = asked.conversations() if asked else ()
        found = streaming.filter(conversation__in=shown) if shown else streaming.none()
        rows = found.values_list("conversation_id", "pk", "streamed_by")
        return Sighting(own, alive, tuple(Streaming(*row) for row in rows), self._untold())

    def _untold(self) -> tuple[Completed, ...]:
        return tuple(self._completed.popleft() for _ in range(len(self._completed)))

    def _sign_off(self) -> None:
        try:
            Process.objects.filter(pk=self.process.pk).delete()
        except Error as error:
            logger.warning("This process could not sign off in the database: %s", error)
        connection.close()
