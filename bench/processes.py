"""What a process and all that it started have used, as Linux counts it."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    lists = Path(f"/proc/{pid}/task").glob("*/children")  # a thread's each
    return sorted(int(child) for one in lists for child in one.read_text().split())


def family(pid: int) -> Iterator[int]:
    """The process, its children, theirs and so on."""
    yield pid
    for child in children(pid):
        yield from family(child)


def cpu_seconds(pid: int) -> float:
    """User and system time so far, that of children which have ended included."""
    return sum(_own_seconds(one) + _ended_seconds(one) for one in family(pid))


def resident_mib(pid: int) -> float:
    """Memory in use; what several share is counted once between them (PSS)."""
    return sum(_pss_kib(one) for one in family(pid)) / 1024


def pin(pid: int, cores: set[int]) -> None:
    """Keeps the process and all that it started, and will start, to these cores."""
    for one in family(pid):
        for thread in Path(f"/proc/{one}/task").iterdir():
            with suppress(ProcessLookupError):  # it has ended meanwhile
                os.sched_setaffinity(int(thread.name), cores)


def _own_seconds(pid: int) -> float:
    """To the nanosecond, where /proc counts hundredths: the clock of clock_getcpuclockid(3)."""
    return time.clock_gettime((~pid << 3) | 2)


def _ended_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / _TICK


def _pss_kib(pid: int) -> int:
    return int(Path(f"/proc/{pid}/smaps_rollup").read_text().partition("Pss:")[2].split()[0])
