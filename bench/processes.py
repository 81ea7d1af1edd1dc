"""The resources that a process and all its descendants have used, as Linux counts them."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    lists = Path(f"/proc/{pid}/task").glob("*/children")  # one for each thread
    return sorted(int(child) for file in lists for child in file.read_text().split())


def family(pid: int) -> Iterator[int]:
    """Iterate over the process and all its descendants."""
    yield pid
    for child in children(pid):
        yield from family(child)


def cpu_seconds(pid: int) -> float:
    """Return the user and system time so far, including children that have ended."""
    return sum(_own_seconds(member) + _ended_seconds(member) for member in family(pid))


def resident_mib(pid: int) -> float:
    """Return the memory in use; shared memory is divided between its users (PSS)."""
    return sum(_pss_kib(member) for member in family(pid)) / 1024


def pin(pid: int, cores: set[int]) -> None:
    """Pin the process and all its descendants, present and future, to these cores."""
    for member in family(pid):
        for thread in Path(f"/proc/{member}/task").iterdir():
            with suppress(ProcessLookupError):  # it ended meanwhile
                os.sched_setaffinity(int(thread.name), cores)


def _own_seconds(pid: int) -> float:
    """Read the clock of clock_getcpuclockid(3), in nanoseconds; /proc counts only hundredths."""
    return time.clock_gettime((~pid << 3) | 2)


def _ended_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / _TICK


def _pss_kib(pid: int) -> int:
    return int(Path(f"/proc/{pid}/smaps_rollup").read_text().partition("Pss:")[2].split()[0])
