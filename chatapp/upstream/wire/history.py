"""What an upstream is sent of a conversation; the bytes of its texts are counted once."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from chatapp.upstream.wire.dialects import ChatMessage


class History(NamedTuple):
    messages: Sequence[ChatMessage]
    text_bytes: int  # of UTF-8

    @classmethod
    def of(cls, messages: Iterable[ChatMessage]) -> Self:
        sent = list(messages)
        return cls(sent, sum(map(_bytes_within, sent)))

    def followed_by(self, more: "History") -> "History":
        return History([*self.messages, *more.messages], self.text_bytes + more.text_bytes)


NOTHING = History([], 0)


def _bytes_within(value: Any) -> int:
    """The bytes of all texts in a message, whatever holds them: content, parts, calls, ids."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode(errors="replace"))
    if isinstance(value, dict | Mapping):  # the one is told at once
        return sum(map(_bytes_within, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_bytes_within, value))
    return 0
