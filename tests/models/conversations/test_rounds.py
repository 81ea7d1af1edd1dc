"""The form in which the next request repeats a round."""

from chatapp.models.conversations.messages.rounds import Round, ToolRun
from chatapp.upstream.wire.events import Finished, ToolCallDelta
from chatapp.upstream.wire.reply import Reply


def round_of_a_call(extras: dict[str, object] | None = None) -> Round:
    reply = Reply()
    for event in (ToolCallDelta(0, "a", "f", "{", extras), Finished("tool_calls")):
        reply.apply(event)
    runs = [ToolRun.of(call) for call in reply.tool_calls]
    runs[0].result = "r"
    return Round.of(reply, runs, {})


def test_calls_go_back_with_their_results_and_with_valid_arguments() -> None:
    function = {"name": "f", "arguments": "{}"}
    assert round_of_a_call().as_chat_messages() == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "r"},
    ]


def test_the_extras_of_a_call_go_back_only_to_the_model_that_sent_them() -> None:
    reply_round = round_of_a_call({"google": {"thought_signature": "x"}})
    with_all, without_any = (
        reply_round.as_chat_messages(with_extras=wants)[0] for wants in (True, False)
    )
    assert "thought_signature" in str(with_all)
    assert "thought_signature" not in str(without_any)


def test_reasoning_goes_back_in_the_field_in_which_it_arrived() -> None:
    reply_round = round_of_a_call()
    reply_round.reasoning = "Hm."
    call_message = reply_round.as_chat_messages("reasoning_content")[0]
    assert call_message["reasoning_content"] == "Hm."
