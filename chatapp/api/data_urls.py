"""Takes long data URLs out of a JSON body before it is decoded.

A decoder keeps the interpreter's lock while it works, a millisecond for each megabyte, and copies
the URL. So a long one is replaced by a mark, and its bytes are decoded in steps between which other
threads can run. Pure.
"""

import re
import secrets
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from mmap import mmap
from typing import Any

import msgspec

from chatapp.upstream.wire.base64_steps import decode_in_steps
from chatapp.upstream.wire.requests.content import EncodedPart

LONG_BYTES = 64 * 1024  # shorter URLs are decoded with the rest
SEARCH_BYTES = 4 * 1024 * 1024

HEAD = re.compile(rb"data:([\w.+/-]*)(?:;[\w.+=-]+)*;base64,", re.IGNORECASE)
MAX_HEAD_BYTES = 200

Body = bytes | mmap


@dataclass(frozen=True, eq=False)
class DataUrl:
    """A data URL as it stands in a body, between the quotation marks."""

    head: bytes  # `data:image/png;base64,`
    encoded: memoryview  # the base64, in which JSON may escape each slash

    @classmethod
    def of_text(cls, text: str) -> "DataUrl | None":
        """Return the data URL that a string is, or None."""
        return cls.of_bytes(memoryview(text.encode(errors="replace")))

    @classmethod
    def of_bytes(cls, text: memoryview) -> "DataUrl | None":
        match = HEAD.match(bytes(text[:MAX_HEAD_BYTES]).replace(rb"\/", b"/"))
        if not match:
            return None
        comma = bytes(text[:MAX_HEAD_BYTES]).index(b",")
        return cls(match[0], text[comma + 1 :])

    @property
    def media_type(self) -> str:
        """The type that it claims to be."""
        match = HEAD.match(self.head)
        assert match
        return match[1].decode().lower()

    def pieces(self) -> Iterator[bytes]:
        """Return an iterator of the decoded bytes. Iterating raises `ValueError`."""
        return decode_in_steps(self.encoded)

    def encode_part(self, part: Mapping[str, object], mark: str) -> EncodedPart:
        """Return a content part as JSON, with this URL in place of a mark."""
        before, after = msgspec.json.encode(part).split(mark.encode())
        return EncodedPart(b"".join([before, self.head, self.encoded, after]))


class TooMuchText(Exception):
    """A body has more bytes besides images and files than it may have."""


@dataclass(frozen=True)
class SplitBody:
    """A body without its long data URLs, in whose places are marks."""

    json: bytes
    urls: dict[str, DataUrl]  # by mark
    max_text_bytes: int

    @classmethod
    def of(cls, body: Body, max_text_bytes: int = sys.maxsize) -> "SplitBody":
        """Raise `TooMuchText` before anything long is copied."""
        view = memoryview(body)
        # Random, so that no text in the body can imitate a mark.
        name = secrets.token_hex(16)
        pieces: list[memoryview | bytes] = []
        urls: dict[str, DataUrl] = {}
        at = 0
        for start, end in _long_strings(body):
            if url := DataUrl.of_bytes(view[start:end]):
                mark = f"{name}-{len(urls)}-"
                urls[mark] = url
                pieces += [view[at:start], mark.encode()]
                at = end
        pieces.append(view[at:])
        if sum(map(len, pieces)) > max_text_bytes:
            raise TooMuchText
        return cls(b"".join(pieces), urls, max_text_bytes)

    def put_back(self, value: Any) -> Any:
        """Return a decoded value with its URLs, except for those of images and files.

        Raises `TooMuchText`, or `msgspec.DecodeError` if a URL is no valid text.
        """
        size = len(self.json)

        def restore(value: Any, key: str = "") -> Any:
            nonlocal size
            if isinstance(value, dict):
                return {name: restore(member, name) for name, member in value.items()}
            if isinstance(value, list):
                return [restore(member) for member in value]
            is_sent_apart = not isinstance(value, str) or key in ("url", "file_data")
            url = None if is_sent_apart else self.urls.pop(value, None)
            if not url:
                return value
            size += len(url.head) + len(url.encoded)
            if size > self.max_text_bytes:
                raise TooMuchText
            return msgspec.json.decode(b"".join([b'"', url.head, url.encoded, b'"']))

        return restore(value)


def _long_strings(body: Body) -> Iterator[tuple[int, int]]:
    """Yield where the long strings begin and end that begin like a data URL."""
    at = 0
    while (quote := _find(body, b'"data:', at)) >= 0:
        at = _find(body, b'"', quote + 1)
        if at < 0:
            return  # which the decoder reports
        # A quotation mark after a backslash is part of a text.
        is_string = body[quote - 1 : quote] != b"\\" and body[at - 1 : at] != b"\\"
        if is_string and at - quote > LONG_BYTES:
            yield quote + 1, at


def _find(body: Body, sought: bytes, start: int) -> int:
    """Return where something begins, or -1, in steps between which other threads can run."""
    while start < len(body):
        position = body.find(sought, start, start + SEARCH_BYTES + len(sought))
        if position >= 0:
            return position
        start += SEARCH_BYTES
    return -1
