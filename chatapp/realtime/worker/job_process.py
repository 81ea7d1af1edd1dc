"""Starts the process that runs background jobs, so that they don't delay the event loop here.

The process starts when there is a job, and ends when there has been none for a while. Meanwhile it
also indexes for search, because an import can add very many messages. Its standard input is a
socket: it gets a byte when there may be a new job or new messages, and stops if the socket is
closed. In return it sends the ids of people whose lists of conversations changed, one per line.
`chatapp.management.job_runner` is its side.
"""

import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from socket import MSG_DONTWAIT, SHUT_RDWR, SHUT_WR, socket, socketpair
from uuid import UUID

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connection, connections

from chatapp.db.connections import unpooled_connection
from chatapp.models.platform.jobs import find_free, find_running
from chatapp.realtime.worker.jobs import BROKEN, POLL_SECONDS, STOP_SECONDS, kinds

logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parent.parent.parent.parent
START = "import django; django.setup(); from chatapp.management.job_runner import main; main()"
NEW_JOB, NEW_MESSAGES = b"j", b"m"
GRACE_SECONDS = 2.0  # on top of the time in which the process stops, before it is killed


class JobProcess:
    """A thread that keeps the process running while there are jobs, from `start` to `stop`."""

    def __init__(
        self, server: UUID, list_changed: Callable[[int], None], has_ended: Callable[[], None]
    ) -> None:
        self._server = server
        self._list_changed = list_changed
        self._has_ended = has_ended  # called when the process has ended, which indexes no more
        self._changes = threading.Condition()
        self._news = 0
        self._is_stopping = False
        self._connection: socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Start a new job soon, if there is one. Thread-safe."""
        with self._changes:
            self._news += 1
            self._changes.notify_all()
            self._send(NEW_JOB)

    def index(self) -> bool:
        """Index new messages soon, if the process runs; return whether it does. Thread-safe."""
        with self._changes:
            return self._send(NEW_MESSAGES)

    def stop(self) -> None:
        """Stop after the steps that are running, and leave unfinished jobs to other processes."""
        with self._changes:
            self._is_stopping = True
            self._changes.notify_all()
            if self._connection:
                with suppress(OSError):
                    self._connection.shutdown(SHUT_WR)
        if self._thread:
            self._thread.join(STOP_SECONDS + GRACE_SECONDS)
            if self._thread.is_alive() and self._process:
                self._process.kill()

    def _send(self, news: bytes) -> bool:
        if self._connection:
            with suppress(OSError):  # it has just ended, or has much to read already
                self._connection.send(news, MSG_DONTWAIT)
        return self._connection is not None

    def _run(self) -> None:
        connections[DEFAULT_DB_ALIAS] = unpooled_connection(settings.DATABASES)
        while not self._is_stopping:
            seen_news = self._news
            try:
                if any(find_free(kind, self._server).exists() for kind in kinds):
                    self._run_process()
            except Error as error:
                logger.info("Background jobs wait for the database: %s", error)
            except Exception:  # later jobs need a process, too
                logger.exception("The process for background jobs failed")
            connection.close()
            with self._changes:
                self._changes.wait_for(
                    lambda: self._is_stopping or self._news != seen_news,  # noqa: B023 - called at once
                    POLL_SECONDS,
                )

    def _run_process(self) -> None:
        """Start the process, and wait until it ends."""
        ours, theirs = socketpair()
        with ours, ours.makefile("rb") as lines:
            with theirs:
                self._process = _start_process(theirs, self._server)
            with self._changes:
                self._connection = ours
                if self._is_stopping:
                    ours.shutdown(SHUT_WR)
            logger.info("Background jobs run in process %d", self._process.pid)
            try:
                with suppress(ConnectionResetError):  # it ended before it read everything
                    for line in lines:
                        self._list_changed(int(line))
            finally:
                with self._changes:
                    self._connection = None
                ours.shutdown(SHUT_RDWR)
                code = self._process.wait()
                self._has_ended()
        if code and not self._is_stopping:
            self._fail(code)

    def _fail(self, code: int) -> None:
        """End the jobs that were running: they may have been too large for the server's memory."""
        logger.error("The process for background jobs ended with %d", code)
        for kind in kinds:
            for job in find_running(kind, self._server):
                job.end(problem=BROKEN)


def _start_process(connection: socket, server: UUID) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-c", START, str(server)],
        cwd=ROOT,
        stdin=connection.fileno(),
        start_new_session=True,  # Ctrl-C is for the server only
    )
