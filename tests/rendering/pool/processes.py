"""Observes other processes, and holds texts whose rendering needs one."""

import time
from collections.abc import Callable
from pathlib import Path

from bench.bombs import TEXTS

CODE = "```python\ndef f(): pass\n```"
SLOW = TEXTS["C# fence, 16 KB"](1)  # some 20 seconds of Pygments
WAIT_SECONDS = 60.0


def until(condition: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < give_up_at
        time.sleep(0.01)


def cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11])


def is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
