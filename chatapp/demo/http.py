"""Minimal HTTP helpers over plain ASGI."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, MutableMapping
from typing import Any

from chatapp.demo.errors import ApiError

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

MAX_BODY = 64 * 1024 * 1024


class ClientLeft(Exception):
    """The client disconnected before it had sent its whole request."""


async def read_body(receive: Receive) -> bytes:
    """Return the request body. Raises `ApiError` 413 above `MAX_BODY` bytes, and `ClientLeft`."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            raise ApiError(413, f"The request is larger than {MAX_BODY} bytes.")
        if not message.get("more_body"):
            return bytes(body)


async def send_start(send: Send, status: int, headers: Headers) -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})


async def send_body(send: Send, body: bytes, *, more: bool) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def send_json(send: Send, body: bytes, status: int = 200, headers: Headers = ()) -> None:
    kind = (b"Content-Type", b"application/json")
    length = (b"Content-Length", str(len(body)).encode())
    await send_start(send, status, [kind, length, *headers])
    await send_body(send, body, more=False)


async def send_error(send: Send, error: ApiError) -> None:
    await send_json(send, error.body, error.status, error.headers)


async def while_connected(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Run `work` to its end, or cancel it as soon as the client disconnects.

    No task is left running afterwards, even if this call is cancelled.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(client_left(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.wait((working, leaving))
    if not working.cancelled():
        working.result()


async def client_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
