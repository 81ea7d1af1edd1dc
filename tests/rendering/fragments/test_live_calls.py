"""Tool calls of a streaming reply, collected from their fragments."""

from uuid import UUID

import pytest

from chatapp.models import Message
from chatapp.models.conversations.messages.rounds import RunState, ToolRun
from chatapp.rendering.fragments.live_calls import LiveCalls
from chatapp.rendering.fragments.replies import MAX_SHOWN_LENGTH

FIRST, SECOND = (0, "2"), (0, "10")


@pytest.fixture
def calls() -> LiveCalls:
    return LiveCalls(Message(pk=UUID(int=7), role="assistant"))


def test_arguments_are_appended_and_added_until_the_next_fragments(calls: LiveCalls) -> None:
    assert calls.write(FIRST, "call_0", "now", "{")
    assert not calls.write(FIRST, "call_0", "", "}")
    assert calls.added_arguments(FIRST) == "{}"
    calls.forget_changes()
    assert calls.added_arguments(FIRST) == ""
    call = calls.get(FIRST)
    assert call
    assert (call.run.name, call.run.arguments) == ("now", "{}")


def test_a_late_name_makes_a_call_stale(calls: LiveCalls) -> None:
    calls.write(FIRST, "call_0", "", "{}")
    assert not calls.is_stale(FIRST)
    calls.write(FIRST, "call_0", "now", "")
    assert calls.is_stale(FIRST)


def test_a_run_is_shown_at_its_call_in_the_order_of_numeric_indexes(calls: LiveCalls) -> None:
    calls.write(SECOND, "call_10", "then", "")
    calls.write(FIRST, "call_2", "now", "")
    calls.show_run(0, 0, ToolRun("call_2", "now", "{}", RunState.RUNNING))
    assert (calls.is_stale(FIRST), calls.is_stale(SECOND)) == (True, False)
    call = calls.get(FIRST)
    assert call
    assert call.run.state is RunState.RUNNING


def test_what_is_left_out_of_long_arguments_is_counted_and_shown_at_the_end(
    calls: LiveCalls,
) -> None:
    calls.write(FIRST, "call_0", "now", "x" * (MAX_SHOWN_LENGTH + 5))
    calls.write(FIRST, "call_0", "", "yy")
    call = calls.get(FIRST)
    assert call
    assert (len(call.run.arguments), call.unshown) == (MAX_SHOWN_LENGTH, 7)
    assert not calls.is_stale(FIRST)
    calls.finish()
    assert calls.is_stale(FIRST)
