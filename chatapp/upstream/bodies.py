"""Read the bodies of httpx responses: decompressed, and bounded in size and time."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import cast

import httpx

from chatapp.upstream.wire.decoding.sse import BLANK
from chatapp.upstream.wire.decoding.unpacking import Unpacker
from chatapp.upstream.wire.errors.upstream_error import UpstreamFailed

WHOLE_BODY_SECONDS = 10.0  # for a body that is not a stream

_SNIFFED_BYTES = 6


def iterate_body(response: httpx.Response) -> AsyncGenerator[bytes]:
    """Iterate over the body as it is read, decompressed if the upstream compressed it anyway.

    Iterating raises `UpstreamFailed` if the body can't or must not be decompressed.
    """
    # Not `aiter_raw`, because httpx drops empty parts, and `Body.at_once` needs them.
    raw = cast(AsyncGenerator[bytes], aiter(cast(httpx.AsyncByteStream, response.stream)))
    return raw if is_plain(response) else _decompress(raw, _coding(response))


def is_plain(response: httpx.Response) -> bool:
    """Tell whether the body is not compressed."""
    return _coding(response) in ("", "identity")


def _coding(response: httpx.Response) -> str:
    return str(response.headers.get("content-encoding", "")).strip().lower()


async def _decompress(raw: AsyncGenerator[bytes], coding: str) -> AsyncGenerator[bytes]:
    unpacker = Unpacker(coding)
    async with aclosing(raw):
        async for data in raw:
            for piece in unpacker.receive_data(data):
                yield piece


async def read_at_most(limit: int, response: httpx.Response, seconds: float) -> bytes:
    """Return up to `limit` bytes of a body, or less if they take longer than `seconds`."""
    async with aclosing(iterate_body(response)) as pieces:
        return await join_pieces(limit, pieces, seconds)


async def join_pieces(limit: int, pieces: AsyncGenerator[bytes], seconds: float) -> bytes:
    """Join pieces up to `limit` bytes, or as many as come within `seconds`."""
    body = bytearray()
    with suppress(TimeoutError, httpx.RequestError, UpstreamFailed):
        async with asyncio.timeout(seconds):
            async for data in pieces:
                body += data
                if len(body) >= limit:
                    break
    return bytes(body[:limit])


async def read_beginning(pieces: AsyncGenerator[bytes]) -> bytes:
    """Return enough of a body to tell what it is, without leading white space or BOM."""
    body = b""
    with suppress(httpx.RequestError, UpstreamFailed):
        while len(body) < _SNIFFED_BYTES and (data := await anext(pieces, b"")):
            body = (body + data).lstrip(BLANK)
    return body


async def prepend_start(start: bytes, pieces: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """Iterate over a body after its `start` has been read."""
    yield start
    async for data in pieces:
        yield data


def media_type(response: httpx.Response) -> str:
    content_type: str = response.headers.get("content-type", "text/event-stream")
    return content_type.partition(";")[0].strip().lower()
