"""Connect to an MCP server, with limits that the SDK does not have.

Over HTTP, no answer may be longer than `ANSWER_LIMIT` or compressed, because a few bytes could
decompress to any size. A command inherits only PATH, HOME and the like from our environment, its
stderr is logged, and its end is noticed at once. The size of a command's output is not limited: it
already runs on this machine with our permissions.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.request import getproxies

import anyio.abc
import httpx2
from mcp.client import Transport as McpTransport
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from chatapp.tools.network import Transport
from chatapp.tools.settings import Command, HttpEndpoint

logger = logging.getLogger(__name__)

ANSWER_LIMIT = 16 * 1024 * 1024  # bytes of one JSON answer or one event
REACH_SECONDS = 10.0
STDERR_TAIL_CHARACTERS = 2000  # characters


class TransportDiagnostics:
    """Observations of a transport that explain a failure better than the SDK's error."""

    def __init__(self) -> None:
        self.is_session_lost = False  # the server no longer knows our session
        self.refusal = ""  # the last HTTP error status
        self.stderr = ""  # the end of what the command wrote to stderr

    def __str__(self) -> str:
        lines = self.stderr.strip().splitlines()
        return self.refusal or (lines[-1][:300] if lines else "")


@asynccontextmanager
async def open_http_transport(
    endpoint: HttpEndpoint, diagnostics: TransportDiagnostics
) -> AsyncIterator[McpTransport]:
    async def check_response(response: httpx2.Response) -> None:
        if response.status_code >= 400:
            diagnostics.refusal = f"HTTP {response.status_code} {response.reason_phrase}".strip()
        if response.status_code == 404 and "mcp-session-id" in response.request.headers:
            # Such a request did not run (MCP specification, Transports, Session Management).
            diagnostics.is_session_lost |= response.request.method == "POST"
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.RemoteProtocolError("it sent a compressed answer despite our request")
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        if not is_stream:  # the SDK limits only the size of events
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _BoundedStream(response.stream)

    async with httpx2.AsyncClient(
        headers=[*endpoint.headers, ("accept-encoding", "identity")],
        timeout=httpx2.Timeout(REACH_SECONDS, read=None),  # a call has its own timeout
        event_hooks={"response": [check_response]},
        # Only httpx2's own transport supports the environment's proxies.
        transport=None if getproxies().keys() - {"no"} else Transport(),
    ) as client:
        yield streamable_http_client(
            endpoint.url, http_client=client, max_sse_event_size=ANSWER_LIMIT
        )


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > ANSWER_LIMIT:
                raise httpx2.StreamError(f"the answer is longer than {ANSWER_LIMIT:,} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


@asynccontextmanager
async def open_stdio_transport(
    command: Command, name: str, diagnostics: TransportDiagnostics, on_end: Callable[[], None]
) -> AsyncIterator[McpTransport]:
    """Start the command; call `on_end` when it closes its stdout."""
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "w") as stderr:
        log, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: _Stderr(name, diagnostics), os.fdopen(read_end, "rb")
        )
        parameters = StdioServerParameters(
            command=command.words[0],
            args=list(command.words[1:]),
            env=dict(command.environment),
        )

        @asynccontextmanager
        async def open_transport() -> AsyncIterator[Any]:  # the SDK's type is private
            async with stdio_client(parameters, stderr) as (incoming, outgoing):
                yield _EndDetectingStream(incoming, on_end), outgoing

        try:
            yield open_transport()
        finally:
            log.close()


class _EndDetectingStream(anyio.abc.ObjectReceiveStream[SessionMessage | Exception]):
    def __init__(self, stream: Any, on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._on_end = on_end

    async def receive(self) -> SessionMessage | Exception:
        try:
            message: SessionMessage | Exception = await self._stream.receive()
        except anyio.EndOfStream:
            self._on_end()
            raise
        return message

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Stderr(asyncio.Protocol):
    def __init__(self, name: str, diagnostics: TransportDiagnostics) -> None:
        self._name = name
        self._diagnostics = diagnostics

    def data_received(self, data: bytes) -> None:
        text = data.decode(errors="replace")
        self._diagnostics.stderr = (self._diagnostics.stderr + text)[-STDERR_TAIL_CHARACTERS:]
        logger.debug("%s: %s", self._name, text.rstrip())
