"""Encoding and decoding of messages, of this version and of others."""

from typing import get_args, get_type_hints
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.realtime.cluster.messages import (
    Batch,
    Frame,
    Gone,
    Leave,
    Message,
    Stop,
    decode,
    encode,
)
from chatapp.upstream.wire.reply import Ending

SENDER = UUID(int=7)
NUMBERS = st.integers(-(2**63), 2**64 - 1)
VALUES: dict[object, st.SearchStrategy[object]] = {
    UUID: st.uuids(),
    UUID | None: st.none() | st.uuids(),
    int: NUMBERS,
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    str: st.text(),
    Ending: st.sampled_from(Ending),
    frozenset[UUID]: st.frozensets(st.uuids()),
    frozenset[int] | None: st.none() | st.frozensets(NUMBERS),
    dict[UUID, int | None]: st.dictionaries(st.uuids(), st.none() | NUMBERS),
}


def build_strategy(kind: type[Message]) -> st.SearchStrategy[Message]:
    hints = get_type_hints(kind)
    fields = {field.name: VALUES[hints[field.name]] for field in msgspec.structs.fields(kind)}
    return st.builds(kind, **fields)


@given(st.lists(st.one_of([build_strategy(kind) for kind in get_args(Message)]), max_size=5))
def test_messages_survive_a_round_trip(messages: list[Message]) -> None:
    assert round_trip(messages) == (messages, [])


def test_an_infinite_grace_survives_a_round_trip() -> None:
    forever: list[Message] = [Leave(SENDER, float("inf"))]
    assert round_trip(forever) == (forever, [])


def test_ids_are_sixteen_bytes() -> None:
    assert len(encode(Batch(SENDER, [Gone(SENDER)]))) < 2 * 18 + len("kindGonereply") + 8


def test_an_unknown_kind_is_skipped_and_the_rest_is_read() -> None:
    known_messages: list[Message] = [Gone(SENDER), Frame(SENDER, 1, "<p>")]
    raw = [msgspec.msgpack.decode(encode(Batch(SENDER, known_messages)))[1]]
    kinds = [{"kind": "Typing"}, raw[0][0], {"kind": "Stop", "ending": "by a comet"}, raw[0][1]]
    batch, problems = decode(msgspec.msgpack.encode([SENDER.bytes, kinds]))
    assert (batch.sender, batch.messages) == (SENDER, known_messages)
    assert len(problems) == 2
    assert "Typing" in problems[0]


def test_an_unknown_field_is_ignored() -> None:
    more = {"kind": "Gone", "reply": SENDER.bytes, "reason": "it is late"}
    batch, problems = decode(msgspec.msgpack.encode([SENDER.bytes, [more]]))
    assert (batch.messages, problems) == ([Gone(SENDER)], [])


@pytest.mark.parametrize("data", [b"", b"\x00", b"letters", msgspec.msgpack.encode([1, 2])])
def test_data_that_is_no_batch_is_refused(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode(data)


def test_a_kinds_tag_is_its_structs_name() -> None:
    """Other versions rely on it."""
    assert msgspec.structs.fields(Stop)[0].name == "reply"
    assert sorted(kind.__struct_config__.tag for kind in get_args(Message)) == sorted(
        kind.__name__ for kind in get_args(Message)
    )


def round_trip(messages: list[Message]) -> tuple[list[Message], list[str]]:
    batch, problems = decode(encode(Batch(SENDER, messages)))
    assert batch.sender == SENDER
    return batch.messages, problems
