"""Holds the single worker of this process."""

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from uuid import uuid4

from asgiref.sync import async_to_sync
from django.conf import settings

from chatapp.models import Process
from chatapp.realtime.cluster import Bus, Heartbeat, NullBus, NullHeartbeat
from chatapp.realtime.cluster.messages import PeopleChanged
from chatapp.realtime.worker.process import Worker

_worker: Worker | None = None
_tell_server: Callable[[int], None] | None = None  # in the process for jobs


def worker() -> Worker:
    """Return this process's worker.

    Without a prior `begin_as`, the first call creates one that other processes don't know of.
    """
    global _worker
    if _worker is None:
        _worker = Worker(NullBus(uuid4()), NullHeartbeat())
    return _worker


def start_worker(heartbeat: Heartbeat) -> None:
    """Start the process's worker, registered in the database under this heartbeat."""
    global _worker
    process = heartbeat.process
    _worker = Worker(_bus(process), heartbeat)
    _worker.begin()
    _worker.indexing.start()
    _worker.jobs.start()


def _bus(process: Process) -> Bus:
    if process.is_alone:
        return NullBus(process.pk)
    from chatapp.realtime.cluster.layer import LayerBus

    return LayerBus(process.pk)


def recheck_access(people: Collection[int] | None) -> None:
    """Make every worker recheck the sessions of these people; None means everybody.

    Thread-safe. Also works in a process without a worker, such as a management command.
    """
    if _worker is not None:
        _worker.recheck_access(people)
    elif settings.REDIS_URL and not _is_in_event_loop():
        from chatapp.realtime.cluster.layer import post_from_outside

        changed = PeopleChanged(None if people is None else frozenset(people))
        async_to_sync(post_from_outside)(changed)


def schedule_purge() -> None:
    """Start housekeeping soon, because something is waiting to be purged.

    Thread-safe. In a process without a worker it does nothing: the hourly housekeeping of a
    server process does the work.
    """
    if _worker is not None:
        _worker.schedule_purge()


def tell_server_of_lists(tell: Callable[[int], None]) -> None:
    """Let `list_changed` call this, in a process without a worker."""
    global _tell_server
    _tell_server = tell


def list_changed(user: int) -> None:
    """Refresh the person's conversation lists in every worker. Thread-safe.

    Also works in the process for jobs.
    """
    if _tell_server is not None:
        _tell_server(user)
    else:
        worker().list_changed(user)


def _is_in_event_loop() -> bool:
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        return True
    return False


async def shut_down(seconds: float, *, alone: bool = True) -> None:
    """Drain and drop the process's worker. Pass `alone=False` if the others are stopping too."""
    global _worker
    if _worker is not None:
        await _worker.drain(seconds, alone=alone)
        _worker = None
