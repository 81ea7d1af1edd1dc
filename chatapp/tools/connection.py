"""One connection to an MCP server, opened and closed by its own task.

The SDK's scopes must be exited in the task that entered them, but calls come from any task. So a
dedicated task enters them, provides the client, waits for the signal to close, and exits. A
connection is never reopened: once it has ended, make a new one.
"""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from mcp import Client, MCPError
from mcp_types import CallToolResult

from chatapp.tools.settings import Command, ServerSettings
from chatapp.tools.transports import TransportDiagnostics, open_http_transport, open_stdio_transport
from chatapp.upstream.os_errors import describe_error

CONNECT_SECONDS = 30.0  # `uvx` and `npx` may have to download a package first


class ConnectionFailed(Exception):
    """There is no connection; the message says why, as a clause."""


class Connection:
    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._diagnostics = TransportDiagnostics()
        self._closing = asyncio.Event()
        self._opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(_retrieve_error)

    @property
    def is_usable(self) -> bool:
        return not self._closing.is_set() and not self._task.done()

    @property
    def is_session_lost(self) -> bool:
        """Whether the server no longer knows our session, so the request did not run."""
        return self._diagnostics.is_session_lost

    @property
    def is_open(self) -> bool:
        return self._opened.done() and self.is_usable

    async def client(self) -> Client:
        """Return the client once it is connected. Raises `ConnectionFailed`."""
        either: list[asyncio.Future[Any]] = [self._opened, self._task]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if self._task.done():
            raise ConnectionFailed(self.reason or "it closed the connection")
        return self._opened.result()

    async def aclose(self) -> None:
        self._closing.set()
        if not self._opened.done():
            self._task.cancel()
        await asyncio.wait([self._task])

    @property
    def reason(self) -> str:
        """Why the connection ended, as a clause; empty if unknown."""
        error = None if self._task.cancelled() else self._task.exception()
        observed = str(self._diagnostics)
        if error is None:
            return observed
        text = _clause(error)
        return f"{text}; {observed}" if observed and observed not in text else text

    async def _run(self) -> None:
        try:
            async with AsyncExitStack() as stack, asyncio.timeout(CONNECT_SECONDS) as timeout:
                client = await self._connect(stack)
                timeout.reschedule(None)
                self._diagnostics.refusal = (
                    ""  # an older server rejects the newer protocol's first request
                )
                self._opened.set_result(client)
                await self._closing.wait()
        finally:
            self._opened.cancel()

    async def _connect(self, stack: AsyncExitStack) -> Client:
        settings = self._settings
        transport = await stack.enter_async_context(
            open_stdio_transport(
                settings.transport, settings.name, self._diagnostics, self._closing.set
            )
            if isinstance(settings.transport, Command)
            else open_http_transport(settings.transport, self._diagnostics)
        )
        client = await stack.enter_async_context(Client(transport, cache=None))
        # The SDK would validate results with the server's schema, including its regular
        # expressions, on this event loop. Structured content is only used as text here.
        client.session.validate_tool_result = _accept  # type: ignore[method-assign]
        return client


async def _accept(name: str, result: CallToolResult) -> None: ...


def _retrieve_error(task: asyncio.Task[None]) -> None:
    """Keep asyncio from logging the error as never retrieved; `reason` reports it."""
    if not task.cancelled():
        task.exception()


def _clause(error: BaseException) -> str:
    """Describe an error, or the first one of a group, as a clause."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"it did not answer within {CONNECT_SECONDS:.0f} seconds"
    if isinstance(error, FileNotFoundError | PermissionError):
        return f"the command {error.filename!r} can't be run ({error.strerror})"
    if isinstance(error, MCPError):
        return error.message[:300]
    return describe_error(_first_cause(error))[:300]


def _first_cause(error: BaseException) -> BaseException:
    """Return the operating system's error behind a transport's: it is more specific."""
    while error.__cause__:
        error = error.__cause__
    return error
