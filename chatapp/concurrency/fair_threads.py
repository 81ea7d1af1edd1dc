"""Threads that serve people in turn, so that nobody's many or long jobs keep others waiting."""

import heapq
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable
from itertools import count
from typing import Any

from chatapp.concurrency.token_bucket import TokenBuckets

logger = logging.getLogger(__name__)

BUDGET_POLL_SECONDS = 1.0  # for people whose budget was used up

Job = Callable[[], object]


class FairThreads:
    """A pool of threads that runs `each` jobs of a person at a time, the smallest ones first.

    `budgets` has the seconds that each person's jobs may take, if that is limited. Someone who has
    used theirs up waits until there are some again, even if a thread is free.
    """

    def __init__(
        self, number: int, name: str, budgets: TokenBuckets | None = None, each: int = 1
    ) -> None:
        self._number, self._name, self._budgets, self._each = number, name, budgets, each
        self._changed = threading.Condition()
        self._order = count()
        # Jobs as (size, order, job), of people in the order of their turns.
        self._waiting: dict[Hashable, list[tuple[int, int, Job]]] = {}
        self._running: Counter[Hashable] = Counter()  # jobs of each person
        self._threads: list[threading.Thread] = []
        self._idle: set[int] = set()  # threads for which there was no job
        self._is_stopped = False

    def submit(self, person: Hashable, size: int, job: Job) -> bool:
        """Run a job soon; return whether it waits for the person's other jobs."""
        with self._changed:
            waits = person in self._waiting or not self._may_begin(person)
            heapq.heappush(self._waiting.setdefault(person, []), (size, next(self._order), job))
            if self._idle:
                self._idle.pop()
            elif len(self._threads) < self._number and not self._is_stopped:
                name = f"{self._name}_{len(self._threads)}"
                self._threads.append(
                    threading.Thread(target=self._run_jobs, name=name, daemon=True)
                )
                self._threads[-1].start()
            self._changed.notify()
        return waits

    def stop(self) -> None:
        """Begin no more jobs. Does not wait for those that run."""
        with self._changed:
            self._is_stopped = True
            self._waiting.clear()
            self._changed.notify_all()

    def _run_jobs(self) -> None:
        while next_job := self._wait_for_job():
            person, job = next_job
            began_at = time.monotonic()
            try:
                job()
            except Exception:  # this thread runs the jobs of others, too
                logger.exception("A job failed")
            with self._changed:
                self._running[person] -= 1
                if not self._running[person]:
                    del self._running[person]
                if self._budgets is not None:
                    self._budgets[person].take(time.monotonic() - began_at)
                self._changed.notify_all()

    def _wait_for_job(self) -> tuple[Any, Job] | None:
        """Wait for a job and return it with its person; None at the end."""
        with self._changed:
            while not self._is_stopped:
                for person in self._waiting:
                    if self._may_begin(person):
                        self._idle.discard(threading.get_ident())
                        return person, self._pop_job(person)
                if not self._waiting:
                    self._idle.add(threading.get_ident())
                self._changed.wait(BUDGET_POLL_SECONDS if self._waiting else None)
        return None

    def _may_begin(self, person: Any) -> bool:
        has_time = self._budgets is None or self._budgets[person].has(0)
        return has_time and self._running[person] < self._each

    def _pop_job(self, person: Hashable) -> Job:
        """Begin the person's smallest job; the next turn is everybody else's."""
        jobs = self._waiting.pop(person)
        _, _, job = heapq.heappop(jobs)
        if jobs:
            self._waiting[person] = jobs
        self._running[person] += 1
        return job
