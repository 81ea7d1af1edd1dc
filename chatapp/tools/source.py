"""Cache the tools of one configured server, listing them again in the background.

A chat never waits for a refresh, and only briefly for a server's first listing.
"""

import asyncio
import logging
import time
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from chatapp.tools.settings import ServerSettings
from chatapp.tools.tool import Report, ToolResult

if TYPE_CHECKING:
    from chatapp.tools.servers import McpServer, OfferedTool

logger = logging.getLogger(__name__)

FRESH_SECONDS = 60.0
RETRY_SECONDS = 10.0


@dataclass(frozen=True)
class Listing:
    """A server's tools, or a sentence that says why there are none."""

    tools: "tuple[OfferedTool, ...]" = ()
    problem: str = ""


class ToolSource:
    """One server with one configuration; a changed configuration needs a new `ToolSource`."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.listing: Listing | None = None
        self._listed_at = 0.0
        self._renewal: asyncio.Task[None] | None = None
        self._server: McpServer | None = None
        self._is_closed = False

    def renew(self) -> "asyncio.Task[None] | None":
        """List the tools again if the listing is old; return the task that does."""
        is_running = self._renewal is not None and not self._renewal.done()
        if not is_running and not self._is_fresh():
            self._renewal = asyncio.create_task(self._renew())
        return self._renewal

    async def call(
        self, name: str, arguments: dict[str, Any], report: Report | None = None
    ) -> ToolResult:
        server = await self._open()
        from chatapp.tools.servers import ServerFailed

        try:
            return await server.call(name, arguments, report)
        except ServerFailed as failed:
            return ToolResult(str(failed), is_error=True)

    async def aclose(self) -> None:
        """End calls on the server, and the server itself if it is a command that we started."""
        self._is_closed = True
        if self._renewal and self._renewal.cancel():
            await asyncio.wait([self._renewal])
        if self._server:
            await self._server.aclose()

    def _is_fresh(self) -> bool:
        if self.listing is None:
            return False
        fresh = RETRY_SECONDS if self.listing.problem else FRESH_SECONDS
        return time.monotonic() - self._listed_at < fresh

    async def _renew(self) -> None:
        server = await self._open()
        from chatapp.tools.servers import ServerFailed

        try:
            self.listing = Listing(tuple(await server.list_tools()))
        except ServerFailed as failed:
            self.listing = Listing(problem=str(failed))
            logger.warning("%s", failed)
        self._listed_at = time.monotonic()

    async def _open(self) -> "McpServer":
        if self._server is None:
            # In a thread, because importing the SDK would block every stream for most of a second.
            await asyncio.to_thread(import_module, "chatapp.tools.servers")
            from chatapp.tools.servers import McpServer

            self._server = self._server or McpServer(self.settings)
            if self._is_closed:  # meanwhile, so this call must not start the server
                await self._server.aclose()
        return self._server
