"""Runs background jobs in the process for jobs (job_process.py).

The code that runs a kind of job is in a higher layer and registers itself. It is a generator that
yields after each step of at most a few hundredths of a second, and while it waits. The generator is
closed when the process stops, when the job is cancelled, when its person is deactivated, or when
another process has taken it up.

Each job has its own thread, and only one job per person runs at a time, so no one's jobs hold up
anyone else's.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import (
    DEFAULT_DB_ALIAS,
    Error,
    InterfaceError,
    OperationalError,
    connection,
    connections,
)

from chatapp.concurrency.turns import served_person
from chatapp.db.connections import unpooled_connection
from chatapp.models import User
from chatapp.models.platform.jobs import Job, JobFailed, JobLost, claim

logger = logging.getLogger(__name__)

AT_ONCE = 8  # people whose jobs run
POLL_SECONDS = 5.0  # between checks for jobs that other processes left
# Between checks whether the job was cancelled or lost, or its person deactivated; they save the
# progress.
SAVE_SECONDS = 0.5
STOP_SECONDS = 10.0
BROKEN = "Something went wrong on the server. Try again, or tell your administrator."
DEACTIVATED = "The account was deactivated."

Steps = Callable[[Any], Iterator[None]]
kinds: dict[type[Job], Steps] = {}


def register(kind: type[Job], steps: Steps) -> None:
    """Run jobs of this kind by `steps(job)`, which may raise `JobFailed` with a sentence."""
    kinds[kind] = steps


class Jobs:
    """Runs jobs in the name of a server process, from `start` to `stop`."""

    def __init__(self, process: UUID) -> None:
        self._process = process
        self._running: dict[UUID, Job] = {}
        self._one_claims = threading.Lock()
        self._has_news = threading.Condition()
        self._news = 0
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        self._start_thread(self._begin_jobs)

    def wake(self) -> None:
        """Begin a new job soon, if there is one. Thread-safe."""
        with self._has_news:
            self._news += 1
            self._has_news.notify_all()

    def stop(self) -> None:
        """Stop after the steps that are running, and leave unfinished jobs to other processes."""
        self._stopping.set()
        self.wake()
        until = time.monotonic() + STOP_SECONDS
        # The thread that begins jobs comes first, and may just have started another.
        while threads := [thread for thread in self._threads if thread.is_alive()]:
            if (seconds := until - time.monotonic()) <= 0:
                break
            threads[0].join(seconds)

    @property
    def is_idle(self) -> bool:
        return not self._running

    def run_all(self) -> None:
        """Run all jobs that are free, in this thread."""
        while job := self._claim():
            try:
                self._run_job(job)
            finally:
                del self._running[job.pk]

    def _begin_jobs(self) -> None:
        while not self._stopping.is_set():
            seen_news = self._news
            try:
                while len(self._running) < AT_ONCE and (job := self._claim()):
                    self._start_thread(partial(self._work, job))
            except Error as error:
                logger.info("Background jobs wait for the database: %s", error)
            except Exception:  # later jobs must begin, too
                logger.exception("Beginning background jobs failed")
            connection.close()
            with self._has_news:
                self._has_news.wait_for(lambda: self._news != seen_news, POLL_SECONDS)  # noqa: B023 - called at once

    def _start_thread(self, work: Callable[[], None]) -> None:
        def run() -> None:
            connections[DEFAULT_DB_ALIAS] = unpooled_connection(settings.DATABASES)
            try:
                work()
            finally:
                connection.close()

        self._threads = [thread for thread in self._threads if thread.is_alive()]
        self._threads.append(threading.Thread(target=run, name="job", daemon=True))
        self._threads[-1].start()

    def _work(self, job: Job) -> None:
        served_person.set(job.user_id)
        try:
            self._run_job(job)
        except Error as error:
            logger.info("A background job waits for the database: %s", error)
            del self._running[job.pk]
        except Exception:  # the job is tried again, and others take their turn
            logger.exception("Running a background job failed")
            del self._running[job.pk]
        else:
            del self._running[job.pk]
            self.wake()  # for this person's next job

    def _claim(self) -> Job | None:
        with self._one_claims:
            people = {job.user_id for job in list(self._running.values())}
            # Read after `people`: a job that was given back must not be claimed again.
            if self._stopping.is_set():
                return None
            for kind in list(kinds):
                if job := claim(kind, self._process, people):
                    self._running[job.pk] = job
                    kinds[kind] = kinds.pop(kind)  # the other kinds come first next time
                    return job
        return None

    def _run_job(self, job: Job) -> None:
        steps = kinds[type(job)](job)
        try:
            if self._run_steps(job, steps):
                job.end()
            else:
                job.give_back()
        except JobLost:
            job.end()  # as cancelled, if it is still this process's
        except JobFailed as failed:
            job.end(problem=str(failed))
        except (OperationalError, InterfaceError):
            raise  # the job stays this process's, which takes it up again
        except Exception:  # steps do anything, and the person must learn that they failed
            logger.exception("A background job failed: %s", job)
            job.end(problem=BROKEN)

    def _run_steps(self, job: Job, steps: Iterator[None]) -> bool:
        """Take the steps one by one; return whether they have all been taken."""
        saved_at = float("-inf")
        try:
            for _ in steps:
                now = time.monotonic()
                if now - saved_at > SAVE_SECONDS:
                    job.advance()
                    check_person(job)
                    saved_at = now
                if self._stopping.is_set():
                    return False
            job.advance()
        finally:
            if close := getattr(steps, "close", None):
                close()
        return True


def check_person(job: Job) -> None:
    """Raise `JobFailed` if the person whose job it is has been deactivated."""
    if not User.objects.filter(pk=job.user_id, is_active=True).exists():
        raise JobFailed(DEACTIVATED)
