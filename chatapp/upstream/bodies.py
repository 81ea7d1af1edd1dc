"""Reading the bodies of httpx responses: unpacked, bounded, and never longer than a while."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import cast

import httpx

from chatapp.upstream.errors import UpstreamFailed
from chatapp.upstream.unpacking import Unpacker

WHOLE_BODY_SECONDS = 10.0  # for a body that is no stream


def reads(response: httpx.Response) -> AsyncGenerator[bytes]:
    """Iterate over the body as it is read; unpack it if it was packed against our wish.

    Iterating raises `UpstreamFailed` for what can't or must not be unpacked.
    """
    raw = cast(AsyncGenerator[bytes], response.aiter_raw())
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    return raw if coding in ("", "identity") else _unpacked(raw, coding)


async def _unpacked(raw: AsyncGenerator[bytes], coding: str) -> AsyncGenerator[bytes]:
    unpacker = Unpacker(coding)
    async with aclosing(raw):
        async for data in raw:
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
