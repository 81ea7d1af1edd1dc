"""Encodes details as plain JSON of bounded size.

A detail may come from anyone who tries to sign in, so each text is truncated and a budget limits
all of them together. Anything that looks like a key is redacted as in the server's log, since a URL
or a command may contain one.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from chatapp.logs import strike_out

MAX_LENGTH = 1000  # characters of a text
MAX_ITEMS = 200  # of a list
BUDGET = 20_000  # characters of all texts together
DEEPEST = 6
CUT = "…"


def content_of(detail: Mapping[str, Any]) -> str:
    """Return the detail as ASCII JSON, so that every database preserves it and its hash."""
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
            some = list(value.items())[:MAX_ITEMS]
            return {self._text(str(name)): self.of(one, depth + 1) for name, one in some}
        if depth < DEEPEST and isinstance(value, Iterable) and not isinstance(value, str | bytes):
            every = list(value)
            more = [CUT] if len(every) > MAX_ITEMS else []
            return [self.of(one, depth + 1) for one in every[:MAX_ITEMS]] + more
        return self._text(str(value))

    def _text(self, text: str) -> str:
        most = max(0, min(MAX_LENGTH, self._left))
        cut = text if len(text) <= most else text[:most] + CUT
        self._left -= len(cut)
        # PostgreSQL and pages reject NUL and unpaired surrogates.
        plain = cut.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
        return strike_out(plain)
