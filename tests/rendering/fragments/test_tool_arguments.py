"""The arguments of a tool call as a table."""

import json
from uuid import uuid4

import pytest

from chatapp.models.conversations.messages.rounds import RunState, ToolRun
from chatapp.rendering.fragments.replies import MAX_SHOWN_LENGTH, CallRegion
from chatapp.rendering.fragments.tool_arguments import MAX_DEPTH, MAX_ROWS, Argument, argument_rows


def test_each_argument_has_a_row_with_its_value() -> None:
    arguments = (
        '{"q": "<b>sky</b>", "pages": [1, 2.5], "exact": true, "from": null, "at": "\\u0000"}'
    )
    assert argument_rows(arguments, 1000) == [
        Argument("q", "<b>sky</b>", is_json=False),
        Argument("pages", "[\n  1,\n  2.5\n]", is_json=True),
        Argument("exact", "true", is_json=True),
        Argument("from", "null", is_json=True),
        Argument("at", "\N{REPLACEMENT CHARACTER}", is_json=False),
    ]


def nest_lists(depth: int) -> str:
    return f'{{"a": {"[" * depth}{"]" * depth}}}'


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "{}",
        "null",
        "[1]",
        '{"query": "sk',
        '{"query": ' + "[" * 5000,
        nest_lists(MAX_DEPTH + 1),
        json.dumps(dict.fromkeys(map(str, range(MAX_ROWS + 1)))),
        '{"long": "' + "x" * 1000 + '"}',
        '{"grows": [' + "[0]," * 90 + "0]}",
    ],
)
def test_other_arguments_stay_text(arguments: str) -> None:
    assert not argument_rows(arguments, 1000)


def test_the_deepest_and_the_most_values_still_have_rows() -> None:
    longest = json.dumps(dict.fromkeys(map(str, range(MAX_ROWS))))
    assert len(argument_rows(nest_lists(MAX_DEPTH), 1000)) == 1
    assert len(argument_rows(longest, 1000)) == MAX_ROWS


@pytest.mark.parametrize("state", RunState)
def test_arguments_are_text_while_they_arrive_or_if_some_are_missing(state: RunState) -> None:
    run = ToolRun("call_1", "look", '{"x": 1}', state)
    assert bool(CallRegion(0, 0, run, "c1", uuid4()).argument_rows) is (
        state is not RunState.WRITING
    )
    assert not CallRegion(0, 0, run, "c1", uuid4(), unshown=MAX_SHOWN_LENGTH).argument_rows
