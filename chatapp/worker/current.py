"""The one worker of this process."""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from uuid import uuid4

from asgiref.sync import async_to_sync
from django.conf import settings

from chatapp.cluster import Alone, Heartbeat, LayerBus, NoHeartbeat, post_from_outside
from chatapp.cluster.messages import PeopleChanged
from chatapp.worker.process import Worker

_worker: Worker | None = None


def worker() -> Worker:
    """That which `begin_as` began, or one that nobody knows, made on the loop that asks first."""
    global _worker
    if _worker is None:
        _worker = Worker(Alone(uuid4()), NoHeartbeat())
    return _worker


def begin_as(heartbeat: Heartbeat) -> None:
    """Begins the process's worker, which the database knows by this heartbeat."""
    global _worker
    process = heartbeat.process
    bus = Alone(process.pk) if process.is_alone else LayerBus(process.pk)
    _worker = Worker(bus, heartbeat)
    _worker.begin()
    _worker.indexing.start()


def look_again_at(people: Collection[int] | None) -> None:
    """Tells every worker that something has changed about these people, or about anybody.

    May be called in any thread, and in a program that serves nobody.
    """
    if _worker is not None:
        _worker.look_again_at(people)
    elif settings.REDIS_URL and not _is_in_event_loop():
        changed = PeopleChanged(None if people is None else frozenset(people))
        async_to_sync(post_from_outside)(changed)


def has_to_delete() -> None:
    """Something is to be deleted that nobody finds any more: told from any thread, and in a program
    that serves nobody, which leaves it to the next hour of one that does."""
    if _worker is not None:
        _worker.has_to_delete()


def _is_in_event_loop() -> bool:
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        return True
    return False


async def shut_down(seconds: float, *, alone: bool = True) -> None:
    """Drains and forgets the process's worker; not `alone` where the others stop, too."""
    global _worker
    if _worker is not None:
        await _worker.drain(seconds, alone=alone)
        _worker = None
