"""Open TCP connections to MCP servers, with the same resolver as for upstreams.

A host name that hangs delays only its own server: it does not occupy one of the few threads in
which the event loop looks up names.
"""

# ruff: noqa: ASYNC109 - the timeout is httpcore2's

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

import httpcore2
import httpx2

from chatapp.upstream.os_errors import describe_error
from chatapp.upstream.resolver import Resolver

NEXT_ADDRESS_SECONDS = 2.0  # timeout for each of a host's addresses but the last

_resolvers: WeakKeyDictionary[asyncio.AbstractEventLoop, Resolver] = WeakKeyDictionary()


class Transport(httpx2.AsyncHTTPTransport):
    """httpx2's own transport, except for how it connects."""

    def __init__(self) -> None:
        super().__init__()
        # Neither the transport nor its pool has a public argument for the network backend.
        self._pool._network_backend = Network()  # noqa: SLF001


class Network(httpcore2.AsyncNetworkBackend):
    def __init__(self) -> None:
        self._backend = httpcore2.AnyIOBackend()
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
            raise httpcore2.ConnectError(describe_error(error)) from error
        more = (local_address, socket_options)
        for address in others:
            with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                return await self._backend.connect_tcp(address, port, NEXT_ADDRESS_SECONDS, *more)
        return await self._backend.connect_tcp(last, port, timeout, *more)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
