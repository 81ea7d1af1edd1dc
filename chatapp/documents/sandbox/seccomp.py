"""A seccomp filter of system calls, without a library.

See seccomp(2) and the kernel's Documentation/userspace-api/seccomp_filter.rst. The filter is a list
of allowed calls: what is not in it fails with EPERM, so that a library may go on without it.
"""

import ctypes
import errno
import os
from dataclasses import dataclass

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
PR_SET_NO_NEW_PRIVS = 38
KILL_PROCESS, RETURN_ERRNO, ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
# Classic BPF: load a word of `struct seccomp_data`, jump if equal, return.
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
OFFSET_OF_CALL, OFFSET_OF_ARCH = 0, 4

# The allowed calls and their numbers on x86-64 and ARM64. None opens, connects or signals.
CALLS = {
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "fstat": (5, 80),  # but no stat by a path
    "lseek": (8, 62),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "pread64": (17, 67),
    "readv": (19, 65),
    "writev": (20, 66),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "getcwd": (79, 17),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "getrusage": (98, 165),
    "sysinfo": (99, 179),
    "gettimeofday": (96, 169),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "futex": (202, 98),
    "getrandom": (318, 278),
    "exit": (60, 93),
    "exit_group": (231, 94),
}


@dataclass(frozen=True)
class Program:
    """The filter for one architecture: its AUDIT_ARCH number and the allowed calls."""

    arch: int
    calls: tuple[int, ...]


PROGRAMS = {
    "x86_64": Program(0xC000003E, tuple(x86 for x86, _ in CALLS.values())),
    "aarch64": Program(0xC00000B7, tuple(arm for _, arm in CALLS.values())),
}


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("if_true", ctypes.c_ubyte),
        ("if_false", ctypes.c_ubyte),
        ("operand", ctypes.c_uint32),
    )


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction)))


def install(libc: ctypes.CDLL, program: Program) -> None:
    """Install the filter for this process, which cannot remove it. Raises `OSError`."""
    instructions = _instructions(program)
    array = (_Instruction * len(instructions))(*(_Instruction(*each) for each in instructions))
    filter_ = _Filter(len(array), array)
    for arguments in (
        (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filter_), 0, 0),
    ):
        if libc.prctl(*arguments):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


def _instructions(program: Program) -> list[tuple[int, int, int, int]]:
    """Return the filter. Calls of another architecture, such as 32-bit ones, end the process."""
    count = len(program.calls)
    return [
        (LOAD_WORD, 0, 0, OFFSET_OF_ARCH),
        (JUMP_IF_EQUAL, 1, 0, program.arch),
        (RETURN, 0, 0, KILL_PROCESS),
        (LOAD_WORD, 0, 0, OFFSET_OF_CALL),
        *((JUMP_IF_EQUAL, count - i, 0, call) for i, call in enumerate(program.calls)),
        (RETURN, 0, 0, RETURN_ERRNO | errno.EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
