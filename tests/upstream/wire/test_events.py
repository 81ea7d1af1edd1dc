"""Events are immutable values."""

from dataclasses import FrozenInstanceError, fields, is_dataclass
from typing import get_args

import pytest

from chatapp.upstream.wire.events import AnswerDelta, Event, TokenUsage


def test_every_event_is_a_frozen_dataclass() -> None:
    assert all(is_dataclass(event) for event in get_args(Event))
    delta = AnswerDelta("x")
    assert delta == AnswerDelta("x")
    with pytest.raises(FrozenInstanceError):
        delta.text = "y"  # type: ignore[misc]


def test_only_the_main_counts_are_always_known() -> None:
    usage = TokenUsage(1, 2, 3)
    assert {getattr(usage, field.name) for field in fields(usage)[3:]} == {None}
