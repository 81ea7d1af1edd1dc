"""Progress of long work: a line every few seconds, none if the work is quick."""

import time
from collections.abc import Callable, Iterable, Iterator

EVERY_SECONDS = 3.0
MEGABYTE = 1 << 20


class Progress:
    """Counts bytes and calls `tell` with a line; `total` is their expected number, 0 if unknown."""

    def __init__(self, tell: Callable[[str], None], doing: str, total: int = 0) -> None:
        self._tell = tell
        self._doing = doing
        self.total = total
        self._done = 0
        self._last_line_at = time.monotonic()

    def count_bytes(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            yield chunk
            self.reach(self._done + len(chunk))

    def reach(self, done: int) -> None:
        self._done = done
        now = time.monotonic()
        if now - self._last_line_at > EVERY_SECONDS:
            self._last_line_at = now
            of = f" of {self.total / MEGABYTE:,.0f}" if self.total else ""
            self._tell(f"{self._doing}: {done / MEGABYTE:,.0f}{of} MB")
