"""TCP connections to MCP servers, whose names are looked up as upstreams' are.

One that hangs is its own server's failure, and takes none of the few threads in which the event
loop looks names up.
"""

# ruff: noqa: ASYNC109 - the timeout is httpcore2's

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

import httpcore2
import httpx2

from chatapp.upstream.os_errors import words_of
from chatapp.upstream.resolver import Resolver

NEXT_ADDRESS_SECONDS = 2.0  # until a host's next address is tried

_resolvers: WeakKeyDictionary[asyncio.AbstractEventLoop, Resolver] = WeakKeyDictionary()


class Transport(httpx2.AsyncHTTPTransport):
    """httpx2's own, but for how it connects."""

    def __init__(self) -> None:
        super().__init__()
        # Neither has an argument for it.
        self._pool._network_backend = Network()  # noqa: SLF001


class Network(httpcore2.AsyncNetworkBackend):
    def __init__(self) -> None:
        self._known = httpcore2.AnyIOBackend()
        self._resolver = _resolvers.setdefault(asyncio.get_running_loop(), Resolver())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            *others, last = await self._resolver.addresses(host)
        except (OSError, UnicodeError) as error:
            raise httpcore2.ConnectError(words_of(error)) from error
        more = (local_address, socket_options)
        for address in others:
            with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                return await self._known.connect_tcp(address, port, NEXT_ADDRESS_SECONDS, *more)
        return await self._known.connect_tcp(last, port, timeout, *more)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
