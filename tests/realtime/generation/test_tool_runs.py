"""Tool calls run concurrently, each with the person's permission where required."""

import asyncio
from collections.abc import Mapping

import pytest

from chatapp.models.conversations.rounds import RunState, ToolRun
from chatapp.realtime.generation import tool_runs
from chatapp.realtime.generation.tool_runs import DENIED, ToolRuns
from chatapp.tools import ToolResult
from chatapp.upstream.wire.tool_calls import ToolCall


class Tool:
    asks_first = True


class Toolbox:
    """A toolbox with one tool, which needs permission, once its server has listed it."""

    def __init__(self) -> None:
        self.is_listed = True
        self.called: list[Mapping[str, object]] = []

    async def find(self, name: str, person: int) -> Tool | None:
        was_listed, self.is_listed = self.is_listed, True
        return Tool() if was_listed and name == "delete" else None

    async def call(self, tool: Tool, arguments: Mapping[str, object]) -> ToolResult:
        self.called.append(arguments)
        return ToolResult("done")


class Shown:
    """Records the states that were shown."""

    def __init__(self) -> None:
        self.states: list[tuple[int, RunState]] = []

    async def show(self, index: int, run: ToolRun) -> None:
        self.states.append((index, run.state))

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


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_tool_that_needs_permission_runs_only_with_it(
    toolbox: Toolbox, allowed: bool
) -> None:
    shown = Shown()
    runs = ToolRuns([call("delete", what=1)], shown.show, 1)
    finishing = asyncio.create_task(runs.finish())
    await shown.until(0, RunState.ASKING)
    runs.decide(0, allowed)
    runs.decide(0, not allowed)  # only the first decision counts
    runs.decide(7, True)  # there is no such call
    await finishing
    [run] = runs.runs
    assert toolbox.called == ([{"what": 1}] if allowed else [])
    assert run.state is (RunState.DONE if allowed else RunState.DENIED)
    assert run.result == ("done" if allowed else DENIED.text)


async def test_a_tool_listed_a_moment_later_does_not_run_without_permission(
    toolbox: Toolbox,
) -> None:
    toolbox.is_listed = False
    runs = ToolRuns([call("delete", what=1)], Shown().show, 1)
    await runs.finish()
    assert runs.runs[0].state is RunState.FAILED
    assert toolbox.called == []


async def test_arguments_that_are_no_object_are_reported_to_the_model(toolbox: Toolbox) -> None:
    shown = Shown()
    runs = ToolRuns(
        [ToolCall(0, "call", "delete", "[1", problem="an end is missing")], shown.show, 1
    )
    await runs.finish()
    assert runs.runs[0].state is RunState.FAILED
    assert "not a JSON object: an end is missing." in runs.runs[0].result
    assert toolbox.called == []


async def test_a_call_waiting_for_permission_does_not_block_others(toolbox: Toolbox) -> None:
    shown = Shown()
    runs = ToolRuns([call("delete"), call("unknown")], shown.show, 1)
    finishing = asyncio.create_task(runs.finish())
    await shown.until(1, RunState.FAILED)
    assert not finishing.done()
    assert runs.runs[1].result == "There is no tool named 'unknown'."
    finishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await finishing
