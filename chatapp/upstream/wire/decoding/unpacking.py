"""Decompress bodies that came compressed although the request accepts only `identity`.

Handles gzip (with any number of members) and deflate, in pieces of bounded size. Raises
`UpstreamFailed` for any other coding, for corrupt data, and for decompression bombs.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from chatapp.upstream.wire.errors.upstream_error import (
    ErrorKind,
    UpstreamError,
    UpstreamFailed,
    clean,
)

MAX_RATIO = 100  # of decompressed to compressed bytes, beyond the allowance
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
    """Decompresses one body. `coding` is its Content-Encoding, in lower case."""

    coding: str
    _unpack: _Decompressor = field(init=False)
    _packed_bytes: int = 0
    _unpacked_bytes: int = 0
    _between: bytes = b""  # possibly the first half of a gzip magic number

    def __post_init__(self) -> None:
        if self.coding not in ("gzip", "x-gzip", "deflate"):
            message = f"sent a body compressed with {clean(self.coding)}, which was not requested"
            raise UpstreamFailed(UpstreamError(ErrorKind.MALFORMED, message))
        self._unpack = zlib.decompressobj(_GZIP_OR_ZLIB)

    def receive_data(self, data: bytes) -> Iterator[bytes]:
        """Yield the decompressed `data`, piece by piece."""
        self._packed_bytes += len(data)
        data = self._between + data
        self._between = b""
        while data or not self._unpack.eof:
            if self._unpack.eof and not self._begins_member(data):
                return
            try:
                piece = self._unpack.decompress(data, _PIECE_BYTES)
            except zlib.error as error:
                message = f"sent a compressed body that can't be decompressed: {error}"
                raise UpstreamFailed(UpstreamError(ErrorKind.MALFORMED, message)) from error
            self._unpacked_bytes += len(piece)
            if self._unpacked_bytes > ALLOWANCE + MAX_RATIO * self._packed_bytes:
                message = f"sent a body that decompresses to over {MAX_RATIO} times its size"
                raise UpstreamFailed(UpstreamError(ErrorKind.TOO_LARGE, message))
            if piece:
                yield piece
            data = self._unpack.unused_data if self._unpack.eof else self._unpack.unconsumed_tail
            if not data and len(piece) < _PIECE_BYTES:  # after a full piece there may be more
                return

    def _begins_member(self, data: bytes) -> bool:
        """Start the next member (RFC 1952, section 2.2); other trailing data is ignored."""
        if data == _MEMBER_BEGINS[:1]:
            self._between = data
        if not data.startswith(_MEMBER_BEGINS):
            return False
        self._unpack = zlib.decompressobj(_GZIP_OR_ZLIB)
        return True
