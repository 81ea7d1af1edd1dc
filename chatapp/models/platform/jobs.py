"""Work that a process does in the background for one person, such as an import.

A job belongs to the process that runs it. If that process dies, stops, or is presumed dead, any
process takes the job up again, so its work is done in steps that may be repeated. A process that
has lost its job notices that when it reports progress or locks the job, and changes no more.

What runs a kind of job is registered in `chatapp.realtime.worker.jobs`.
"""

import uuid
from collections.abc import Collection
from typing import Self, TypeVar

from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone

from chatapp.models.accounts.users import User
from chatapp.models.platform.processes import Process

MAX_PROBLEM_LENGTH = 1000


class JobFailed(Exception):
    """Raised by a job that can't go on. The message is a sentence for its person."""


class JobLost(Exception):
    """Raised when the job was cancelled or deleted, or another process runs it."""


class JobState(models.TextChoices):
    WAITING = "waiting", "Waiting"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


UNENDED = (JobState.WAITING, JobState.RUNNING)


class Job(models.Model):
    """A kind of job derives from this."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="%(class)ss")
    state = models.CharField(max_length=9, choices=JobState, default=JobState.WAITING)
    is_cancelled = models.BooleanField(default=False, help_text="Its person asked to cancel it.")
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(default=0, help_text="0 if it isn't known.")
    problem = models.CharField(max_length=MAX_PROBLEM_LENGTH, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    # Not a foreign key: the rows of processes come and go.
    run_by = models.UUIDField(null=True, editable=False)

    class Meta:
        abstract = True
        ordering = ["-created_at", "pk"]
        indexes = [
            models.Index(
                fields=["created_at"],
                condition=Q(state__in=UNENDED),
                name="%(class)s_unended",
            )
        ]

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.pk}"

    @property
    def is_unended(self) -> bool:
        return self.state in UNENDED

    @property
    def percent(self) -> int | None:
        """The percentage that is done; None if nobody knows."""
        return min(100, 100 * self.done // self.total) if self.total else None

    @property
    def progress(self) -> dict[str, object]:
        """The answer to a page that shows the job, every second (static/js/jobs/progress.js)."""
        return {"percent": self.percent, "state": self.state, "has_ended": not self.is_unended}

    def advance(self, **fields: object) -> None:
        """Save `done`, `total` and these fields.

        Raises `JobLost` if this process must not go on. In a transaction it also locks the job.
        """
        own = self._own().filter(is_cancelled=False)
        if not own.update(done=self.done, total=self.total, **fields):
            raise JobLost

    def lock(self) -> None:
        """Lock the job for the rest of a transaction, so that no other process takes it up.

        Raises `JobLost` if one has, or if the job was cancelled.
        """
        if not self._own().filter(is_cancelled=False).select_for_update().first():
            raise JobLost

    def ask_to_cancel(self) -> bool:
        """End it now if it waits, soon if it runs; return whether it had not ended before."""
        with transaction.atomic():
            job = type(self)._default_manager.select_for_update().filter(pk=self.pk).first()
            if job is None or not job.is_unended:
                return False
            job.is_cancelled = True
            job.save(update_fields=["is_cancelled"])
            if job.state == JobState.WAITING:
                job.conclude(JobState.CANCELLED)
        return True

    def end(self, problem: str = "") -> None:
        """End it as done, as failed if there is a problem, or as cancelled if that was asked."""
        with transaction.atomic():
            job = self._own().select_for_update().first()
            if job is None:
                return
            state = JobState.FAILED if problem else JobState.DONE
            job.conclude(JobState.CANCELLED if job.is_cancelled else state, problem)

    def give_back(self) -> None:
        """Leave it to another process, or to this one after a restart."""
        self._own().update(state=JobState.WAITING, run_by=None)

    def after_end(self) -> None:
        """Do what a kind needs in the transaction in which it ends.

        It may store the job as waiting again, for example to undo its work.
        """

    def _own(self) -> models.QuerySet[Self]:
        own = type(self)._default_manager.filter(pk=self.pk, state=JobState.RUNNING)
        return own.filter(run_by=self.run_by)

    def conclude(self, state: JobState, problem: str = "") -> None:
        """Store that it has ended, in a transaction that has locked it."""
        self.state, self.problem = state, problem[:MAX_PROBLEM_LENGTH]
        self.ended_at, self.run_by = timezone.now(), None
        self.save(update_fields=["state", "problem", "ended_at", "run_by"])
        self.after_end()


J = TypeVar("J", bound=Job)


def find_free(
    kind: type[J], process: uuid.UUID, served: Collection[int] = ()
) -> models.QuerySet[J]:
    """Return the jobs that `process` may run: no other living process does.

    `served` are the people for whom it runs a job already.
    """
    owner = Process.objects.filter(pk=models.OuterRef("run_by"))
    is_left = Q(state=JobState.WAITING) | ~models.Exists(owner) | Q(run_by=process)
    unended = kind._default_manager.filter(state__in=UNENDED)
    return unended.filter(is_left).exclude(user__in=served).order_by("created_at", "pk")


def find_running(kind: type[J], process: uuid.UUID) -> models.QuerySet[J]:
    """Return the jobs that `process` runs."""
    return kind._default_manager.filter(state=JobState.RUNNING, run_by=process)


def claim(kind: type[J], process: uuid.UUID, served: Collection[int] = ()) -> J | None:
    """Make the oldest free job run in this process and return it, or None."""
    waiting = find_free(kind, process, served)
    if not waiting.exists():  # without a transaction, which on SQLite keeps others from writing
        return None
    with transaction.atomic():
        job = waiting.select_for_update(skip_locked=True, of=("self",)).first()
        if job is not None:
            job.state, job.run_by = JobState.RUNNING, process
            job.started_at = job.started_at or timezone.now()
            job.save(update_fields=["state", "run_by", "started_at"])
    return job
