"""What was written becomes found, about a second later, and what was there before searches were.

In a thread of its own, so that no turn waits for it. The database knows what is still to be done:
whatever is missed here, in a crash or by another worker, is done at the next look.
"""

import logging
import threading
import time

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connection, connections

from chatapp.models import index_some
from chatapp.models.connections import unpooled_connection
from chatapp.models.search_entries import MESSAGES_AT_ONCE

logger = logging.getLogger(__name__)

LOOK_SECONDS = 10.0  # between looks where this worker has heard of nothing new
SETTLE_SECONDS = 0.5  # in which more may come that is done at once
REST = 4  # times as long as the work took: very many old messages leave the streams their CPU
STOP_SECONDS = 5.0


class Indexing:
    """Works from `start` to `stop`."""

    def __init__(self) -> None:
        self._has_news = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="indexing", daemon=True)
        self._thread.start()

    def look(self) -> None:
        """There is something new to be found."""
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
                logger.info("Searches find what is new when the database is back: %s", error)
                connection.close()
            except Exception:  # whatever is wrong with one text, those after it are indexed
                logger.exception("What is new could not be made found")
            self._has_news.wait(LOOK_SECONDS)
            self._stopping.wait(SETTLE_SECONDS)
            self._has_news.clear()
        connection.close()

    def _index_all(self) -> None:
        while not self._stopping.is_set():
            began_at = time.monotonic()
            if not (done := index_some()):
                return
            rest = REST * (time.monotonic() - began_at)
            if done < MESSAGES_AT_ONCE:  # no more was there, as it seems
                rest = max(rest, SETTLE_SECONDS)
            self._stopping.wait(rest)
