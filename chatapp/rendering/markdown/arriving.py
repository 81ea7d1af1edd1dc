"""Buffers for text that arrives in pieces: what is not read yet, and the incomplete last line."""

from collections import deque

from . import budgets
from .characters import clean

_SLICE = 4 * 1024  # characters that are read together


class ArrivingText:
    """Takes pieces cut anywhere and returns slices that never end between CR and LF.

    Text beyond `budgets.MAX_TEXT_LENGTH` is dropped.
    """

    def __init__(self) -> None:
        self.has_ended = False
        self.is_cut = False  # whether more arrived than a page may show
        self._pieces: deque[str] = deque()
        self._left = budgets.MAX_TEXT_LENGTH

    @property
    def is_waiting(self) -> bool:
        """Whether `pop_slice` has something to return."""
        pieces = self._pieces
        return bool(pieces) and (self.has_ended or len(pieces) > 1 or pieces[0] != "\r")

    def append(self, text: str) -> None:
        if len(text) > self._left:
            text, self.is_cut, self.has_ended = text[: self._left], True, True
        self._left -= len(text)
        if 0 < len(text) <= _SLICE:
            self._pieces.append(text)
            return
        for start in range(0, len(text), _SLICE):
            self._pieces.append(text[start : start + _SLICE])

    def pop_slice(self) -> str:
        """Return the next slice, with LF line endings."""
        text = self._pieces.popleft()
        while self._pieces and len(text) + len(self._pieces[0]) <= _SLICE:
            text += self._pieces.popleft()
        if text.endswith("\r") and not (self.has_ended and not self._pieces):
            text = text[:-1]
            self._pieces.appendleft("\r" + (self._pieces.popleft() if self._pieces else ""))
        return clean(text)

    def put_back(self, text: str) -> None:
        """Return text that was taken but not read; the next `pop_slice` starts with it."""
        if text:
            self._pieces.appendleft(text)


class Line:
    """A line that grows. Its pieces are joined only when it is read."""

    def __init__(self) -> None:
        self.size = 0
        self._pieces: list[str] = []

    def __bool__(self) -> bool:
        return self.size > 0

    def add(self, text: str) -> None:
        if text:
            self._pieces.append(text)
            self.size += len(text)

    @property
    def text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""
