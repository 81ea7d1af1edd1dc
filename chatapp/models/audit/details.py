"""What stands in a detail: plain JSON of a bounded size, whatever it is made of.

It may come from whoever tries to sign in, so each text is cut, and a budget bounds all of them.
What looks like a key is struck out, as in the app's own log: a URL or a command may have one.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from chatapp.logs import strike_out

LONGEST = 1000  # characters of a text
MOST_ITEMS = 200  # of a list
BUDGET = 20_000  # characters of all
DEEPEST = 6
CUT = "…"


def content_of(detail: Mapping[str, Any]) -> str:
    """In ASCII, so that each database keeps it as it is, and the hash of it stays the same."""
    return json.dumps(_Plain().of(detail), sort_keys=True, separators=(",", ":"))


class _Plain:
    def __init__(self) -> None:
        self._left = BUDGET

    def of(self, value: Any, depth: int = 0) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float) and -(2**53) < value < 2**53:
            return value
        if depth < DEEPEST and isinstance(value, Mapping):
            some = list(value.items())[:MOST_ITEMS]
            return {self._text(str(name)): self.of(one, depth + 1) for name, one in some}
        if depth < DEEPEST and isinstance(value, Iterable) and not isinstance(value, str | bytes):
            every = list(value)
            more = [CUT] if len(every) > MOST_ITEMS else []
            return [self.of(one, depth + 1) for one in every[:MOST_ITEMS]] + more
        return self._text(str(value))

    def _text(self, text: str) -> str:
        most = max(0, min(LONGEST, self._left))
        cut = text if len(text) <= most else text[:most] + CUT
        self._left -= len(cut)
        # Neither a database nor a page takes these.
        plain = cut.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
        return strike_out(plain)
