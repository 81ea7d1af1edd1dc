"""However the replies of a chat ended, the strictest chat template accepts its history."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatapp.models import Message, RequestSettings
from chatapp.models.conversations.messages.rounds import CANCELLED, Round, RunState, ToolRun
from chatapp.models.conversations.threads.branch_history import BranchHistory
from chatapp.models.conversations.turns.turn import Turn
from chatapp.upstream.wire.requests.history import CONTINUE_PROMPT, NO_ANSWER, NO_RESULT, History
from tests.support.chat_templates import check, gemma
from tests.support.profile import choose_size

TEXTS = st.sampled_from(["", " ", "\n\n", "Rain.", " Because. "])
IDS = st.sampled_from(["a", "b"])
RUNS = st.builds(
    ToolRun,
    id=IDS,
    name=st.sampled_from(["", "now"]),
    arguments=st.sampled_from(["", "{}", "{", "[]", '{"a": 1}', "null"]),
    state=st.sampled_from(RunState),
    result=TEXTS,
)
ROUNDS = st.builds(
    Round,
    reasoning=TEXTS,
    content=TEXTS,
    tool_runs=st.lists(RUNS, min_size=1, max_size=2, unique_by=lambda run: run.id),
)


@st.composite
def replies(draw: st.DrawFn) -> Message:
    """A reply as any ending may leave it."""
    return Message(
        role="assistant",
        reasoning=draw(TEXTS),
        content=draw(TEXTS),
        refusal=draw(TEXTS),
        model=draw(st.sampled_from(["m", "n"])),
        earlier_rounds=[
            earlier_round.as_record() for earlier_round in draw(st.lists(ROUNDS, max_size=2))
        ],
        tool_runs=[run.as_record() for run in draw(st.lists(RUNS, max_size=2))],
    )


@st.composite
def prompts(draw: st.DrawFn) -> Message:
    is_continuation = draw(st.booleans())
    return prompt("" if is_continuation else "Why?", is_continuation=is_continuation)


def prompt(text: str, **fields: Any) -> Message:
    return Message(role="user", content=text, **fields)


def build_request(*messages: Message, instructions: str = "") -> list[Any]:
    """Return what is sent to the upstream to answer the last of these messages."""
    reply = Message(role="assistant", model="m")
    *before, last = messages
    asked_with = RequestSettings(instructions=instructions)
    turn = Turn(BranchHistory(others=before), last, reply, request_settings=asked_with)
    return list(turn.history.messages)


@settings(max_examples=choose_size(100, 20_000))
@given(
    turns=st.lists(st.tuples(prompts(), replies()), max_size=5),
    last=prompts(),
    instructions=st.sampled_from(["", "Be brief."]),
)
def test_every_chat_can_be_continued(
    turns: list[tuple[Message, Message]], last: Message, instructions: str
) -> None:
    messages = [prompt("First"), *(message for turn in turns for message in reversed(turn)), last]
    request_messages = build_request(*messages, instructions=instructions)
    check(request_messages)
    history = History.of(request_messages)
    assert history.messages == request_messages  # already normalised
    gemma(history.without_system().messages)
    assert request_messages[-1]["role"] == "tool" or request_messages[-1]["content"].strip()


@settings(max_examples=choose_size(50, 5_000))
@given(
    messages=st.lists(st.one_of(prompts(), replies()), max_size=8),
    place=st.integers(min_value=0, max_value=8),
)
def test_a_history_is_the_same_wherever_it_is_split(messages: list[Message], place: int) -> None:
    parts = [message.as_chat_messages() for message in [prompt("First"), *messages]]

    def join_parts(part: list[list[dict[str, object]]]) -> History:
        return History.of(message for messages in part for message in messages)

    whole = join_parts(parts)
    assert join_parts(parts[: place + 1]).concatenate(join_parts(parts[place + 1 :])) == whole


@pytest.mark.parametrize("lost", [{}, {"reasoning": "Hm."}, {"content": " \n"}])
def test_a_reply_without_text_is_sent_as_no_answer(lost: dict[str, str]) -> None:
    messages = build_request(prompt("One"), Message(role="assistant", **lost), prompt("Two"))
    assert [message["content"] for message in messages] == ["One", NO_ANSWER, "Two"]


def test_a_refusal_is_sent_as_the_models_reply() -> None:
    messages = build_request(prompt("One"), Message(role="assistant", refusal="No."), prompt("Two"))
    assert messages[1] == {"role": "assistant", "content": "No."}


def test_continuing_a_reply_without_text_asks_the_prompt_again() -> None:
    messages = build_request(
        prompt("One"), Message(role="assistant"), prompt("", is_continuation=True)
    )
    assert messages == [{"role": "user", "content": "One"}]


def test_a_continuation_that_never_arrived_is_not_requested_again() -> None:
    half, nothing = Message(role="assistant", content="Half"), Message(role="assistant")
    messages = build_request(
        prompt("One"), half, prompt("", is_continuation=True), nothing, prompt("Two")
    )
    assert [message["content"] for message in messages] == ["One", "Half", "Two"]
    assert CONTINUE_PROMPT not in str(messages)


def test_a_prompt_never_directly_follows_a_tool_result() -> None:
    called = Round(tool_runs=[ToolRun("a", "now", "", RunState.DONE)])
    cancelled = Round(tool_runs=[ToolRun("b", "now", "{", RunState.CANCELLED)])
    rounds = [call_round.as_record() for call_round in (called, cancelled)]
    reply = Message(role="assistant", earlier_rounds=rounds)
    messages = build_request(prompt("One"), reply, prompt("Two"))
    assert [message.get("content") for message in messages] == [
        *("One", None, NO_RESULT, None, CANCELLED, NO_ANSWER, "Two"),
    ]


def test_without_a_system_role_instructions_go_into_the_first_prompt() -> None:
    history = History.of(build_request(prompt("One"), instructions="Be brief."))
    assert history.has_system
    assert history.without_system().messages == [{"role": "user", "content": "Be brief.\n\nOne"}]
    assert not history.without_system().has_system
