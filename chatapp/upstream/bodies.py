"""Reading the bodies of httpx responses: unpacked, bounded, and never longer than a while."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

import httpx

from chatapp.upstream.errors import UpstreamFailed
from chatapp.upstream.unpacking import Unpacker

WHOLE_BODY_SECONDS = 10.0  # for a body that is no stream


async def reads(response: httpx.Response) -> AsyncGenerator[bytes]:
    """Iterate over the body as it is read; unpack it if it was packed against our wish.

    Raises `UpstreamFailed` for what can't or must not be unpacked.
    """
    unpacker = Unpacker(response.headers.get("content-encoding", ""))
    async for data in response.aiter_raw():
        for piece in unpacker.receive_data(data):
            yield piece


async def read_at_most(
    limit: int, response: httpx.Response, seconds: float = WHOLE_BODY_SECONDS
) -> bytes:
    """Return the beginning of a body, as much of it as came."""
    body = bytearray()
    with suppress(TimeoutError, httpx.RequestError, UpstreamFailed):
        async with asyncio.timeout(seconds), aclosing(reads(response)) as pieces:
            async for data in pieces:
                body += data
                if len(body) >= limit:
                    break
    return bytes(body[:limit])


def media_type(response: httpx.Response) -> str:
    content_type: str = response.headers.get("content-type", "text/event-stream")
    return content_type.partition(";")[0].strip().lower()
