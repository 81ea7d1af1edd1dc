"""Indexes new messages for search about a second after they are written, and then older ones.

It runs in a thread of its own so that no turn waits for it, and in the process for jobs while that
runs. The database records what is still to be indexed, so anything missed in a crash or by another
process is picked up at the next check.
"""

import logging
import threading
import time
from collections.abc import Callable

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connection, connections

from chatapp.db.connections import unpooled_connection
from chatapp.models import index_some
from chatapp.models.search.search_entries import MESSAGES_AT_ONCE, is_any_unindexed

logger = logging.getLogger(__name__)

POLL_SECONDS = 10.0  # between checks without news
SETTLE_SECONDS = 0.5  # how long to wait for more, to index it together
REST = 4  # pause this many times as long as the work took, to leave streams and jobs their CPU
REST_ALONE = 1  # in a process that does nothing else; on SQLite, others have to write meanwhile
STOP_SECONDS = 5.0


class Indexing:
    """The indexing thread, which works from `start` to `stop`.

    `is_done_elsewhere` tells another process to do the work, and returns whether it does.
    `is_alone` returns whether this process does nothing else.
    """

    def __init__(
        self,
        is_done_elsewhere: Callable[[], bool] = lambda: False,
        is_alone: Callable[[], bool] = lambda: False,
    ) -> None:
        self.is_behind = False  # after a portion that wasn't the last
        self._is_done_elsewhere = is_done_elsewhere
        self._is_alone = is_alone
        self._has_news = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="indexing", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Wake the thread: there is something new to index."""
        self._has_news.set()

    def stop(self) -> None:
        self._stopping.set()
        self._has_news.set()
        if self._thread:
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        connections[DEFAULT_DB_ALIAS] = unpooled_connection(settings.DATABASES)
        while not self._stopping.is_set():
            try:
                self._index_all()
            except Error as error:
                logger.info("Indexing for search waits for the database: %s", error)
                connection.close()
            except Exception:  # a bad text must not hold up those after it
                logger.exception("Indexing for search failed")
            self.is_behind = False
            self._has_news.wait(POLL_SECONDS)
            self._stopping.wait(SETTLE_SECONDS)
            self._has_news.clear()
        connection.close()

    def _index_all(self) -> None:
        while not (self._stopping.is_set() or self._is_done_elsewhere()):
            began_at = time.monotonic()
            done = index_some()
            if not done:
                return
            self.is_behind = done >= MESSAGES_AT_ONCE or is_any_unindexed()
            pause = (REST_ALONE if self._is_alone() else REST) * (time.monotonic() - began_at)
            if not self.is_behind:
                pause = max(pause, SETTLE_SECONDS)
            self._stopping.wait(pause)
