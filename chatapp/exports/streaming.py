"""Sends an export while it is written."""

import time
from collections.abc import AsyncIterator, Iterator

from channels.db import database_sync_to_async

from chatapp.sessions.validity import get_person

PIECE_BYTES = 64 * 1024
SECONDS_A_PIECE = 0.2


async def stream_pieces(pieces: Iterator[bytes], session_key: str) -> AsyncIterator[bytes]:
    """Yield an export's bytes, which are made in a thread.

    Raises `NotSignedIn` once the session has ended, so that the client sees a truncated download.
    """
    try:
        while (data := await database_sync_to_async(_next)(pieces, session_key)) is not None:
            if data:
                yield data
    finally:
        if close := getattr(pieces, "close", None):
            await database_sync_to_async(close)()


def _next(pieces: Iterator[bytes], session_key: str) -> bytes | None:
    """Return the next bytes, which may be none so far, or None at the end."""
    get_person(session_key)
    parts: list[bytes] = []
    size, until = 0, time.monotonic() + SECONDS_A_PIECE
    for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size >= PIECE_BYTES or time.monotonic() > until:
            return b"".join(parts)
    return b"".join(parts) or None
