"""The pool of worker processes, each with a thread here that waits for it.

Requests and answers are bytes; a request's future raises `RenderSkipped` if there is no answer.
Processes start when needed, as new processes and not as forks, so that they inherit nothing from
this one.

Not `concurrent.futures` or pebble: their processes inherit the environment, which holds secrets.
"""

import logging
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from socket import socketpair

from chatapp.concurrency.fair_threads import FairThreads
from chatapp.concurrency.futures import fulfil
from chatapp.concurrency.turns import served_person
from chatapp.rendering.pool.jobs import receive, send
from chatapp.rendering.pool.worker import SECONDS_A_REQUEST

logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parent.parent.parent.parent
START = "from chatapp.rendering.pool.worker import main; main()"
GRACE_SECONDS = 2.0  # on top of the time limit, before a worker is killed


class RenderSkipped(Exception):
    """A request was not answered."""


class PoolBusy(RenderSkipped):
    """The request was not started in time; it may work later."""


class Pool:
    """A pool of at most `size` worker processes, which serves people in turn.

    One person's texts leave a worker for others, as each may take long.
    """

    def __init__(self, size: int) -> None:
        self._threads = FairThreads(size, "rendering", each=max(1, size - 1))
        self._unanswered: set[Future[bytes]] = set()
        self._mine = threading.local()
        self._workers: set[_Worker] = set()
        self._is_closed = False

    def submit(self, request: bytes, patience: float) -> Future[bytes]:
        """Queue a request, which may wait `patience` seconds for its turn."""
        answer: Future[bytes] = Future()
        if self._is_closed:
            answer.set_exception(PoolBusy())
            return answer
        self._unanswered.add(answer)
        answer.add_done_callback(self._unanswered.discard)
        make = partial(self._answer, request, time.monotonic() + patience)
        self._threads.submit(served_person.get(), len(request), partial(fulfil, answer, make))
        return answer

    @property
    def pids(self) -> list[int]:
        return [worker.pid for worker in list(self._workers)]

    def close(self) -> None:
        """Start nothing more, and abort running requests."""
        self._is_closed = True
        self._threads.stop()
        for answer in list(self._unanswered):
            answer.cancel()  # unless it is being made
        for worker in list(self._workers):
            worker.kill()

    def _answer(self, request: bytes, give_up_at: float) -> bytes:
        if self._is_closed or time.monotonic() > give_up_at:
            raise PoolBusy
        worker = self._living_worker()
        try:
            return worker.answer(request)
        except (OSError, EOFError) as error:
            self._discard_worker(worker)
            if self._is_closed:
                raise PoolBusy from error
            logger.warning("Could not render a text: %r, %s", error, worker.fate)
            raise RenderSkipped from error

    def _living_worker(self) -> "_Worker":
        """Return this thread's worker, started if needed. Raises `PoolBusy` if that fails."""
        worker: _Worker | None = getattr(self._mine, "worker", None)
        if worker and not worker.has_ended:
            return worker
        if worker:
            self._discard_worker(worker)
        try:
            worker = self._mine.worker = _Worker()
        except OSError as error:  # such as at the limit of processes
            logger.warning("Could not start a process to render a text: %s", error)
            raise PoolBusy from error
        self._workers.add(worker)
        return worker

    def _discard_worker(self, worker: "_Worker") -> None:
        self._mine.worker = None
        worker.kill()
        self._workers.discard(worker)


class _Worker:
    """This process's handle of a worker process."""

    def __init__(self) -> None:
        self._connection, theirs = socketpair()
        self._connection.settimeout(SECONDS_A_REQUEST + GRACE_SECONDS)
        with theirs:
            try:
                self._process = _start_process(theirs.fileno())
            except OSError:
                self._connection.close()
                raise
        self.pid = self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone: it was idle for long, or was killed."""
        return self._process.poll() is not None

    @property
    def fate(self) -> str:
        return f"its process ended with {self._process.returncode}"

    def answer(self, request: bytes) -> bytes:
        send(self._connection, request)
        return receive(self._connection)

    def kill(self) -> None:
        self._process.kill()
        self._connection.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_SECONDS)


def _start_process(connection: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-B", "-c", START],
        cwd=ROOT,
        env={},  # ours holds secrets
        stdin=connection,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the server only
    )
