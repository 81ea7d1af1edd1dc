"""Encodes details as plain JSON of bounded size.

A detail may come from anyone who tries to sign in, so each text is truncated and a budget limits
all of them together. Anything that looks like a key is redacted as in the server's log, since a URL
or a command may contain one.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from chatapp.logs import redact

MAX_LENGTH = 1000  # characters of a text
MAX_ITEMS = 200  # of a list
BUDGET = 20_000  # characters of all texts together
MAX_DEPTH = 6
ELLIPSIS = "…"


def encode_detail(detail: Mapping[str, Any]) -> str:
    """Return the detail as ASCII JSON, so that every database preserves it and its hash."""
    return json.dumps(_DetailEncoder().encode(detail), sort_keys=True, separators=(",", ":"))


class _DetailEncoder:
    def __init__(self) -> None:
        self._left = BUDGET

    def encode(self, value: Any, depth: int = 0) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float) and -(2**53) < value < 2**53:
            return value
        if depth < MAX_DEPTH and isinstance(value, Mapping):
            entries = list(value.items())[:MAX_ITEMS]
            return {
                self._text(str(name)): self.encode(member, depth + 1) for name, member in entries
            }
        if depth < MAX_DEPTH and isinstance(value, Iterable) and not isinstance(value, str | bytes):
            members = list(value)
            more = [ELLIPSIS] if len(members) > MAX_ITEMS else []
            return [self.encode(member, depth + 1) for member in members[:MAX_ITEMS]] + more
        return self._text(str(value))

    def _text(self, text: str) -> str:
        max_length = max(0, min(MAX_LENGTH, self._left))
        shortened_text = text if len(text) <= max_length else text[:max_length] + ELLIPSIS
        self._left -= len(shortened_text)
        # PostgreSQL and pages reject NUL and unpaired surrogates.
        plain = (
            shortened_text.replace("\0", "\N{REPLACEMENT CHARACTER}")
            .encode(errors="replace")
            .decode()
        )
        return redact(plain)
