"""A ZIP archive that is sent or stored while it is written, so that it is never in memory."""

import io
from collections.abc import Iterable, Iterator
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from django.utils import timezone

PIECE_BYTES = 64 * 1024


class Sink(io.RawIOBase):
    """The file that an archive is written to; `drain` returns and removes its bytes so far."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._size += len(data)
        return len(data)

    @property
    def is_full(self) -> bool:
        return self._size >= PIECE_BYTES

    def drain(self) -> bytes:
        content = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        return content


class Zip:
    """Members are written one after the other; each method yields the archive's next bytes."""

    def __init__(self) -> None:
        self._sink = Sink()
        self._zip = ZipFile(self._sink, "w", ZIP_DEFLATED, compresslevel=1)

    def add(self, name: str, pieces: Iterable[bytes], *, packed: bool = True) -> Iterator[bytes]:
        """Add a member; images and other files that are compressed already are not `packed`."""
        info = ZipInfo(name, timezone.now().timetuple()[:6])
        info.compress_type = ZIP_DEFLATED if packed else ZIP_STORED
        info.external_attr = 0o644 << 16
        with self._zip.open(info, "w", force_zip64=True) as member:
            for piece in pieces:
                member.write(piece)
                # An empty piece gives a job the chance to rest, and to be cancelled.
                yield self._sink.drain() if self._sink.is_full else b""
        yield self._sink.drain()

    def close(self) -> Iterator[bytes]:
        """Write the list of the members."""
        self._zip.close()
        yield self._sink.drain()
