"""Runs `manage.py` with all calls counted, and tells how many there were.

`python -m tests.costs.counted serve`. The socket `calls` in DATA_DIR gives everyone who connects a
JSON object, once the process is idle: how often each function was called, Python's own included.
Threads that work by the clock, whatever anybody does, are not counted.
"""

import cProfile
import gc
import json
import os
import re
import socket
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).parents[2]
CLOCKS = ("heartbeat", "jobs", "indexing")  # by the names of their threads
LOOK_SECONDS, IDLE_CALLS = 0.01, 100  # what an idle process takes at most between two looks
FOLDERS = (f"{ROOT}/", "site-packages/", f"python{sys.version_info[0]}.{sys.version_info[1]}/")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")

_profiles: list[cProfile.Profile] = []
_names: dict[int, str] = {}


def count_thread(*_: object) -> None:
    """Count the calls of this thread from now on."""
    sys.setprofile(None)
    if threading.current_thread().name not in CLOCKS:
        profile = cProfile.Profile(subcalls=False)
        _profiles.append(profile)
        profile.enable()


def _count_until_idle() -> Counter[str]:
    entries, is_idle = _entries(), False
    while not is_idle:
        time.sleep(LOOK_SECONDS)
        before, entries = entries, _entries()
        is_idle = _total(entries) - _total(before) < IDLE_CALLS and _is_everyone_waiting()
    calls: Counter[str] = Counter()
    for entry in entries:
        calls[_name_function(entry.code)] += entry.callcount
    return calls


def _is_everyone_waiting() -> bool:
    """Whether no other thread could run: on a busy machine, some may only wait for a processor."""
    states = []
    for task in Path("/proc/self/task").iterdir():
        if int(task.name) != threading.get_native_id():
            with suppress(FileNotFoundError, ProcessLookupError):  # the thread has just ended
                states.append((task / "stat").read_text().rpartition(")")[2].split()[0])
    return not {"R", "D"} & set(states)


def _entries() -> list[Any]:
    """Return an entry for each function that each thread has called."""
    return [entry for profile in tuple(_profiles) for entry in profile.getstats()]


def _total(entries: list[Any]) -> int:
    return sum(entry.callcount for entry in entries)


def _name_function(code: CodeType | str) -> str:
    """Return the module's path with the function's name, or a builtin's name."""
    if isinstance(code, str):
        return _ADDRESS.sub("", code)
    if id(code) not in _names:  # a code object's own hash reads all of its code
        path = code.co_filename
        for folder in FOLDERS:
            path = path.rpartition(folder)[2]
        _names[id(code)] = f"{path}:{code.co_qualname}"
    return _names[id(code)]


def _tell(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(json.dumps(_count_until_idle()).encode())


def main() -> None:
    # A collection would run finalizers at any time, even while the counts are read.
    gc.disable()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{os.environ['DATA_DIR']}/calls")
    listener.listen()
    threading.Thread(target=_tell, args=[listener], daemon=True).start()
    threading.setprofile(count_thread)
    count_thread()
    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", *sys.argv[1:]])


if __name__ == "__main__":
    main()
