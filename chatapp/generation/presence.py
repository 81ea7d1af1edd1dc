"""That this process lives, told to the database; and what the database tells of the others.

In a thread of its own, so that neither a busy event loop nor a slow query lets a living process
look dead.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, OperationalError, connection, connections

from chatapp import metrics
from chatapp.models import Message, Process
from chatapp.models.connections import is_locked, unpooled_connection
from chatapp.models.processes import LEASE_SECONDS, Silences

logger = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
LOCK_SECONDS = 2.0  # that a beat waits for SQLite's lock


@dataclass(frozen=True)
class Sighting:
    """What the database said at one beat."""

    own: frozenset[UUID]  # replies that are stored as streaming in this process
    alive: frozenset[UUID] = frozenset()
    # Replies that stream in the conversations asked for: conversation, reply, process.
    streaming: tuple[tuple[UUID, UUID, UUID | None], ...] = ()


class Presence:
    """Beats from `start` to `stop`; who `attend`s gets each sighting, in the thread that beats."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._did_answer = True
        self._shown: Callable[[], Collection[UUID]] = frozenset
        self._tell: Callable[[Sighting], None] = lambda _sighting: None
        self._answered_at = self._beat_at = self._steady_since = time.monotonic()
        self._is_locked = False
        self._returned_at = -math.inf
        self._silences = Silences()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)

    @property
    def database_answers(self) -> bool:
        """Whether it did about a second ago; one that only hangs does not for long.

        One that is locked for writing answers: what is to be written waits for it.
        """
        return self._did_answer and time.monotonic() - self._answered_at < LEASE_SECONDS

    def was_given_up(self, since: float) -> bool:
        """Whether others may have ended replies of this process since then (monotonic)."""
        return self._returned_at >= since or time.monotonic() - self._beat_at > LEASE_SECONDS

    def start(self) -> None:
        self._thread.start()

    def attend(
        self, shown: Callable[[], Collection[UUID]], tell: Callable[[Sighting], None]
    ) -> None:
        """From now on looks at the conversations that are `shown` too, and tells what it sees."""
        self._shown, self._tell = shown, tell

    def stop(self) -> None:
        """Returns when this process is forgotten, or soon where the database is away."""
        self._stopping.set()
        self._thread.join(LEASE_SECONDS)

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
        if self.process.is_alone:
            self._tell(Sighting(self._own()))
            return
        # After a pause of the database nobody has been heard for long, and yet they live.
        if dead := self._silences.dead(beats, now, self._steady_since):
            Process.objects.bury(dead)
        if now - self._steady_since > LEASE_SECONDS and (
            interrupted := Message.objects.interrupt_orphans()
        ):
            metrics.orphans.inc(interrupted)
            logger.warning("%d replies were cut short: their process died", interrupted)
        self._tell(self._look(frozenset(beats.keys() - dead.keys())))

    def _is_seen(self) -> bool:
        """Tells the database that this process lives, unless another program has locked it."""
        try:
            was_buried = self.process.beat()
        except OperationalError as error:
            if not is_locked(error):
                raise
            if not self._is_locked:
                logger.error("The database is locked, replies go on: %s", error)
            self._is_locked = True
            return False
        if self._is_locked:
            logger.warning("The database is not locked any more")
            self._is_locked = False
        if was_buried:
            logger.warning("This process stood still for so long that others took it for dead")
            self._returned_at = time.monotonic()
        return True

    def _look(self, alive: frozenset[UUID]) -> Sighting:
        if not (shown := self._shown()):
            return Sighting(self._own(), alive)
        streaming = Message.objects.streaming().filter(conversation__in=shown)
        found = streaming.values_list("conversation_id", "pk", "streamed_by")
        return Sighting(self._own(), alive, tuple(found))

    def _own(self) -> frozenset[UUID]:
        own = Message.objects.streaming().filter(streamed_by=self.process.pk)
        return frozenset(own.values_list("pk", flat=True))

    def _sign_off(self) -> None:
        try:
            Process.objects.filter(pk=self.process.pk).delete()
        except Error as error:
            logger.warning("This process could not sign off in the database: %s", error)
        connection.close()
