"""All tools of the process: what is offered, and calls that always give a result."""

import asyncio
from collections.abc import Sequence
from typing import Any

from channels.db import database_sync_to_async

from chatapp.models import ToolServer
from chatapp.tools.clock import CLOCK, read_clock
from chatapp.tools.settings import ServerSettings
from chatapp.tools.shelf import Listing, Shelf
from chatapp.tools.tool import (
    InvalidArguments,
    Tool,
    ToolResult,
    check_arguments,
    name_for_model,
)

PATIENCE_SECONDS = 3.0  # a prompt waits no longer for a server's first listing
CHECK_SECONDS = 15.0  # an administrator who looks at a server does
TOOLS_LIMIT = 128


class Toolbox:
    """Belongs to one event loop; servers are connected when their tools are first asked for."""

    def __init__(self) -> None:
        self._shelves: dict[int, Shelf] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def tools(
        self,
        servers: Sequence[ToolServer] | None = None,
        *,
        has_clock: bool = True,
        person: int | None = None,
    ) -> list[Tool]:
        """The built-in tool, unless it is unwanted, and those of every enabled server that has
        told its own: of `servers`, where who asks has just read which are enabled. Where a `person`
        is named, by their primary key, what is not open to them is left out.

        A server's first listing is waited for, three seconds at most; what it tells later is
        offered from then on, and `problems` says why a server offers nothing.
        """
        if servers is None:
            servers = await database_sync_to_async(ToolServer.all_enabled)(person)
        await self._stock(servers)
        tools = {CLOCK.name: CLOCK} if has_clock else {}
        for server in (one for one in servers if one.is_open):
            for tool in _tools_of(server, self._listing(server)):
                tools.setdefault(tool.name, tool)
        return list(tools.values())[:TOOLS_LIMIT]

    async def problems(self) -> list[str]:
        """A sentence for each enabled server that offers nothing at the moment."""
        servers = await database_sync_to_async(ToolServer.all_enabled)()
        await self._stock(servers)
        return [problem for server in servers if (problem := self._listing(server).problem)]

    async def find(self, name: str, person: int | None = None) -> Tool | None:
        """The tool that the model calls `name`, as it is configured now, for this person."""
        tools = await self.tools(person=person)
        return next((tool for tool in tools if tool.name == name), None)

    async def call(self, tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        """Runs a tool that `find` gave: the one that a person was asked about, and no other that
        has its name by now. Every failure is a result; only cancelling it raises, after
        cancelling it at the server."""
        try:
            check_arguments(arguments)
        except InvalidArguments as invalid:
            return ToolResult(f"The tool did not run: {invalid}.", is_error=True)
        if tool is CLOCK:
            return read_clock(arguments)
        shelves = (one for one in self._shelves.values() if one.settings.name == tool.source)
        if shelf := next(shelves, None):
            return await shelf.call(tool.own_name, arguments)
        return ToolResult(f"The tool server {tool.source} is not there any more.", is_error=True)

    async def aclose(self) -> None:
        """Ends running calls, sessions and commands; the toolbox may be used again afterwards."""
        self._retire(list(self._shelves))
        if self._closing:
            await asyncio.wait(self._closing)

    async def _stock(self, servers: Sequence[ToolServer]) -> None:
        """Makes the shelves those of `servers`, and waits a little for first listings."""
        usable = [server for server in servers if not server.secret_problem]
        wanted = {server.pk: ServerSettings.of(server) for server in usable}
        self._retire(
            [pk for pk, shelf in self._shelves.items() if shelf.settings != wanted.get(pk)]
        )
        for pk, settings in wanted.items():
            self._shelves.setdefault(pk, Shelf(settings))
        renewals = [(shelf, shelf.renew()) for shelf in self._shelves.values()]
        first = [task for shelf, task in renewals if task and shelf.listing is None]
        if first:
            await asyncio.wait(first, timeout=PATIENCE_SECONDS)

    def _listing(self, server: ToolServer) -> Listing:
        if server.secret_problem:
            return Listing(problem=server.secret_problem)
        shelf = self._shelves.get(server.pk)
        if shelf is None or shelf.listing is None:
            return Listing(problem=f"The tool server {server.name} has not told its tools yet.")
        return shelf.listing

    def _retire(self, pks: list[int]) -> None:
        for pk in pks:
            task = asyncio.create_task(self._shelves.pop(pk).aclose())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


def _tools_of(server: ToolServer, listing: Listing) -> list[Tool]:
    return [
        Tool(
            name=name_for_model(server.name, tool.name),
            own_name=tool.name,
            source=server.name,
            description=tool.description,
            parameters={"properties": {}} | tool.parameters | {"type": "object"},
            asks_first=server.asks_before(tool.name),
        )
        for tool in listing.tools
    ]


async def offered_by(server: ToolServer) -> tuple[list[Tool], str]:
    """What a server offers right now, asked over a connection of its own; the tools or a problem.

    For the administration, which may run on another event loop than the chat.
    """
    if server.secret_problem:
        return [], server.secret_problem
    shelf = Shelf(ServerSettings.of(server))
    try:
        renewal = shelf.renew()
        assert renewal
        await asyncio.wait([renewal], timeout=CHECK_SECONDS)
        late = f"The tool server {server.name} did not answer within {CHECK_SECONDS:g} seconds."
        listing = shelf.listing or Listing(problem=late)
    finally:
        await shelf.aclose()
    return _tools_of(server, listing), listing.problem


_shared: Toolbox | None = None


def shared_toolbox() -> Toolbox:
    """The one `Toolbox` of this process, made on the event loop that asks first."""
    global _shared
    if _shared is None:
        _shared = Toolbox()
    return _shared


async def close_shared_toolbox() -> None:
    """Closes and forgets the process's `Toolbox`."""
    global _shared
    if _shared is not None:
        await _shared.aclose()
        _shared = None
