"""Runs the tools that a model called, after asking the person for permission where required."""

import asyncio
from collections.abc import Awaitable, Callable

from chatapp.models.conversations.rounds import RunState, ToolRun
from chatapp.tools import ToolResult, shared_registry
from chatapp.upstream.wire.tool_calls import ToolCall

DENIED = ToolResult("The user denied this tool call.", is_error=True)

Show = Callable[[int, ToolRun], Awaitable[None]]


class ToolRuns:
    """Runs the tool calls of one round concurrently. Cancelling `finish` cancels them."""

    def __init__(self, calls: list[ToolCall], show: Show, person: int) -> None:
        """`person` is the primary key of the user on whose behalf the tools are called."""
        self._person = person
        self.runs = [ToolRun.of(call) for call in calls]
        self._calls = calls
        self._show = show
        self._permissions: dict[int, asyncio.Future[bool]] = {}

    async def finish(self) -> None:
        """Run every call and show each change of its state; return when all have a result."""
        async with asyncio.TaskGroup() as group:
            for index in range(len(self.runs)):
                group.create_task(self._run(index))

    def decide(self, index: int, allowed: bool) -> None:
        """Set the person's decision on a call; a late one has no effect."""
        permission = self._permissions.get(index)
        if permission and not permission.done():
            permission.set_result(allowed)

    async def _run(self, index: int) -> None:
        run, call = self.runs[index], self._calls[index]
        if call.parsed is None:
            text = f"The arguments are not a JSON object: {call.problem}."
            await self._end(index, RunState.FAILED, text)
            return
        tool = await shared_registry().find(call.name, self._person)
        # Looked up only once: a second lookup could find a tool that nobody was asked about.
        if tool is None:
            text = f"There is no tool named {call.name[:100]!r}."
            await self._end(index, RunState.FAILED, text)
            return
        if tool.asks_first and not await self._is_allowed(index):
            await self._end(index, RunState.DENIED, DENIED.text)
            return
        run.state = RunState.RUNNING
        await self._show(index, run)
        result = await shared_registry().call(tool, dict(call.parsed))
        state = RunState.FAILED if result.is_error else RunState.DONE
        await self._end(index, state, result.text)

    async def _is_allowed(self, index: int) -> bool:
        self._permissions[index] = asyncio.get_running_loop().create_future()
        self.runs[index].state = RunState.ASKING
        await self._show(index, self.runs[index])
        return await self._permissions[index]

    async def _end(self, index: int, state: RunState, text: str) -> None:
        run = self.runs[index]
        run.state, run.result = state, text
        await self._show(index, run)
