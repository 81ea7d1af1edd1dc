"""Runs the tools that a model called, after asking the person for permission where required."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from chatapp.models.conversations.messages.rounds import RunImage, RunState, ToolRun
from chatapp.tools import Progress, Tool, ToolImage, ToolResult, shared_registry
from chatapp.upstream.wire.decoding.tool_calls import ToolCall

DENIED = ToolResult("The user denied this tool call.", is_error=True)

Show = Callable[[int, ToolRun], Awaitable[None]]
Allows = Callable[[Tool], Awaitable[bool]]
# Stores images, and returns those that were stored and sentences about the others.
KeepImages = Callable[[Sequence[ToolImage]], Awaitable[tuple[list[RunImage], list[str]]]]

PROGRESS_SECONDS = 0.5  # between two reports that are shown


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
        keep_images: KeepImages | None = None,
    ) -> None:
        """`person` is the primary key of the user on whose behalf the tools are called. `allows`
        tells whether they always allow a tool, and `off_servers` are those they switched off.
        `keep_images` stores the images of results, which are left out without it."""
        self._keep_images = keep_images
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
        decided_question = self._questions[index]
        for question in self._questions.values() if always else [decided_question]:
            if question.tool == decided_question.tool and not question.answer.done():
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
        run.title = tool.title
        if tool.asks_first and not await self._is_allowed(index, tool):
            await self._end(index, RunState.DENIED, DENIED.text)
            return
        run.state = RunState.RUNNING
        await self._show(index, run)
        progress = ShownProgress(run, partial(self._show, index))
        try:
            result = await shared_registry().call(tool, dict(call.parsed), progress.report)
        finally:
            await progress.end()
        state = RunState.FAILED if result.is_error else RunState.DONE
        text = result.text
        if result.images and self._keep_images:
            run.images, notes = await self._keep_images(result.images)
            text = "\n\n".join([text, *notes])
        await self._end(index, state, text)

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


class ShownProgress:
    """Shows what a tool reports of its progress, the latest report at a time.

    A server may report as often as it likes.
    """

    def __init__(self, run: ToolRun, show: Callable[[ToolRun], Awaitable[None]]) -> None:
        self._run, self._show = run, show
        self._showing: asyncio.Task[None] | None = None

    def report(self, progress: Progress) -> None:
        if progress.words != self._run.progress:
            self._run.progress = progress.words
            if self._showing is None or self._showing.done():
                self._showing = asyncio.create_task(self._show_latest())

    async def end(self) -> None:
        """Show nothing more."""
        self._run.progress = ""
        if self._showing:
            self._showing.cancel()
            with suppress(asyncio.CancelledError):
                await self._showing

    async def _show_latest(self) -> None:
        shown_words = ""
        while shown_words != self._run.progress:
            shown_words = self._run.progress
            await self._show(self._run)
            await asyncio.sleep(PROGRESS_SECONDS)
