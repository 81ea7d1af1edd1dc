"""Estimated usage: the middle figure, and the upper one that no tokenizer exceeds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.upstream.wire.events import (
    AnswerDelta,
    Event,
    ReasoningDelta,
    RefusalDelta,
    ToolCallDelta,
)
from chatapp.upstream.wire.reply import Reply
from chatapp.upstream.wire.requests.estimates import (
    MIDDLE,
    UPPER,
    Estimate,
    PromptSize,
    cost_of_tools,
    estimate,
)
from chatapp.upstream.wire.requests.history import EMPTY_HISTORY, History

TOOL = {"type": "function", "function": {"name": "clock", "description": "Tells the time."}}


def fold_events(*events: Event, choice: int = 0) -> Reply:
    reply = Reply(choice)
    for event in events:
        reply.apply(event)
    return reply


def estimate_texts(*texts: str) -> Estimate:
    return estimate(PromptSize.of(EMPTY_HISTORY), [fold_events(*map(AnswerDelta, texts))])


@pytest.mark.parametrize(
    ("text", "size"), [("Größe 12", 10), ("안녕하세요", 15), ("a", 1), ("\U0001f44d\U0001f3fd", 8)]
)
def test_a_text_counts_a_token_per_four_bytes_and_at_most_one_per_byte(
    text: str, size: int
) -> None:
    estimated = estimate_texts(text)
    assert estimated.middle.completion_tokens == -(-size // 4) + MIDDLE.choice
    assert estimated.upper.completion_tokens == size + UPPER.choice


def test_a_prompt_counts_its_texts_and_the_tokens_of_the_template() -> None:
    prompt = PromptSize.of(
        History.of([{"role": "system", "content": "12"}, {"role": "user", "content": "1234"}])
    )
    assert prompt.text_bytes == len("system12user1234")
    assert estimate(prompt).middle.prompt_tokens == 4 + MIDDLE.request + 2 * MIDDLE.message


def test_calls_and_results_in_the_history_count() -> None:
    function = {"name": "clock", "arguments": '{"zone": "UTC"}'}
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": function}]}
    result = {"role": "tool", "tool_call_id": "a", "content": "It is noon."}
    text = "assistant" + "clock" + '{"zone": "UTC"}' + "tool" + "a" + "It is noon."
    assert PromptSize.of(History.of([call, result])).text_bytes == len(text)


PROMPT = {"role": "user", "content": "Hi"}


def test_tool_schemas_count_once_per_request() -> None:
    without, offered = (PromptSize.of(History.of([PROMPT]), tools) for tools in ([], [TOOL]))
    added = estimate(offered).middle.prompt_tokens - estimate(without).middle.prompt_tokens
    assert abs(added - cost_of_tools([TOOL])) <= 1
    assert added > MIDDLE.tools


def test_every_choice_and_every_region_counts() -> None:
    reasoning, refusal = ReasoningDelta("x" * 40), RefusalDelta("y" * 40)
    reply = fold_events(reasoning, refusal, ToolCallDelta(0, "", "f", "{}"))
    single = estimate(PromptSize.of(EMPTY_HISTORY), [reply])
    assert single.middle.reasoning_tokens == 10
    assert single.middle.completion_tokens >= 20
    triple = estimate(PromptSize.of(EMPTY_HISTORY), [reply] * 3)
    assert triple.middle.completion_tokens == 3 * single.middle.completion_tokens
    assert triple.upper.completion_tokens == 3 * single.upper.completion_tokens


def test_an_unanswered_request_costs_only_its_prompt() -> None:
    estimated = estimate(
        PromptSize.of(History.of([{"role": "user", "content": "Why?"}])), [Reply()]
    )
    assert estimated.middle.completion_tokens == estimated.upper.completion_tokens == 0
    assert estimated.middle.total_tokens == estimated.middle.prompt_tokens > 0


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=50), max_size=5))
def test_the_upper_figure_is_between_one_and_four_times_the_middle(texts: list[str]) -> None:
    estimated = estimate_texts(*texts)
    middle, upper = estimated.middle.completion_tokens, estimated.upper.completion_tokens
    assert len("".join(texts).encode()) <= upper
    assert middle <= upper <= 4 * middle + UPPER.choice
