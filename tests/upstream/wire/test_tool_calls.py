"""Assigning fragments to tool calls, however the upstream numbers them."""

from typing import Any

import pytest

from chatapp.upstream.wire.errors.upstream_error import ErrorKind
from chatapp.upstream.wire.events import ToolCallDelta
from tests.support.fake_upstream import choice, delta, finish
from tests.upstream import decode_events, decode_reply


def decode_calls(*deltas: dict[str, Any]) -> list[tuple[str, str, str]]:
    reply = decode_reply(*(choice(delta) for delta in deltas), finish("tool_calls"))
    return [(call.id, call.name, call.arguments) for call in reply.tool_calls]


def fragment(
    index: object = None, id: object = None, name: str | None = None, arguments: object = ""
) -> dict[str, Any]:
    return {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}


def test_fragments_join_by_index_in_any_order() -> None:
    deltas = [
        {"tool_calls": [fragment(1, "b", "g"), fragment(0, "a", "f", "{")]},
        {"tool_calls": [fragment(1, arguments="[")]},
        {"tool_calls": [fragment(0, arguments="}"), fragment(1, arguments="]")]},
    ]
    assert decode_calls(*deltas) == [("a", "f", "{}"), ("b", "g", "[]")]


@pytest.mark.parametrize(
    ("fragments", "calls"),
    [
        (
            [
                fragment(None, "a", "f", "{"),
                fragment(None, "a", None, "}"),
                fragment(None, "b", "g"),
            ],
            [("a", "f", "{}"), ("b", "g", "")],
        ),
        (
            [fragment(None, "a", "f", "{"), fragment(arguments="}")],
            [("a", "f", "{}")],
        ),
        (
            [fragment(None, None, "f", "{}"), fragment(None, None, "g", "{}")],
            [("call_0", "f", "{}"), ("call_1", "g", "{}")],
        ),
        ([fragment(arguments="{}")], [("call_0", "", "{}")]),
        ([fragment(0, "a", "f", {"city": "Tokyo"})], [("a", "f", '{"city":"Tokyo"}')]),
        ([{"id": "a"}], [("a", "", "")]),
    ],
)
def test_fragments_without_an_index_are_assigned_to_their_call(
    fragments: list[dict[str, Any]], calls: list[tuple[str, str, str]]
) -> None:
    assert decode_calls({"tool_calls": fragments}) == calls
    assert decode_calls(*({"tool_calls": [part]} for part in fragments)) == calls


def test_the_deprecated_form_counts_only_on_its_own() -> None:
    function = {"name": "f", "arguments": "{}"}
    assert decode_calls({"function_call": function}) == [("call_0", "f", "{}")]
    both = {"function_call": function, "tool_calls": [fragment(0, "a", "f", "{}")]}
    assert decode_calls(both) == [("a", "f", "{}")]
    assert decode_calls(both, {"function_call": function}) == [("a", "f", "{}")]


WHOLE = '{"n":1}'


@pytest.mark.parametrize(
    ("fragments", "calls"),
    [
        # Ollama: all calls have index 0
        (
            [fragment(0, "a", "f", WHOLE), fragment(0, "b", "f", WHOLE), fragment(0, "c", "g")],
            [("a", "f", WHOLE), ("b", "f", WHOLE), ("c", "g", "")],
        ),
        (
            [fragment(0, None, "f", WHOLE), fragment(0, None, "g", WHOLE)],
            [("call_0", "f", WHOLE), ("call_1", "g", WHOLE)],
        ),
        # in pieces, one call after another
        (
            [
                *(fragment(0, "a", "f", "{"), fragment(0, arguments="}")),
                *(fragment(0, "b", "g", "["), fragment(0, arguments="]")),
            ],
            [("a", "f", "{}"), ("b", "g", "[]")],
        ),
        # an index that is already taken
        (
            [fragment(0, "a", "f"), fragment(0, "b", "g"), fragment(1, "c", "h", WHOLE)],
            [("a", "f", ""), ("b", "g", ""), ("c", "h", WHOLE)],
        ),
        # one id for two calls: results need different ids
        (
            [fragment(0, "a", "f", WHOLE), fragment(1, "a", "g", WHOLE)],
            [("a", "f", WHOLE), ("a_1", "g", WHOLE)],
        ),
        # the index counts fragments
        (
            [fragment(0, "a", "f", "{"), fragment(1, "a", None, "}"), fragment(2, "b", "g")],
            [("a", "f", "{}"), ("b", "g", "")],
        ),
        (
            [fragment(0, "a", "f", "{"), fragment(1, None, None, "}")],
            [("a", "f", "{}")],
        ),
        # the name in every fragment, or a different id in each
        (
            [fragment(0, "a", "f", "{"), fragment(0, "a", "f", "}")],
            [("a", "f", "{}")],
        ),
        (
            [fragment(0, "a", "f", "{"), fragment(0, "b", None, "}")],
            [("b", "f", "{}")],
        ),
        # an object as arguments, an index as a string, an id as a number
        ([fragment("0", 7, "f", {"n": 1})], [("7", "f", WHOLE)]),
        ([fragment(1.0, "a", "f", WHOLE)], [("a", "f", WHOLE)]),
    ],
)  # fmt: skip
def test_calls_are_separated_however_they_are_numbered(
    fragments: list[dict[str, Any]], calls: list[tuple[str, str, str]]
) -> None:
    assert decode_calls({"tool_calls": fragments}) == calls
    assert decode_calls(*({"tool_calls": [part]} for part in fragments)) == calls


def test_extra_fields_of_a_call_are_kept_within_limits() -> None:
    signed = {"google": {"thought_signature": "x"}}
    part = {**fragment(0, "a", "f"), "extra_content": signed}
    deltas = [{"tool_calls": [part]}, {"tool_calls": [fragment(0, arguments="{}")]}]
    (call,) = decode_reply(*map(choice, deltas), finish("tool_calls")).tool_calls
    assert call.extras == {"extra_content": signed}
    for hostile in (["text"], {"x": "y" * 100_000}, {"x": "\0"}):
        part = {**fragment(0, "a", "f"), "extra_content": hostile}
        reply = decode_reply(choice({"tool_calls": [part]}), finish("tool_calls"))
        assert reply.tool_calls[0].extras == {}
        assert reply.left_out == {"extra_content": 1}


@pytest.mark.parametrize("index", [-1, 128, 10**9])
def test_an_index_out_of_range_fails_the_reply_and_keeps_the_text_before_it(index: int) -> None:
    reply = decode_reply(delta("kept"), choice({"tool_calls": [fragment(index, "a", "f")]}))
    assert reply.answer == "kept"
    assert reply.error
    assert reply.error.kind is ErrorKind.OUT_OF_RANGE
    assert "128 calls" in reply.error.message


def test_names_are_cut_and_nul_is_replaced() -> None:
    (event,) = decode_events(choice({"tool_calls": [fragment(0, "i" * 999, "n" * 999, "\0")]}))[1:]
    assert isinstance(event, ToolCallDelta)
    assert (len(event.id), len(event.name), event.arguments) == (999, 200, "\ufffd")


def test_long_ids_that_begin_alike_stay_different() -> None:
    ids = [f"{'x' * 70_000}{n}" for n in (1, 2)]
    parts = [fragment(n, call_id, "f", "{}") for n, call_id in enumerate(ids)]
    first, second = (call[0] for call in decode_calls({"tool_calls": parts}))
    assert first != second
    assert len(first) == len(second) == 64 * 1024
    assert [decode_calls({"tool_calls": parts})[0][0]] == [first]  # the same each time
