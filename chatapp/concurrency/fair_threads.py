"""Threads that serve people in turn, so that nobody's many or long jobs keep others waiting."""

import heapq
import logging
import threading
import time
from collections.abc import Callable
from itertools import count

from chatapp.concurrency.token_bucket import TokenBuckets

logger = logging.getLogger(__name__)

LOOK_AGAIN_SECONDS = 1.0  # for people whose budget was used up

Job = Callable[[], object]


class FairThreads:
    """A pool of threads that runs one job of a person at a time, the smallest one first.

    `budgets` has the seconds that each person's jobs may take, if that is limited. Someone who has
    used theirs up waits until there are some again, even if a thread is free.
    """

    def __init__(self, number: int, name: str, budgets: TokenBuckets | None = None) -> None:
        self._number, self._name, self._budgets = number, name, budgets
        self._changed = threading.Condition()
        self._order = count()
        # Jobs as (size, order, job), of people in the order of their turns.
        self._waiting: dict[int, list[tuple[int, int, Job]]] = {}
        self._busy: set[int] = set()  # the people whose jobs are running
        self._threads: list[threading.Thread] = []
        self._is_stopped = False

    def submit(self, person: int, size: int, job: Job) -> bool:
        """Run a job soon; return whether it waits for the person's other jobs."""
        with self._changed:
            waits = person in self._busy or person in self._waiting
            waits = waits or not self._has_time(person)
            heapq.heappush(self._waiting.setdefault(person, []), (size, next(self._order), job))
            if len(self._threads) < self._number and not self._is_stopped:
                name = f"{self._name}_{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
                self._threads[-1].start()
            self._changed.notify()
        return waits

    def stop(self) -> None:
        """Begin no more jobs. Does not wait for those that run."""
        with self._changed:
            self._is_stopped = True
            self._waiting.clear()
            self._changed.notify_all()

    def _work(self) -> None:
        while taken := self._take():
            person, job = taken
            began_at = time.monotonic()
            try:
                job()
            except Exception:
                logger.exception("A job failed")
            with self._changed:
                self._busy.discard(person)
                if self._budgets is not None:
                    self._budgets[person].take(time.monotonic() - began_at)
                self._changed.notify_all()

    def _take(self) -> tuple[int, Job] | None:
        """Wait for a job and return it with its person; None at the end."""
        with self._changed:
            while not self._is_stopped:
                for person in self._waiting:
                    if person not in self._busy and self._has_time(person):
                        return person, self._pop(person)
                self._changed.wait(LOOK_AGAIN_SECONDS if self._waiting else None)
        return None

    def _has_time(self, person: int) -> bool:
        return self._budgets is None or self._budgets[person].has(0)

    def _pop(self, person: int) -> Job:
        """Begin the person's smallest job; the next turn is everybody else's."""
        jobs = self._waiting.pop(person)
        _, _, job = heapq.heappop(jobs)
        if jobs:
            self._waiting[person] = jobs
        self._busy.add(person)
        return job
