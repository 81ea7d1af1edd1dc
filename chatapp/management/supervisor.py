"""Run several serving processes: start them, restart one that dies, stop them together.

They are forks of this process, which does nothing else, so that they share the memory of what it
imported. It must have no threads, no event loop and no database connection, because none of these
survives a fork.
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

from chatapp.server.listeners import Listeners

logger = logging.getLogger(__name__)

RESTART_SECONDS = 1.0  # before restarting a process that ended before it served
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
AWAITED_SIGNALS = (*STOP_SIGNALS, signal.SIGCHLD)
SERVING_MESSAGE = b"1"


@dataclass(frozen=True)
class WorkerSlot:
    """The inputs of a serving process, whether it has a supervisor or is the only one."""

    listeners: Listeners
    is_first: bool = True  # the first process that was ever started
    supervisor: socket.socket | None = None  # readable when the supervisor is gone

    def notify_supervisor(self) -> None:
        """Tell the supervisor that this process is serving; call it once."""
        if self.supervisor:
            self.supervisor.send(SERVING_MESSAGE)


class Supervisor:
    """Runs one process for each of the `listeners`."""

    def __init__(self, listeners: Sequence[Listeners]) -> None:
        self._listeners = list(listeners)
        self._unserved = list(listeners)
        self._processes: dict[int, tuple[Listeners, socket.socket]] = {}
        self._is_stopping = False
        self._has_started = False
        self.has_failed = False  # whether no process could start

    def slot(self) -> WorkerSlot | None:
        """Return a `WorkerSlot` in each forked process, and None in this one once all ended."""
        gc.collect()
        gc.freeze()  # otherwise garbage collection would write to shared memory pages
        sys.stdout.flush()
        # Blocked and waited for: a handler could run just before the wait, which would then hang.
        signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED_SIGNALS)
        is_first = True
        while self._unserved or self._processes:
            while self._unserved:
                if slot := self._fork(self._unserved.pop(0), is_first):
                    return slot
                is_first = False
            if signal.sigwait(AWAITED_SIGNALS) in STOP_SIGNALS:
                self._stop()
            self._reap()
        return None

    def _fork(self, listeners: Listeners, is_first: bool) -> WorkerSlot | None:
        ours, theirs = socket.socketpair()
        if pid := os.fork():
            theirs.close()
            self._processes[pid] = listeners, ours
            return None
        ours.close()
        self._become_child(listeners)
        return WorkerSlot(listeners, is_first, theirs)

    def _become_child(self, listeners: Listeners) -> None:
        # The supervisor handles Ctrl-C and passes it on.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED_SIGNALS)
        for _, connection in self._processes.values():
            connection.close()
        for others in self._listeners:
            if others is not listeners:
                others.close()

    def _reap(self) -> None:
        while self._processes and (ended := os.waitpid(-1, os.WNOHANG))[0]:
            # In a container this may be process 1, which also inherits orphans of others.
            if ended[0] in self._processes:
                self._replace(*ended)

    def _replace(self, pid: int, status: int) -> None:
        listeners, connection = self._processes.pop(pid)
        with connection:
            did_serve = connection.recv(1) == SERVING_MESSAGE
        self._has_started |= did_serve
        if self._is_stopping:
            return
        if not self._has_started:  # another would fail too; it has logged why
            self.has_failed = True
            self._stop()
            return
        ending = os.waitstatus_to_exitcode(status)
        logger.error("Process %d exited with %d; starting another", pid, ending)
        if not did_serve:
            time.sleep(RESTART_SECONDS)
        self._unserved.append(listeners)

    def _stop(self) -> None:
        """Pass the signal on: each process drains at the first, and stops at once at the second."""
        self._is_stopping = True
        self._unserved.clear()
        for listeners in self._listeners:
            listeners.close()
        for pid in self._processes:
            os.kill(pid, signal.SIGTERM)
