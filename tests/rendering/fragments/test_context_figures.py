"""The figures from which the page's meter estimates the next request."""

from typing import Any

import pytest

from chatapp.models import Message, Upstream, Usage
from chatapp.models.billing import tool_tokens as billed
from chatapp.rendering.fragments.context_figures import (
    answer_bounds,
    characters_per_token,
    context_tokens,
    tool_tokens,
)


def usage(prompt: int | None = 900, completion: int | None = 100, **more: Any) -> Usage:
    provenance = more.pop("provenance", "reported")
    return Usage(provenance=provenance, prompt_tokens=prompt, completion_tokens=completion, **more)


def reply(content: str = "", **more: Any) -> Message:
    return Message(role="assistant", content=content, **more)


def test_a_reply_tells_the_size_of_the_chat() -> None:
    assert context_tokens(usage(), reply()) == 1000
    assert context_tokens(usage(None, None), reply()) is None
    assert context_tokens(usage(0, 0), reply()) is None


def test_after_tool_calls_only_the_last_request_counts() -> None:
    earlier = [{"usage": {"prompt_tokens": 400, "completion_tokens": 20}}, {"usage": {}}]
    assert context_tokens(usage(), reply(earlier_rounds=earlier)) == 580


@pytest.mark.parametrize(
    ("written", "message", "expected"),
    [
        (usage(), reply("x" * 380), "3.80"),
        (usage(), reply("x" * 80, reasoning="y" * 300), "3.80"),
        (usage(reasoning_tokens=40), reply("x" * 240), "4.00"),  # thought in secret
        (usage(completion=10), reply("x" * 38), ""),  # too few to tell
        (usage(), reply("x" * 20), ""),  # implausible
        (usage(provenance="estimated"), reply("x" * 380), ""),
        (usage(), reply("x" * 380, earlier_rounds=[{"usage": {}}]), ""),
    ],
)
def test_characters_per_token_are_those_of_the_chats_own_answers(
    written: Usage, message: Message, expected: str
) -> None:
    assert characters_per_token(written, message) == expected


def test_tools_count_as_they_were_last_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(billed, "tokens_by_upstream", {1: 512 + 4000})
    assert tool_tokens(Upstream(pk=1)) == 1032
    assert tool_tokens(Upstream(pk=1, offers_tools=False)) == 0
    assert tool_tokens(Upstream(pk=2)) == 0


def test_the_room_for_an_answer_is_within_the_rules_of_each_model() -> None:
    upstream = Upstream(
        model_parameters={
            "": {"max_output_tokens": {"min": 100, "max": 2000}},
            "fixed": {"max_output_tokens": {"fixed": 700}},
            "closed": {"max_output_tokens": {"fixed": None}},
            "free": {"max_output_tokens": {}},
        },
        parameter_refusals={"stubborn": dict.fromkeys(("max_tokens", "max_completion_tokens"), "")},
    )
    bounds = [
        answer_bounds(upstream, model) for model in ("other", "fixed", "closed", "free", "stubborn")
    ]
    assert bounds == ["2000 100 2000", "700 700 700", "0 0 0", "", "0 0 0"]


def test_the_room_for_an_answer_is_what_the_upstreams_own_parameters_say() -> None:
    assert answer_bounds(Upstream(parameters={"max_tokens": 500}), "m") == "500 1 500"
    assert answer_bounds(Upstream(parameters={"max_tokens": "many"}), "m") == ""
    assert answer_bounds(Upstream(), "m") == ""
