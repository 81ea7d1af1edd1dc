"""A ZIP archive that is sent or stored while it is written, so that it is never in memory."""

import io
import logging
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from django.utils import timezone

logger = logging.getLogger(__name__)

PIECE_BYTES = 64 * 1024
LOST = "An archive lacks a file that is lost: %s"


class Zip:
    """Members are written one after the other; each method yields the archive's next bytes."""

    def __init__(self) -> None:
        self._sink = _Sink()
        self._zip = ZipFile(self._sink, "w", ZIP_DEFLATED, compresslevel=1)

    def add(self, name: str, pieces: Iterable[bytes], *, packed: bool = True) -> Iterator[bytes]:
        """Add a member; images and other files that are compressed already are not `packed`."""
        info = ZipInfo(name, timezone.now().timetuple()[:6])
        info.compress_type = ZIP_DEFLATED if packed else ZIP_STORED
        info.external_attr = 0o600 << 16  # for the owner only, as a backup contains secrets
        with self._zip.open(info, "w", force_zip64=True) as member:
            for piece in pieces:
                member.write(piece)
                # An empty piece gives a job the chance to rest, and to be cancelled.
                yield self._sink.drain() if self._sink.is_full else b""
        yield self._sink.drain()

    def add_file(
        self, name: str, chunks: Iterator[bytes], *, packed: bool = True
    ) -> Iterator[bytes]:
        """Add a file of the storage, unless it is lost. Raises `OSError` if the storage fails."""
        try:
            first = next(chunks, b"")
        except FileNotFoundError:
            logger.error(LOST, name)
            return
        yield from self.add(name, chain([first], chunks), packed=packed)

    def close(self) -> Iterator[bytes]:
        """Write the list of the members."""
        self._zip.close()
        yield self._sink.drain()


class _Sink(io.RawIOBase):
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
