"""The machine: what it is, and how busy other processes kept it while a figure was taken."""

import os
import platform
import resource
import time
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def description() -> str:
    model = Path("/proc/cpuinfo").read_text().partition("model name\t: ")[2].partition("\n")[0]
    return (
        f"{os.cpu_count()} cores of {model or platform.machine()}, load {os.getloadavg()[0]:.1f}; "
        f"Python {platform.python_version()}, Linux {platform.release()}; "
        f"a loop of Python counts to ten million in {loop_seconds():.2f} s"
    )


def loop_seconds() -> float:
    """Return the CPU seconds in which a loop of Python counts to ten million."""
    began_at, counted = time.process_time(), 0
    while counted < 10_000_000:
        counted += 1
    return time.process_time() - began_at


class OthersCPU:
    """The average number of cores that other processes kept busy since this object was made.

    Our own processes are counted once they have ended and been waited for.
    """

    def __init__(self) -> None:
        self._at, self._busy, self._own = time.monotonic(), _busy(), _own()

    def cores(self) -> float:
        others = (_busy() - self._busy) - (_own() - self._own)
        return max(0.0, others / (time.monotonic() - self._at))


def _busy() -> float:
    user, nice, system, _, _, irq, softirq, *_ = (
        int(field) for field in Path("/proc/stat").read_text().partition("\n")[0].split()[1:]
    )
    return (user + nice + system + irq + softirq) / _TICK


def _own() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
