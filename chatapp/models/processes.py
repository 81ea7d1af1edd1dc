"""The serving processes of one installation, as the database knows them: who is alive, who died.

Every process renews its row by the database's own clock, so that no host's clock matters. A reply
names the process that streams it; where that process has no row any more, nobody streams it.
"""

import os
import socket
import uuid
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Self

from django.db import models
from django.db.models.functions import Now

LEASE_SECONDS = 4.0  # a process that was not seen for so long is dead


class ProcessQuerySet(models.QuerySet["Process"]):
    def alive(self) -> Self:
        return self.filter(seen_at__gt=Now() - timedelta(seconds=LEASE_SECONDS))

    def bury(self, by: "Process") -> None:
        """Forgets who was not seen for a lease, where `by` was seen just now.

        Call it only where the database has answered for that long: after it was away, nobody has
        been seen. A database that stood still with this statement on its way has not seen `by`.
        """
        witness = self.filter(pk=by.pk, seen_at__gt=Now() - timedelta(seconds=LEASE_SECONDS / 2))
        unseen = self.filter(seen_at__lte=Now() - timedelta(seconds=LEASE_SECONDS))
        unseen.filter(models.Exists(witness)).delete()

    def bury_those_that_died_here(self) -> None:
        """Forgets processes of this place whose number no process has any more."""
        here = self.filter(place=_place())
        gone = [process.pk for process in here if process.pid == os.getpid() or not process.runs]
        self.filter(pk__in=gone).delete()


class Process(models.Model):
    """One `manage.py serve`, for as long as it lives."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    place = models.CharField(max_length=300, help_text="The host, and where its pids count.")
    pid = models.PositiveIntegerField()
    is_alone = models.BooleanField(help_text="It hears no other process: REDIS_URL is not set.")
    seen_at = models.DateTimeField(db_default=Now())

    objects = models.Manager.from_queryset(ProcessQuerySet)()

    def __str__(self) -> str:
        return f"process {self.pid} on {self.place.partition(' ')[0]}"

    @classmethod
    def here(cls, *, is_alone: bool) -> "Process":
        """This process, not stored yet."""
        return cls(place=_place(), pid=os.getpid(), is_alone=is_alone)

    @property
    def runs(self) -> bool:
        """Whether a process of this one's place has its number."""
        with suppress(ProcessLookupError):
            with suppress(PermissionError):
                os.kill(self.pid, 0)
            return True
        return False

    def beat(self) -> bool:
        """Is seen now; returns whether others had buried it meanwhile."""
        if Process.objects.filter(pk=self.pk).update(seen_at=Now()):
            return False
        self.seen_at = Now()
        self.save(force_insert=True)
        return True


def _place() -> str:
    """The host's name, and the namespace that its process numbers are of where there is one."""
    namespace = ""
    with suppress(OSError):
        namespace = str(Path("/proc/self/ns/pid").readlink())
    return f"{socket.gethostname()} {namespace}"[:300]
