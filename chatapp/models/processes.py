"""The serving processes of one installation, as the database knows them: who is alive, who died.

Every process renews its row about once a second: that is its beat. What the row says of the time is
only ever compared with what it said before, so that no clock matters, neither a host's nor the
database's, which may be set while replies stream. How long a process has been silent is measured
by whoever looks, see `Silences`. A reply names the process that streams it; where that process has
no row any more, nobody streams it.
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

EXPIRY_SECONDS = 4.0  # of a heartbeat: a process that was not seen for so long is dead

Beats = Mapping[uuid.UUID, datetime]  # each process's last one, by its id


class Silences:
    """For how long each process has not beaten, by the one clock of whoever looks again and again.

    Moments are that clock's, in seconds.
    """

    def __init__(self) -> None:
        self._heard: dict[uuid.UUID, tuple[datetime, float]] = {}

    def dead(self, beats: Beats, now: float, since: float) -> Beats:
        """Those that were silent for too long, while the database answered since that moment."""
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
    def beats(self) -> Beats:
        return dict(self.values_list("pk", "seen_at"))

    def forget(self, dead: Beats) -> None:
        """Forgets these, but those that have beaten since, or do so now."""
        with transaction.atomic(self.db):
            found = self.filter(pk__in=dead).select_for_update(skip_locked=True)
            silent = [process.pk for process in found if process.seen_at == dead[process.pk]]
            self.filter(pk__in=silent).delete()

    def forget_those_that_died_here(self) -> None:
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
        """Is seen now; returns whether others had forgotten it meanwhile."""
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
