"""Take pictures out of the text of an answer: Markdown images whose address is the picture itself.

Gateways before image models send `![…](data:image/png;base64,…)` as content, cut anywhere. Kept as
text, it would be a megabyte to read, to search and to send back. Other images stay text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from chatapp.upstream.wire.images import MAX_IMAGES_BYTES

_TYPES = ("png", "jpeg", "jpg", "gif", "webp")
_HEADS = tuple(f"data:image/{kind};base64," for kind in _TYPES)
_START = re.compile(rf"!\[[^\[\]\n]{{0,200}}\]\((?P<head>{'|'.join(_HEADS)})", re.IGNORECASE)
# What may become one.
_BEGINNING = re.compile(
    r"!(?:\[[^\[\]\n]{0,200}(?:\](?:\((?P<head>[a-z:/;0-9]{0,24}))?)?)?\Z", re.I
)
_LONGEST = MAX_IMAGES_BYTES // 3 * 4 + 4  # characters of base64


@dataclass(frozen=True, slots=True)
class ImageText:
    """The data URL of a picture; None if the text ended within it, or it is too large."""

    url: str | None


@dataclass(slots=True)
class TextImages:
    """Splits a text, holding back only what belongs to a picture, or may."""

    _held_text: str = ""
    _url: list[str] | None = None  # of a picture that is still arriving
    _size: int = 0
    is_holding: bool = field(default=False)

    def receive_text(self, text: str) -> Iterator[str | ImageText]:
        """Yield the text without pictures, and the pictures, in order."""
        text, self._held_text = self._held_text + text, ""
        while text:
            if self._url is not None:
                part, end, text = text.partition(")")
                self._add_url_part(part)
                if end:
                    yield self._end_image(is_whole=True)
            elif start := _START.search(text):
                if before := text[: start.start()]:
                    yield before
                self._url, self._size = [start["head"].lower()], 0
                text = text[start.end() :]
            else:
                safe_length = len(text) - _count_undecided(text)
                self._held_text = text[safe_length:]
                if text[:safe_length]:
                    yield text[:safe_length]
                break
        self.is_holding = bool(self._held_text) or self._url is not None

    def close(self) -> Iterator[str | ImageText]:
        """Yield what was held back."""
        if self._url is not None:
            yield self._end_image(is_whole=False)
        if self._held_text:
            yield self._held_text
        self._held_text, self.is_holding = "", False

    def _add_url_part(self, part: str) -> None:
        self._size += len(part)
        if self._url is not None and self._size <= _LONGEST:
            self._url.append(part)

    def _end_image(self, *, is_whole: bool) -> ImageText:
        url, self._url = self._url or [], None
        return ImageText("".join(url) if is_whole and self._size <= _LONGEST else None)


def _count_undecided(text: str) -> int:
    """Return how many characters at the end may begin a picture."""
    match = _BEGINNING.search(text, max(0, len(text) - 240))
    if match is None:
        return 0
    head = (match["head"] or "").lower()
    is_possible = any(known_head.startswith(head) for known_head in _HEADS)
    return len(text) - match.start() if is_possible else 0
