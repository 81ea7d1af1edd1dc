"""Runs the tools that a model called, after asking the person for permission where required."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from chatapp.models.conversations.rounds import RunState, ToolRun
from chatapp.tools import Tool, ToolResult, shared_registry
from chatapp.upstream.wire.tool_calls import ToolCall

DENIED = ToolResult("The user denied this tool call.", is_error=True)

Show = Callable[[int, ToolRun], Awaitable[None]]
Allows = Callable[[Tool], Awaitable[bool]]


@dataclass(frozen=True)
class Question:
    """Whether a tool may be called, which the person is asked."""

    tool: Tool
    answer: asyncio.Future[bool]


class ToolRuns:
    """Runs the tool calls of one round concurrently. Cancelling `finish` cancels them."""

    def __init__(
        self,
        calls: list[ToolCall],
        show: Show,
        person: int,
        allows: Allows,
        off_servers: Collection[int] = (),
    ) -> None:
        """`person` is the primary key of the user on whose behalf the tools are called. `allows`
        tells whether they always allow a tool, and `off_servers` are those they switched off."""
        self._person = person
        self._allows = allows
        self._off_servers = off_servers
        self.runs = [ToolRun.of(call) for call in calls]
        self._calls = calls
        self._show = show
        self._questions: dict[int, Question] = {}

    async def finish(self) -> None:
        """Run every call and show each change of its state; return when all have a result."""
        async with asyncio.TaskGroup() as group:
            for index in range(len(self.runs)):
                group.create_task(self._run(index))

    def decide(self, index: int, allowed: bool, always: bool = False) -> None:
        """Set the person's decision on a call; a late one has no effect.

        If they `always` allow its tool, other calls of it don't wait either.
        """
        if index not in self._questions or self._questions[index].answer.done():
            return
        decided = self._questions[index]
        for question in self._questions.values() if always else [decided]:
            if question.tool == decided.tool and not question.answer.done():
                question.answer.set_result(allowed)

    async def _run(self, index: int) -> None:
        run, call = self.runs[index], self._calls[index]
        if call.parsed is None:
            text = f"The arguments are not a JSON object: {call.problem}."
            await self._end(index, RunState.FAILED, text)
            return
        tool = await shared_registry().find(call.name, self._person, self._off_servers)
        # Looked up only once: a second lookup could find a tool that nobody was asked about.
        if tool is None:
            text = f"There is no tool named {call.name[:100]!r}."
            await self._end(index, RunState.FAILED, text)
            return
        if tool.asks_first and not await self._is_allowed(index, tool):
            await self._end(index, RunState.DENIED, DENIED.text)
            return
        run.state = RunState.RUNNING
        await self._show(index, run)
        result = await shared_registry().call(tool, dict(call.parsed))
        state = RunState.FAILED if result.is_error else RunState.DONE
        await self._end(index, state, result.text)

    async def _is_allowed(self, index: int, tool: Tool) -> bool:
        if not tool.always_asks and await self._allows(tool):
            return True
        question = Question(tool, asyncio.get_running_loop().create_future())
        self._questions[index] = question
        run = self.runs[index]
        run.state, run.definition = RunState.ASKING, "" if tool.always_asks else tool.definition
        await self._show(index, run)
        return await question.answer

    async def _end(self, index: int, state: RunState, text: str) -> None:
        run = self.runs[index]
        run.state, run.result = state, text
        await self._show(index, run)
