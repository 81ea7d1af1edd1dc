"""Tool calls run concurrently, each with the person's permission where required."""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pytest

from chatapp.models.conversations.messages.rounds import RunState, ToolRun
from chatapp.realtime.generation import tool_runs
from chatapp.realtime.generation.tool_runs import DENIED, ToolRuns
from chatapp.rendering.fragments.words import state_words
from chatapp.tools import Progress, Report, ToolResult
from chatapp.upstream.wire.decoding.tool_calls import ToolCall


@dataclass(frozen=True)
class Tool:
    name: str
    always_asks: bool
    asks_first = True
    definition = "0" * 64
    title = "Delete a page"


class Toolbox:
    """A toolbox with one tool, which needs permission, once its server has listed it."""

    def __init__(self) -> None:
        self.is_listed = True
        self.always_asks = False
        self.always_allowed: set[str] = set()
        self.called: list[Mapping[str, object]] = []
        self.progress: list[Progress] = []
        self.goes_on = asyncio.Event()

    async def find(self, name: str, person: int, off_servers: Collection[int]) -> Tool | None:
        was_listed, self.is_listed = self.is_listed, True
        return Tool(name, self.always_asks) if was_listed and name != "unknown" else None

    async def allows(self, tool: Tool) -> bool:
        return tool.name in self.always_allowed

    async def call(self, tool: Tool, arguments: Mapping[str, object], report: Report) -> ToolResult:
        self.called.append(arguments)
        for progress in self.progress:
            report(progress)
            await self.goes_on.wait()
        return ToolResult("done")


class ShownRuns:
    """Records the states that were shown."""

    def __init__(self) -> None:
        self.states: list[tuple[int, RunState]] = []
        self.words: list[str] = []

    async def show(self, index: int, run: ToolRun) -> None:
        self.states.append((index, run.state))
        self.words.append(state_words(run))

    async def until(self, index: int, state: RunState) -> None:
        async with asyncio.timeout(10):
            while (index, state) not in self.states:  # noqa: ASYNC110 - waits for turns of the loop
                await asyncio.sleep(0)


@pytest.fixture
def toolbox(monkeypatch: pytest.MonkeyPatch) -> Toolbox:
    toolbox = Toolbox()
    monkeypatch.setattr(tool_runs, "shared_registry", lambda: toolbox)
    return toolbox


def call(name: str, **arguments: object) -> ToolCall:
    return ToolCall(0, "call", name, "", arguments)


def build_runs(toolbox: Toolbox, shown_runs: ShownRuns, *calls: ToolCall) -> ToolRuns:
    return ToolRuns(list(calls), shown_runs.show, 1, toolbox.allows)  # type: ignore[arg-type]


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_tool_that_needs_permission_runs_only_with_it(
    toolbox: Toolbox, allowed: bool
) -> None:
    shown_runs = ShownRuns()
    runs = build_runs(toolbox, shown_runs, call("delete", what=1))
    finishing = asyncio.create_task(runs.finish())
    await shown_runs.until(0, RunState.ASKING)
    assert (runs.runs[0].definition, runs.runs[0].title) == (Tool.definition, Tool.title)
    runs.decide(0, allowed)
    runs.decide(0, not allowed)  # only the first decision counts
    runs.decide(7, True)  # there is no such call
    await finishing
    [run] = runs.runs
    assert toolbox.called == ([{"what": 1}] if allowed else [])
    assert run.state is (RunState.DONE if allowed else RunState.DENIED)
    assert run.result == ("done" if allowed else DENIED.text)


async def test_a_tool_that_is_always_allowed_runs_without_a_question(toolbox: Toolbox) -> None:
    toolbox.always_allowed = {"delete"}
    runs = build_runs(toolbox, ShownRuns(), call("delete", what=1))
    await runs.finish()
    assert toolbox.called == [{"what": 1}]


