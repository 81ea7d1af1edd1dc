"""Opaque fields are joined and kept whole, to be sent back with tool calls."""

import json
from typing import Any

from chatapp.upstream.wire.decoding.opaque import MAX_BYTES
from tests.support.fake_upstream import choice, delta, finish
from tests.upstream import decode_reply

CALL = {"index": 0, "id": "a", "function": {"name": "now", "arguments": "{}"}}
CALLS = choice({"tool_calls": [CALL]})


def decode_opaque(*deltas: dict[str, Any], calls: bytes = CALLS) -> dict[str, Any]:
    return dict(decode_reply(*map(choice, deltas), calls, finish("tool_calls")).opaque)


def test_reasoning_details_are_joined_by_index_and_encrypted_ones_stay_unchanged() -> None:
    def text(words: str, index: int = 0, **more: Any) -> dict[str, Any]:
        return {"type": "reasoning.text", "text": words, "index": index, "format": "f"} | more

    encrypted = {"type": "reasoning.encrypted", "data": "EvcL", "index": 0, "id": "a"}
    opaque = decode_opaque(
        {"reasoning_details": [text("I need ", signature=None)]},
        {"reasoning_details": [text("Another", 1)]},
        {"reasoning_details": [text("the clock.", signature="s")]},
        {"reasoning_details": [encrypted]},
        {"reasoning_details": [encrypted | {"id": "b"}]},
        {"reasoning_details": {"type": "reasoning.summary", "summary": "A clock."}},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": " Two."}]},
    )
    assert opaque == {
        "reasoning_details": [
            text("I need the clock.", signature="s"),
            text("Another", 1),
            encrypted,
            encrypted | {"id": "b"},
            {"type": "reasoning.summary", "summary": "A clock. Two."},
        ]
    }


def test_a_thinking_block_ends_with_its_signature() -> None:
    def build_thought(text: str, signature: str | None = None) -> dict[str, Any]:
        return {"type": "thinking", "thinking": text, "signature": signature}

    hidden = {"type": "redacted_thinking", "data": "x"}
    opaque = decode_opaque(
        *(
            {"thinking_blocks": [block]}
            for block in (build_thought("I need "), build_thought("the clock."))
        ),
        {"reasoning_content": "", "thinking_blocks": [build_thought("", "EqQB")]},
        {"thinking_blocks": [build_thought("More.", "second"), hidden]},
    )
    assert opaque["thinking_blocks"] == [
        build_thought("I need the clock.", "EqQB"),
        build_thought("More.", "second"),
        hidden,
    ]


def test_a_signature_may_come_after_the_calls_or_the_finish() -> None:
    thought = {"type": "thinking", "thinking": "Hm."}
    signed = choice({"thinking_blocks": [{"type": "thinking", "signature": "s"}]})
    for end in ((signed, finish("tool_calls")), (finish("tool_calls"), signed)):
        reply = decode_reply(choice({"thinking_blocks": [thought]}), CALLS, *end)
        assert reply.opaque == {"thinking_blocks": [thought | {"signature": "s"}]}
        assert reply.wants_tools


def test_provider_specific_fields_grow_or_are_replaced() -> None:
    first: dict[str, Any] = {"thought_signatures": ["a"], "model": "x", "other": {"b": 1}}
    second = {"thought_signatures": ["b"], "model": "y", "other": None}
    opaque = decode_opaque(
        {"provider_specific_fields": first}, {"provider_specific_fields": second}
    )
    merged = {"thought_signatures": ["a", "b"], "model": "y", "other": {"b": 1}}
    assert opaque == {"provider_specific_fields": merged}


def test_reasoning_opaque_is_taken_unchanged() -> None:
    assert decode_opaque({"reasoning_opaque": "kC5="}) == {"reasoning_opaque": "kC5="}


def test_nothing_is_kept_without_a_tool_call() -> None:
    reply = decode_reply(choice({"reasoning_opaque": "kC5="}), delta("Four."), finish())
    assert reply.opaque == {}


def test_a_field_that_is_too_large_or_can_not_be_stored_is_left_out_entirely() -> None:
    half = {"reasoning_opaque": "x" * (MAX_BYTES // 2)}
    details = {"reasoning_details": [{"type": "reasoning.text", "text": "\0"}]}
    deltas = [choice(fields) for fields in (half, details, half, half)]
    reply = decode_reply(*deltas, CALLS, finish("tool_calls"))
    assert reply.opaque == {}
    assert reply.left_out == {"reasoning_details": 1, "reasoning_opaque": 1}


def test_odd_shapes_are_ignored() -> None:
    odd: list[Any] = [5, "text", [None, 5], {"a": "b"}, [[]], {"type": ["x"], "index": {}}]
    names = ("reasoning_details", "thinking_blocks", "provider_specific_fields")
    for name in names:
        opaque = decode_opaque(*({name: shape} for shape in odd))
        assert json.dumps(opaque)


def test_a_call_keeps_extra_fields_beside_and_within_its_function() -> None:
    beside = {"thought_signature": "x", "provider_specific_fields": {"a": 1}}
    within = {"provider_specific_fields": {"thought_signature": "y"}}
    function = {"name": "now", "arguments": "{}"} | within
    call = {"index": 0, "id": "a", "function": function} | beside
    (decoded_call,) = decode_reply(choice({"tool_calls": [call]}), finish("tool_calls")).tool_calls
    assert decoded_call.extras == beside | {"function": within}
