"""Bounds of time that mean the same on every machine, and at every hour of a shared one."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

COUNTED = 2_000_000


def seconds_to_count(to: int) -> float:
    """How long this machine would count now, of CPU time."""
    began_at = time.thread_time()
    for _ in range(COUNTED):
        pass
    return (time.thread_time() - began_at) * to / COUNTED


@contextmanager
def nothing_old() -> Iterator[None]:
    """No collection of garbage looks through what all the tests before have left."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def less_than_counting(to: int) -> Iterator[None]:
    """What this thread does in it takes less CPU than counting does, whatever other threads do."""
    began_at = time.thread_time()
    with nothing_old():
        yield
    took = time.thread_time() - began_at
    assert took < seconds_to_count(to)