async def test_a_tool_of_a_server_that_always_asks_is_asked_about(toolbox: Toolbox) -> None:
    toolbox.always_allowed, toolbox.always_asks, shown_runs = {"delete"}, True, ShownRuns()
    runs = build_runs(toolbox, shown_runs, call("delete"))
    finishing = asyncio.create_task(runs.finish())
    await shown_runs.until(0, RunState.ASKING)
    assert runs.runs[0].definition == ""
    runs.decide(0, False)
    await finishing
    assert toolbox.called == []


async def test_always_allowing_a_tool_answers_for_its_other_calls(toolbox: Toolbox) -> None:
    shown_runs = ShownRuns()
    runs = build_runs(toolbox, shown_runs, call("delete"), call("delete"), call("create"))
    finishing = asyncio.create_task(runs.finish())
    for index in range(3):
        await shown_runs.until(index, RunState.ASKING)
    runs.decide(1, True, always=True)
    await shown_runs.until(0, RunState.DONE)
    await shown_runs.until(1, RunState.DONE)
    assert runs.runs[2].state is RunState.ASKING
    runs.decide(2, False)
    await finishing


async def test_a_tool_listed_a_moment_later_does_not_run_without_permission(
    toolbox: Toolbox,
) -> None:
    toolbox.is_listed = False
    runs = build_runs(toolbox, ShownRuns(), call("delete", what=1))
    await runs.finish()
    assert runs.runs[0].state is RunState.FAILED
    assert toolbox.called == []


async def test_arguments_that_are_no_object_are_reported_to_the_model(toolbox: Toolbox) -> None:
    invalid = ToolCall(0, "call", "delete", "[1", problem="an end is missing")
    runs = build_runs(toolbox, ShownRuns(), invalid)
    await runs.finish()
    assert runs.runs[0].state is RunState.FAILED
    assert "not a JSON object: an end is missing." in runs.runs[0].result
    assert toolbox.called == []


async def test_a_call_waiting_for_permission_does_not_block_others(toolbox: Toolbox) -> None:
    shown_runs = ShownRuns()
    runs = build_runs(toolbox, shown_runs, call("delete"), call("unknown"))
    finishing = asyncio.create_task(runs.finish())
    await shown_runs.until(1, RunState.FAILED)
    assert not finishing.done()
    assert runs.runs[1].result == "There is no tool named 'unknown'."
    finishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await finishing


async def test_progress_is_shown_in_the_line_of_the_call(toolbox: Toolbox) -> None:
    toolbox.always_allowed, shown_runs = {"search"}, ShownRuns()
    toolbox.progress = [Progress(3, 10), Progress(4, 10, "Reading  page 4\n")]
    runs = build_runs(toolbox, shown_runs, call("search"))
    finishing = asyncio.create_task(runs.finish())
    async with asyncio.timeout(10):
        while "3 of 10" not in shown_runs.words:  # noqa: ASYNC110 - waits for turns of the loop
            await asyncio.sleep(0)
    toolbox.goes_on.set()
    await finishing
    assert shown_runs.words[-1] == "done"
    assert "progress" not in runs.runs[0].as_record()


async def test_many_reports_are_shown_seldom(toolbox: Toolbox) -> None:
    toolbox.always_allowed, shown_runs = {"search"}, ShownRuns()
    toolbox.progress = [Progress(number) for number in range(10_000)]
    toolbox.goes_on.set()
    await build_runs(toolbox, shown_runs, call("search")).finish()
    assert len(shown_runs.words) < 20
    assert shown_runs.words[-1] == "done"


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (Progress(3, 10), "3 of 10"),
        (Progress(0.5), "0.5"),
        (Progress(float("nan"), 1), ""),
        (Progress(1, float("inf")), "1"),
        (Progress(1, 2, "  \n"), "1 of 2"),
        (Progress(1, 2, "<b>" + "x" * 500), "<b>" + "x" * 116 + "…"),
    ],
)
def test_progress_in_words(progress: Progress, words: str) -> None:
    assert progress.words == words
