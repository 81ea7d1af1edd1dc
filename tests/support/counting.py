"""Time bounds that mean the same on every machine, and at every hour on a shared one."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

COUNTED = 2_000_000


def seconds_to_count(to: int) -> float:
    """Return how many seconds of CPU time this machine would need now to count this far."""
    began_at = time.thread_time()
    for _ in range(COUNTED):
        pass
    return (time.thread_time() - began_at) * to / COUNTED


@contextmanager
def without_old_garbage() -> Iterator[None]:
    """Keep garbage collection from walking through what earlier tests left."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def less_than_counting(to: int) -> Iterator[None]:
    """Check that the block takes this thread less CPU time than counting to `to` would."""
    began_at = time.thread_time()
    with without_old_garbage():
        yield
    took = time.thread_time() - began_at
    assert took < seconds_to_count(to)
