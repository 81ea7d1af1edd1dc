"""The tools of a process: list those to offer, and call them, always with a result."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Any

from channels.db import database_sync_to_async

from chatapp.models import ToolServer
from chatapp.tools.clock import CLOCK, read_clock
from chatapp.tools.settings import ServerSettings
from chatapp.tools.source import Listing, ToolSource
from chatapp.tools.tool import (
    InvalidArguments,
    Report,
    Tool,
    ToolResult,
    check_arguments,
    name_for_model,
)

PATIENCE_SECONDS = 3.0  # how long a prompt waits for a server's first listing
CHECK_SECONDS = 15.0  # how long an administrator's page waits for it
TOOLS_LIMIT = 128


class ToolRegistry:
    """All tools of one event loop. Servers are connected when their tools are first requested."""

    def __init__(self) -> None:
        self._sources: dict[int, ToolSource] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def tools(
        self,
        servers: Sequence[ToolServer] | None = None,
        *,
        has_clock: bool = True,
        person: int | None = None,
    ) -> list[Tool]:
        """Return the tools to offer: the clock if `has_clock`, and those of all enabled servers.

        Pass `servers` if you have just read which are enabled. With `person` (a primary key), only
        the tools open to that person are returned.

        Waits at most three seconds for a server's first listing; a listing that comes later counts
        from the next call on. `problems` says why a server offers nothing.
        """
        if servers is None:
            servers = await database_sync_to_async(ToolServer.all_enabled)(person)
        await self._update_sources(servers)
        tools = {CLOCK.name: CLOCK} if has_clock else {}
        for server in (candidate for candidate in servers if candidate.is_open):
            for tool in _build_tools(server, self._listing(server)):
                tools.setdefault(tool.name, tool)
        return list(tools.values())[:TOOLS_LIMIT]

    def get_title(self, name: str) -> str:
        """Return the title that a server last gave the tool which models know as `name`, or "".

        Any thread may call this. For many names, look them up in `titles`.
        """
        return self.titles().get(name, "")

    def titles(self) -> dict[str, str]:
        """Return the titles of all listed tools, by their names for models.

        Any thread may call this.
        """
        titles: dict[str, str] = {}
        for source in self._sources.copy().values():
            for tool in source.listing.tools if source.listing else ():
                titles.setdefault(name_for_model(source.settings.name, tool.name), tool.title)
        return titles

    async def problems(self) -> list[str]:
        """Return a sentence for each enabled server that currently offers nothing."""
        servers = await database_sync_to_async(ToolServer.all_enabled)()
        await self._update_sources(servers)
        return [problem for server in servers if (problem := self._listing(server).problem)]

    async def find(
        self, name: str, person: int | None = None, off_servers: Collection[int] = ()
    ) -> Tool | None:
        """Return the tool that the model knows as `name`, as configured now for this person.

        Tools of `off_servers`, by their primary keys, are not found.
        """
        servers = await database_sync_to_async(ToolServer.all_enabled)(person)
        for server in servers:
            if server.pk in off_servers:
                server.close()
        return next((tool for tool in await self.tools(servers) if tool.name == name), None)

    async def call(
        self, tool: Tool, arguments: dict[str, Any], report: Report | None = None
    ) -> ToolResult:
        """Call a tool that `find` returned. `report` is told of its progress.

        Taking a `Tool` and not its name makes sure that exactly the tool that a person allowed is
        called. Every failure becomes a result. Cancelling this cancels the call at the server.
        """
        try:
            check_arguments(arguments)
        except InvalidArguments as invalid:
            return ToolResult(f"The tool did not run: {invalid}.", is_error=True)
        if tool is CLOCK:
            return read_clock(arguments)
        sources = (
            candidate
            for candidate in self._sources.values()
            if candidate.settings.name == tool.source
        )
        if source := next(sources, None):
            return await source.call(tool.own_name, arguments, report)
        return ToolResult(f"The tool server {tool.source} is no longer available.", is_error=True)

    async def aclose(self) -> None:
        """End running calls, sessions and commands; the toolbox can be used again afterwards."""
        self._retire(list(self._sources))
        if self._closing:
            await asyncio.wait(self._closing)

    async def _update_sources(self, servers: Sequence[ToolServer]) -> None:
        """Replace the sources by those of `servers`, and wait a little for first listings."""
        usable = [server for server in servers if not server.secret_problem]
        settings_by_pk = {server.pk: ServerSettings.of(server) for server in usable}
        self._retire(
            [
                pk
                for pk, source in self._sources.items()
                if source.settings != settings_by_pk.get(pk)
            ]
        )
        for pk, settings in settings_by_pk.items():
            self._sources.setdefault(pk, ToolSource(settings))
        renewals = [(source, source.renew()) for source in self._sources.values()]
        first = [task for source, task in renewals if task and source.listing is None]
        if first:
            await asyncio.wait(first, timeout=PATIENCE_SECONDS)

    def _listing(self, server: ToolServer) -> Listing:
        if server.secret_problem:
            return Listing(problem=server.secret_problem)
        source = self._sources.get(server.pk)
        if source is None or source.listing is None:
            return Listing(problem=f"The tool server {server.name} has not listed its tools yet.")
        return source.listing

    def _retire(self, pks: list[int]) -> None:
        for pk in pks:
            task = asyncio.create_task(self._sources.pop(pk).aclose())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


def _build_tools(server: ToolServer, listing: Listing) -> list[Tool]:
    return [
        Tool(
            name=name_for_model(server.name, tool.name),
            own_name=tool.name,
            source=server.name,
            description=tool.description,
            parameters={"properties": {}} | tool.parameters | {"type": "object"},
            asks_first=server.asks_before(tool.name),
            always_asks=server.always_asks,
            title=tool.title,
        )
        for tool in listing.tools
    ]


async def list_server_tools(server: ToolServer) -> tuple[list[Tool], str]:
    """List a server's tools over a new connection; return them, and a problem or "".

    For the pages of staff, which may run on another event loop than the chat.
    """
    if server.secret_problem:
        return [], server.secret_problem
    source = ToolSource(ServerSettings.of(server))
    try:
        renewal = source.renew()
        assert renewal
        await asyncio.wait([renewal], timeout=CHECK_SECONDS)
        late = f"The tool server {server.name} did not answer within {CHECK_SECONDS:g} seconds."
        listing = source.listing or Listing(problem=late)
    finally:
        await source.aclose()
    return _build_tools(server, listing), listing.problem


_shared: ToolRegistry | None = None


def shared_registry() -> ToolRegistry:
    """Return the process's only `ToolRegistry`, created on the event loop that first calls this."""
    global _shared
    if _shared is None:
        _shared = ToolRegistry()
    return _shared


async def close_shared_registry() -> None:
    """Close and forget the process's `ToolRegistry`."""
    global _shared
    if _shared is not None:
        await _shared.aclose()
        _shared = None
