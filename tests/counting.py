"""Bounds of time that mean the same on every machine, and at every hour of a shared one."""

import time

COUNTED = 2_000_000


def seconds_to_count(to: int) -> float:
    """How long this machine would count now, of CPU time."""
    began_at = time.thread_time()
    for _ in range(COUNTED):
        pass
    return (time.thread_time() - began_at) * to / COUNTED
