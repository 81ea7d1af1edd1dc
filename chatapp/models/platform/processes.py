"""The serving processes of an installation: which are alive and which have died.

Every process updates its row about once a second: its heartbeat. A heartbeat's time is only ever
compared with earlier ones of the same process, because the clock of a host or of the database may
be set while replies stream. The observer measures by its own clock how long a process has been
silent, see `HeartbeatMonitor`. A reply names the process that streams it; if that process has no
row any more, nobody streams it.
"""

import os
import socket
import uuid
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from django.db import models, transaction
from django.db.models.functions import Now

EXPIRY_SECONDS = 4.0  # without a heartbeat, after which a process counts as dead

Heartbeats = Mapping[uuid.UUID, datetime]  # the last heartbeat of each process, by its id


class HeartbeatMonitor:
    """Measures the silence of each process, by the monotonic clock of one observer.

    Moments are seconds of that clock.
    """

    def __init__(self) -> None:
        self._heard: dict[uuid.UUID, tuple[datetime, float]] = {}

    def find_dead(self, beats: Heartbeats, now: float, since: float) -> Heartbeats:
        """Return the processes that were silent for too long while the database was answering.

        `since` is the moment from which on it has been answering.
        """
        for process in self._heard.keys() - beats.keys():
            del self._heard[process]
        for process, beat in beats.items():
            if process not in self._heard or self._heard[process][0] != beat:
                self._heard[process] = beat, now
        return {
            process: beat
            for process, (beat, heard_at) in self._heard.items()
            if now - max(heard_at, since) > EXPIRY_SECONDS
        }


class ProcessQuerySet(models.QuerySet["Process"]):
    def read_heartbeats(self) -> Heartbeats:
        return dict(self.values_list("pk", "seen_at"))

    def forget(self, dead: Heartbeats) -> None:
        """Delete the rows of these processes, except those that have sent a heartbeat since."""
        with transaction.atomic(self.db):
            processes = self.filter(pk__in=dead).select_for_update(skip_locked=True)
            silent = [process.pk for process in processes if process.seen_at == dead[process.pk]]
            self.filter(pk__in=silent).delete()

    def forget_dead_on_this_host(self) -> None:
        """Delete the rows of processes of this host and namespace whose pid no longer exists."""
        local_processes = self.filter(place=_describe_host())
        dead_keys = [
            process.pk
            for process in local_processes
            if process.pid == os.getpid() or not process.runs
        ]
        self.filter(pk__in=dead_keys).delete()


class Process(models.Model):
    """A running `manage.py serve`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    place = models.CharField(
        max_length=300, help_text="The host, and the namespace of its process ids."
    )
    pid = models.PositiveIntegerField()
    is_alone = models.BooleanField(
        help_text="It cannot reach other processes, since REDIS_URL is not set."
    )
    seen_at = models.DateTimeField(db_default=Now())

    objects = models.Manager.from_queryset(ProcessQuerySet)()

    def __str__(self) -> str:
        return f"process {self.pid} on {self.place.partition(' ')[0]}"

    @classmethod
    def current(cls, *, is_alone: bool) -> "Process":
        """Return a row for this process, not stored yet."""
        return cls(place=_describe_host(), pid=os.getpid(), is_alone=is_alone)

    @property
    def runs(self) -> bool:
        """Whether a process with this pid exists in this host and namespace."""
        with suppress(ProcessLookupError):
            with suppress(PermissionError):
                os.kill(self.pid, 0)
            return True
        return False

    def record_heartbeat(self) -> bool:
        """Record a heartbeat; return whether others had deleted the row meanwhile."""
        if Process.objects.filter(pk=self.pk).update(seen_at=Now()):
            return False
        self.seen_at = Now()
        self.save(force_insert=True)
        return True


def _describe_host() -> str:
    """Return the host's name and its pid namespace, if it has one."""
    namespace = ""
    with suppress(OSError):
        namespace = str(Path("/proc/self/ns/pid").readlink())
    return f"{socket.gethostname()} {namespace}"[:300]
