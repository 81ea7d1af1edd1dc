"""The process that runs background jobs and indexes meanwhile; `job_process.py` in
`realtime/worker/` starts it."""

import os
import select
import signal
import sys
import time
from contextlib import suppress
from socket import socket
from uuid import UUID

from chatapp.reading import contents
from chatapp.realtime.worker.current import tell_server_of_lists
from chatapp.realtime.worker.indexing import Indexing
from chatapp.realtime.worker.job_process import NEW_JOB
from chatapp.realtime.worker.jobs import Jobs

IDLE_SECONDS = 20.0
NICENESS = 5  # pages and replies come first


def main() -> None:
    """Work until there has been no job for a while, or the server ends or closes the socket."""
    signal.signal(signal.SIGTERM, lambda *_: None)  # the server says when to stop
    os.nice(NICENESS)
    connection = socket(fileno=sys.stdin.fileno())

    def send_user(user: int) -> None:
        with suppress(OSError):  # the server is gone
            connection.sendall(b"%d\n" % user)

    tell_server_of_lists(send_user)
    jobs = Jobs(UUID(sys.argv[1]))
    indexing = Indexing(is_alone=lambda: jobs.is_idle)
    jobs.start()
    indexing.start()
    pass_news_on(connection, jobs, indexing)
    jobs.stop()
    indexing.stop()
    contents.shut_down()


def pass_news_on(connection: socket, jobs: Jobs, indexing: Indexing) -> None:
    """Pass the server's news on until there is no job for a while, or the socket is closed.

    Messages alone don't keep the process running, unless they are more than are indexed at once.
    """
    ends_at = time.monotonic() + IDLE_SECONDS
    while (left := ends_at - time.monotonic()) > 0:
        news = b""
        if select.select([connection], [], [], left)[0]:
            with suppress(ConnectionResetError):  # the server was killed before it read everything
                news = connection.recv(4096)
            if not news:
                return
            indexing.wake()
        if NEW_JOB in news:
            jobs.wake()
        if NEW_JOB in news or indexing.is_behind or not jobs.is_idle:
            ends_at = time.monotonic() + IDLE_SECONDS
