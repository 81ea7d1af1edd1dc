"""The process that runs background jobs; `realtime/worker/job_process.py` starts it."""

import os
import select
import signal
import sys
from contextlib import suppress
from socket import socket
from uuid import UUID

from chatapp.files import reading
from chatapp.realtime.worker.current import tell_server_of_lists
from chatapp.realtime.worker.jobs import Jobs

IDLE_SECONDS = 20.0
NICENESS = 5  # pages and replies come first


def main() -> None:
    """Run jobs until idle for a while, or until the server ends or closes the socket."""
    signal.signal(signal.SIGTERM, lambda *_: None)  # the server says when to stop
    os.nice(NICENESS)
    connection = socket(fileno=sys.stdin.fileno())

    def tell(user: int) -> None:
        with suppress(OSError):  # the server is gone
            connection.sendall(b"%d\n" % user)

    tell_server_of_lists(tell)
    jobs = Jobs(UUID(sys.argv[1]))
    jobs.start()
    while True:
        if select.select([connection], [], [], IDLE_SECONDS)[0]:
            if not connection.recv(4096):
                break
            jobs.look()
        elif jobs.is_idle:
            break
    jobs.stop()
    reading.shut_down()
