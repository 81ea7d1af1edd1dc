"""One connection to an MCP server, opened and closed by a task of its own.

The SDK's scopes must be left in the task that entered them, and calls come from any task; so the
task here enters, hands the client out, waits until it is to close, and leaves. A connection is
used once: when it has ended, for whatever reason, a new one takes its place.
"""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from mcp import Client, MCPError
from mcp_types import CallToolResult

from chatapp.tools.settings import Command, ServerSettings
from chatapp.tools.transports import Noted, over_http, over_stdio
from chatapp.upstream.os_errors import words_of

CONNECT_SECONDS = 30.0  # `uvx` and `npx` may have to fetch a package first


class ConnectionFailed(Exception):
    """Why there is no connection, as part of a sentence."""


class Connection:
    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._noted = Noted()
        self._closing = asyncio.Event()
        self._opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold())
        self._task.add_done_callback(_look_at_its_error)

    @property
    def is_usable(self) -> bool:
        return not self._closing.is_set() and not self._task.done()

    @property
    def is_forgotten(self) -> bool:
        """Whether the server was restarted and knows nothing of us: what was asked did not run."""
        return self._noted.is_forgotten

    @property
    def is_open(self) -> bool:
        return self._opened.done() and self.is_usable

    async def client(self) -> Client:
        """The client, as soon as it has connected; raises `ConnectionFailed`."""
        either: list[asyncio.Future[Any]] = [self._opened, self._task]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if self._task.done():
            raise ConnectionFailed(self.reason or "it ended the connection")
        return self._opened.result()

    async def aclose(self) -> None:
        self._closing.set()
        if not self._opened.done():
            self._task.cancel()
        await asyncio.wait([self._task])

    @property
    def reason(self) -> str:
        """Why it ended, as part of a sentence; empty where nothing was seen of it."""
        error = None if self._task.cancelled() else self._task.exception()
        said = str(self._noted)
        if error is None:
            return said
        text = _sentence_part(error)
        return f"{text}; {said}" if said and said not in text else text

    async def _hold(self) -> None:
        try:
            async with AsyncExitStack() as stack, asyncio.timeout(CONNECT_SECONDS) as patience:
                client = await self._connect(stack)
                patience.reschedule(None)
                self._noted.refusal = ""  # an older server refuses the newer protocol's greeting
                self._opened.set_result(client)
                await self._closing.wait()
        finally:
            self._opened.cancel()

    async def _connect(self, stack: AsyncExitStack) -> Client:
        settings = self._settings
        transport = await stack.enter_async_context(
            over_stdio(settings.reached_by, settings.name, self._noted, self._closing.set)
            if isinstance(settings.reached_by, Command)
            else over_http(settings.reached_by, self._noted)
        )
        client = await stack.enter_async_context(Client(transport, cache=None))
        # The SDK would run the server's own output schema, regular expressions and all, on this
        # loop. Nothing here reads structured content but as text.
        client.session.validate_tool_result = _accept  # type: ignore[method-assign]
        return client


async def _accept(name: str, result: CallToolResult) -> None: ...


def _look_at_its_error(task: asyncio.Task[None]) -> None:
    """`reason` tells it; without this asyncio would log it as never retrieved."""
    if not task.cancelled():
        task.exception()


def _sentence_part(error: BaseException) -> str:
    """The first error of a group, in words."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"it did not answer within {CONNECT_SECONDS:.0f} seconds"
    if isinstance(error, FileNotFoundError | PermissionError):
        return f"the command {error.filename!r} can't be run ({error.strerror})"
    if isinstance(error, MCPError):
        return error.message[:300]
    return words_of(_first_cause(error))[:300]


def _first_cause(error: BaseException) -> BaseException:
    """Of an error of the transport's: what the operating system said, which says more."""
    while error.__cause__:
        error = error.__cause__
    return error
