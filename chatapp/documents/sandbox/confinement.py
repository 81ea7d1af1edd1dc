"""Takes away from this process what reading a file does not need, for good.

`limit_resources` works on every Unix. `confine` needs Linux on x86-64 or ARM64: a seccomp filter
refuses every system call but the few that computing, reading an open file and writing to an open
pipe need. So the process can open no file and no socket, start no program or thread and signal no
process, whatever code runs in it. Linux on other processors reads no file; other systems have the
limits of resources only.
"""

import ctypes
import errno
import math
import os
import platform
import resource
import signal
import sys
from contextlib import suppress

from chatapp.documents.sandbox.seccomp import PROGRAMS, install

NICENESS = 5  # the event loop goes first if cores are few
MAX_OPEN_FILES = 16
PR_SET_PDEATHSIG = 1


def limit_resources(seconds: float, memory_bytes: int) -> None:
    os.nice(NICENESS)
    whole_seconds = math.ceil(seconds)
    for what, soft, hard in (
        (resource.RLIMIT_AS, memory_bytes, memory_bytes),
        (resource.RLIMIT_CPU, whole_seconds, whole_seconds + 1),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NOFILE, MAX_OPEN_FILES, MAX_OPEN_FILES),
        (resource.RLIMIT_NPROC, 0, 0),
    ):
        with suppress(ValueError):  # macOS has no limit of the address space
            resource.setrlimit(what, (soft, hard))


def confine() -> None:
    """Refuse all but a few system calls from now on. Raises `OSError` if Linux can't do so here."""
    if sys.platform != "linux":
        return
    program = PROGRAMS.get(platform.machine())
    if program is None:
        raise OSError(errno.ENOSYS, f"There is no seccomp filter for {platform.machine()}")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    install(libc, program)
