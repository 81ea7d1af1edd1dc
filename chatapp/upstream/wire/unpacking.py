"""Bodies that came packed although `identity` was asked for: packed bytes in, plain bytes out.

Unpacks gzip, in however many members, and deflate, in pieces of bounded size. Raises
`UpstreamFailed` for any other coding, for what does not unpack, and for a body that swells as no
text does: a bomb.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from chatapp.upstream.wire.errors import ErrorKind, UpstreamError, UpstreamFailed, clean

MAX_RATIO = 100  # of unpacked to packed bytes, once more than the allowance is unpacked
ALLOWANCE = 4 * 1024 * 1024

_PIECE_BYTES = 64 * 1024
_MEMBER_BEGINS = b"\x1f\x8b"
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


@dataclass(slots=True)
class Unpacker:
    """Unpacks one body. `coding` is its Content-Encoding, in lower case."""

    coding: str
    _unpack: _Decompressor = field(init=False)
    _packed: int = 0
    _unpacked: int = 0
    _between: bytes = b""  # what may be the first half of a magic number

    def __post_init__(self) -> None:
        if self.coding not in ("gzip", "x-gzip", "deflate"):
            message = f"sent a body packed as {clean(self.coding)}, which was not asked for"
            raise UpstreamFailed(UpstreamError(ErrorKind.MALFORMED, message))
        self._unpack = zlib.decompressobj(_GZIP_OR_ZLIB)

    def receive_data(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` unpacks to, piece by piece."""
        self._packed += len(data)
        data = self._between + data
        self._between = b""
        while data or not self._unpack.eof:
            if self._unpack.eof and not self._begins_member(data):
                return
            try:
                piece = self._unpack.decompress(data, _PIECE_BYTES)
            except zlib.error as error:
                message = f"a packed body does not unpack: {error}"
                raise UpstreamFailed(UpstreamError(ErrorKind.MALFORMED, message)) from error
            self._unpacked += len(piece)
            if self._unpacked > ALLOWANCE + MAX_RATIO * self._packed:
                message = f"unpacks to more than {MAX_RATIO} times its size"
                raise UpstreamFailed(UpstreamError(ErrorKind.TOO_LARGE, message))
            if piece:
                yield piece
            data = self._unpack.unused_data if self._unpack.eof else self._unpack.unconsumed_tail
            if not data and len(piece) < _PIECE_BYTES:  # a full piece may not be all of it
                return

    def _begins_member(self, data: bytes) -> bool:
        """Go on with the next member (RFC 1952, section 2.2); all else after one is nothing."""
        if data == _MEMBER_BEGINS[:1]:
            self._between = data
        if not data.startswith(_MEMBER_BEGINS):
            return False
        self._unpack = zlib.decompressobj(_GZIP_OR_ZLIB)
        return True
