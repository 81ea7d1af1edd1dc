"""Several serving processes as one program: started, started again where one dies, stopped at once.

They are forks of this process, which does nothing else, and so share its memory: what it imported
is there once for all. It must have no thread, no event loop and no connection to the database, none
of which survives a fork.
"""

import gc
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from chatapp.server.listening import Doors

logger = logging.getLogger(__name__)

AGAIN_SECONDS = 1.0  # after a process that ended before it served
STOPS = (signal.SIGTERM, signal.SIGINT)
AWAITED = (*STOPS, signal.SIGCHLD)
SERVES = b"1"


@dataclass(frozen=True)
class Post:
    """What a process that serves is given: of a supervisor's, or the only one."""

    doors: Doors
    is_first: bool = True  # that was ever started
    supervisor: socket.socket | None = None  # closes when the supervisor is gone

    def serves(self) -> None:
        """To be told once it does."""
        if self.supervisor:
            self.supervisor.send(SERVES)


class Supervisor:
    """Of one process for each of the doors."""

    def __init__(self, doors: Sequence[Doors]) -> None:
        self._doors = list(doors)
        self._unserved = list(doors)
        self._processes: dict[int, tuple[Doors, socket.socket]] = {}
        self._is_stopping = False
        self._has_started = False
        self.has_failed = False  # to start

    def post(self) -> Post | None:
        """Returns in each process that it forks; and None in this one, when all have ended."""
        gc.collect()
        gc.freeze()  # or each process's collector would write to what they share
        sys.stdout.flush()
        # Awaited and not handled: one that came just before a wait would be handled after it.
        signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
        is_first = True
        while self._unserved or self._processes:
            while self._unserved:
                if post := self._forked(self._unserved.pop(0), is_first):
                    return post
                is_first = False
            if signal.sigwait(AWAITED) in STOPS:
                self._stop()
            self._see_who_ended()
        return None

    def _forked(self, doors: Doors, is_first: bool) -> Post | None:
        ours, theirs = socket.socketpair()
        if pid := os.fork():
            theirs.close()
            self._processes[pid] = doors, ours
            return None
        ours.close()
        self._become_child(doors)
        return Post(doors, is_first, theirs)

    def _become_child(self, doors: Doors) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the supervisor's, who passes it on
        signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)
        for _, connection in self._processes.values():
            connection.close()
        for others in self._doors:
            if others is not doors:
                others.close()

    def _see_who_ended(self) -> None:
        while self._processes and (ended := os.waitpid(-1, os.WNOHANG))[0]:
            # In a container orphans of others come to the first process, too.
            if ended[0] in self._processes:
                self._replace(*ended)

    def _replace(self, pid: int, status: int) -> None:
        doors, connection = self._processes.pop(pid)
        with connection:
            did_serve = connection.recv(1) == SERVES
        self._has_started |= did_serve
        if self._is_stopping:
            return
        if not self._has_started:  # nor would another: it has said why
            self.has_failed = True
            self._stop()
            return
        ending = os.waitstatus_to_exitcode(status)
        logger.error("Process %d ended with %d; another one takes its place", pid, ending)
        if not did_serve:
            time.sleep(AGAIN_SECONDS)
        self._unserved.append(doors)

    def _stop(self) -> None:
        """The first signal drains, a second one does not wait: each process has it so."""
        self._is_stopping = True
        self._unserved.clear()
        for doors in self._doors:
            doors.close()
        for pid in self._processes:
            os.kill(pid, signal.SIGTERM)
