"""Polls a page continuously, as a load balancer does: what was the longest wait for an answer?

`python -m bench.polling HOST` polls /healthz in a process of its own, so that the driver's own
pauses do not count. Each line on its stdin is answered with the longest gap since the line before,
in milliseconds.
"""

import http.client
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench.server import ROOT

EVERY_SECONDS = 0.02


class Polling:
    """The driver's side of the polling process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def worst(self) -> float:
        """Return the longest response time since the last call, in milliseconds."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


@contextmanager
def polling(host: str) -> Iterator[Polling]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.polling", host],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Polling(process)
    finally:
        process.kill()
        process.communicate()


def _poll(host: str) -> None:
    # the longest so far; when the pending request began
    lock, answers = threading.Lock(), [0.0, 0.0]

    def tell() -> None:
        for _ in sys.stdin:
            with lock:
                waiting = time.monotonic() - answers[1] if answers[1] else 0.0
                print(max(answers[0], waiting) * 1000, flush=True)
                answers[0] = 0.0

    threading.Thread(target=tell, daemon=True).start()
    connection = http.client.HTTPConnection(host, timeout=300)
    while True:
        asked_at = time.monotonic()
        answers[1] = asked_at
        try:
            connection.request("GET", "/healthz")
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):  # a request without an answer is a gap, too
            connection.close()
        took = time.monotonic() - asked_at
        with lock:
            answers[0], answers[1] = max(answers[0], took), 0.0
        time.sleep(max(0.0, EVERY_SECONDS - took))


if __name__ == "__main__":
    _poll(sys.argv[1])
