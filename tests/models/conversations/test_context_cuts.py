"""Leaving out parts of a conversation: what is still sent, on which branches, and how to undo
it."""

from collections.abc import Sequence
from itertools import pairwise
from uuid import uuid4

import pytest

from chatapp.models import (
    ChatNotFound,
    ContextCut,
    Conversation,
    Deletion,
    EditSummary,
    LeaveOut,
    LegalHold,
    Message,
    ModelChoice,
    Refused,
    Restoration,
    Retry,
    SendAgain,
    Summarise,
    Upstream,
    User,
)
from chatapp.models.conversations.threads.branch_history import MIN_CACHED_MESSAGES
from chatapp.models.conversations.threads.context_cuts import MAX_SUMMARY, UNDERSTOOD
from chatapp.models.conversations.turns.turns import Continuation, Edit
from chatapp.models.policies.legal_holds import UnderLegalHold
from chatapp.upstream.wire.reply import Ending
from tests.support.stored import MODEL, begin_turn, build_reply, end, fork_conversation, store_turn

pytestmark = pytest.mark.django_db


@pytest.fixture
def turns(conversation: Conversation, gateway: Upstream) -> list[Message]:
    """Ten exchanges."""
    return talk(conversation, gateway, range(10))


def talk(
    conversation: Conversation,
    gateway: Upstream,
    numbers: Sequence[int],
    after: Message | None = None,
) -> list[Message]:
    messages: list[Message] = []
    for number in numbers:
        messages += store_turn(conversation, gateway, f"{number}", after)
        after = messages[-1]
    return messages


def contents(conversation: Conversation, through: Message | None = None) -> list[object]:
    """Return the texts that are sent for the branch through a message."""
    conversation = Conversation.objects.get(pk=conversation.pk)
    history = conversation.history_through(through.pk if through else None).history()
    return [message["content"] for message in history.messages]


def leave_out(user: User, message: Message, summary: str = "") -> ContextCut:
    LeaveOut(message.conversation_id, message=message.pk).store(user)
    cut = ContextCut.objects.get(message=message)
    if summary:
        EditSummary(cut.pk, summary).store(user)
        cut.refresh_from_db()
    return cut


def test_what_is_left_out_is_not_sent_and_can_be_sent_again(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    before = contents(conversation)
    assert len(before) == 20
    cut = leave_out(carol, turns[13])
    assert contents(conversation) == before[14:]
    assert contents(conversation, turns[13]) == before[14:]
    SendAgain(cut.pk).store(carol)
    assert contents(conversation) == before


def test_a_summary_stands_in_the_place_of_what_is_left_out(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    before = contents(conversation)
    cut = leave_out(carol, turns[17], "We counted to eight.")
    first, second, *others = contents(conversation)
    assert str(first).endswith("We counted to eight.")
    assert second == UNDERSTOOD
    assert others == before[18:]
    assert cut.is_edited
    EditSummary(cut.pk, "").store(carol)
    assert contents(conversation) == before[18:]


def test_a_summary_that_is_not_sent_any_more_is_kept_and_can_be_used_again(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    before = contents(conversation)
    cut = leave_out(carol, turns[13], "We counted to six.")
    with_summary = contents(conversation)
    SendAgain(cut.pk).store(carol)
    SendAgain(cut.pk).store(carol)  # from another tab
    assert contents(conversation) == before
    conversation.refresh_from_db()
    page = conversation.view()
    assert (page.cut, list(page.lifted)) == (None, [cut])
    LeaveOut(conversation.pk, message=turns[13].pk).store(carol)
    assert contents(conversation) == with_summary
    assert conversation.view().cut == cut
    with pytest.raises(Refused, match="left out already"):
        LeaveOut(conversation.pk, message=turns[13].pk).store(carol)


def test_a_summary_that_is_kept_is_not_written_again(
    carol: User, conversation: Conversation, gateway: Upstream, turns: list[Message]
) -> None:
    model = ModelChoice(gateway.pk, MODEL)
    planned = Summarise(conversation.pk, model).begin(carol, uuid4())
    planned.store(carol, "So far")
    SendAgain(ContextCut.objects.get().pk).store(carol)
    with pytest.raises(Refused, match="has a summary already"):
        Summarise(conversation.pk, model).begin(carol, uuid4())
    assert Summarise(conversation.pk, model, for_new=True).begin(carol, uuid4())


def test_a_summary_joins_a_cut_that_was_made_while_it_was_written(
    carol: User, conversation: Conversation, gateway: Upstream, turns: list[Message]
) -> None:
    planned = Summarise(conversation.pk, ModelChoice(gateway.pk, MODEL)).begin(carol, uuid4())
    LeaveOut(conversation.pk).store(carol)
    planned.store(carol, "So far")
    [cut] = ContextCut.objects.all()
    assert (cut.message_id, cut.summary, cut.model) == (planned.message, "So far", MODEL)
    with pytest.raises(Refused, match="left out already"):
        planned.store(carol, "Written at the same time")


@pytest.mark.parametrize("summary", ["", "We counted."])
@pytest.mark.parametrize("at", [1, 5])
def test_ten_turns_begin_with_the_same_messages(
    carol: User, conversation: Conversation, gateway: Upstream, summary: str, at: int
) -> None:
    messages = talk(conversation, gateway, range(3))
    leave_out(carol, messages[at], summary)
    requests = []
    for number in range(3, 13):
        messages += talk(conversation, gateway, [number], messages[-1])
        requests.append(contents(conversation, messages[-1]))
    for shorter, longer in pairwise(requests):
        assert longer[: len(shorter)] == shorter
        assert len(longer) == len(shorter) + 2
    assert len(requests[-1]) == 26 - (at + 1) + (2 if summary else 0)


def test_a_long_branch_that_was_read_before_does_not_outlive_a_cut(
    carol: User, conversation: Conversation, gateway: Upstream
) -> None:
    messages = talk(conversation, gateway, range(MIN_CACHED_MESSAGES))
    assert len(contents(conversation, messages[-1])) == 2 * MIN_CACHED_MESSAGES
    cut = leave_out(carol, messages[3])
    assert len(contents(conversation, messages[-1])) == 2 * MIN_CACHED_MESSAGES - 4
    assert (
        len(contents(conversation, messages[-1])) == 2 * MIN_CACHED_MESSAGES - 4
    )  # as it was remembered
    EditSummary(cut.pk, "Short").store(carol)
    assert len(contents(conversation, messages[-1])) == 2 * MIN_CACHED_MESSAGES - 2
    EditSummary(cut.pk, "Shorter").store(carol)
    assert str(contents(conversation, messages[-1])[0]).endswith("Shorter")
    SendAgain(cut.pk).store(carol)
    assert len(contents(conversation, messages[-1])) == 2 * MIN_CACHED_MESSAGES


def test_a_branch_from_before_a_cut_is_sent_whole(
    carol: User, conversation: Conversation, gateway: Upstream, turns: list[Message]
) -> None:
    leave_out(carol, turns[5], "So far")
    edited = talk(conversation, gateway, [99], turns[3])
    assert contents(conversation, edited[-1]) == ["0", "To 0", "1", "To 1", "99", "To 99"]
    after = talk(conversation, gateway, [77], turns[7])
    sent = contents(conversation, after[-1])
    assert sent[2:] == ["3", "To 3", "77", "To 77"]
    retried = conversation.answer(turns[4], gateway, MODEL, uuid4())
    end(retried, build_reply("Otherwise"))
    assert contents(conversation, retried)[-2:] == ["2", "Otherwise"]
    assert len(contents(conversation, retried)) == 6


def test_of_several_cuts_the_last_one_counts(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    leave_out(carol, turns[5], "First")
    later = leave_out(carol, turns[11], "Second")
    assert str(contents(conversation)[0]).endswith("Second")
    assert contents(conversation)[2] == "6"
    conversation.refresh_from_db()
    assert conversation.view().cut == later
    SendAgain(later.pk).store(carol)
    assert str(contents(conversation)[0]).endswith("First")
    assert contents(conversation)[2] == "3"


def test_everything_can_be_left_out(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    leave_out(carol, turns[-1])
    assert contents(conversation) == []
    conversation.refresh_from_db()
    assert conversation.history_through(None).end == turns[-1].pk


def test_a_new_turn_follows_the_cut(
    carol: User, conversation: Conversation, gateway: Upstream, turns: list[Message]
) -> None:
    leave_out(carol, turns[-1], "All")
    conversation.refresh_from_db()
    before = conversation.history_through(turns[-1].pk)
    prompt, reply = begin_turn(conversation, gateway, "Next", turns[-1])
    assert prompt.parent_id == before.end
    end(reply, build_reply("Yes"))
    assert contents(conversation)[1:] == [UNDERSTOOD, "Next", "Yes"]


def test_a_deleted_and_restored_message_brings_its_cut_back(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    leave_out(carol, turns[5])
    Deletion(turns[4].pk).store(carol)
    assert contents(conversation) == ["0", "To 0", "1", "To 1"]
    Restoration(turns[4].pk, turns[-1].pk).store(carol)
    assert contents(conversation)[0] == "3"


def test_a_fork_leaves_out_the_same(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    leave_out(carol, turns[5], "So far")
    leave_out(carol, turns[15], "Not in the fork")
    fork = fork_conversation(carol, turns[9].pk)
    assert contents(fork)[1:] == [UNDERSTOOD, "3", "To 3", "4", "To 4"]
    [copied] = fork.context_cuts.all()
    assert copied.summary == "So far"
    SendAgain(copied.pk).store(carol)
    assert len(contents(fork)) == 10
    [copied_cut] = fork_conversation(carol, fork.messages.last().pk).context_cuts.all()  # type: ignore[union-attr]
    assert copied_cut.is_lifted
    LeaveOut(fork.pk, message=copied.message_id).store(carol)
    before = contents(fork)
    SendAgain(ContextCut.objects.get(message=turns[5]).pk).store(carol)
    assert contents(fork) == before


def test_a_fork_counts_the_summaries_that_it_copies(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    before = fork_conversation(carol, turns[9].pk).stored_bytes
    leave_out(carol, turns[5], "é" * 50)
    fork = fork_conversation(carol, turns[9].pk)
    assert fork.stored_bytes == before + 100
    ContextCut.objects.create(conversation=fork, summary="x" * 10)  # at the beginning
    assert fork_conversation(carol, fork.messages.last().pk).stored_bytes == before + 110  # type: ignore[union-attr]


@pytest.mark.parametrize("summary", ["", "So far"])
def test_a_retry_an_edit_and_a_fork_of_what_follows_a_cut_keep_it(
    carol: User, conversation: Conversation, gateway: Upstream, turns: list[Message], summary: str
) -> None:
    cut, model = leave_out(carol, turns[5], summary), ModelChoice(gateway.pk, MODEL)
    of_cut = [str(chat_message["content"]) for chat_message in cut.history.messages]
    for asked_again, following in (
        (Retry(turns[7].pk, model), ["3"]),
        (Retry(turns[8].pk, model), ["3", "To 3", "4"]),
        (Edit("Else", model, edited=turns[6].pk), ["Else"]),
        (Edit("Else", model, edited=turns[8].pk), ["3", "To 3", "Else"]),
    ):
        turn = asked_again.store(carol, uuid4())
        assert [
            chat_message["content"] for chat_message in turn.history.messages
        ] == of_cut + following
        end(turn.reply, build_reply("So"))
        branch = Conversation.objects.get(pk=conversation.pk).view(turn.reply.pk)
        assert branch.cut == cut
        assert contents(fork_conversation(carol, turn.reply.pk)) == [*of_cut, *following, "So"]


def test_a_retry_and_an_edit_of_what_is_left_out_are_sent_with_what_is_before_them(
    carol: User, conversation: Conversation, gateway: Upstream, turns: list[Message]
) -> None:
    model = ModelChoice(gateway.pk, MODEL)
    leave_out(carol, turns[1], "First")
    leave_out(carol, turns[7], "Second")
    for asked_again, last in (
        (Retry(turns[7].pk, model), "3"),
        (Edit("Else", model, edited=turns[6].pk), "Else"),
    ):
        turn = asked_again.store(carol, uuid4())
        first, *others = (str(chat_message["content"]) for chat_message in turn.history.messages)
        assert first.endswith("First")
        assert others == [UNDERSTOOD, "1", "To 1", "2", "To 2", last]
        end(turn.reply, build_reply("So"))


# How much is left out


def test_the_oldest_part_is_as_much_as_the_model_has_no_room_for(
    carol: User, conversation: Conversation, gateway: Upstream
) -> None:
    messages: list[Message] = []
    for number in range(6):
        after = messages[-1] if messages else None
        messages += store_turn(conversation, gateway, f"{number}" * 4000, after)
    model = ModelChoice(gateway.pk, "m")
    gateway.model_contexts = {"m": 8192}
    gateway.save()
    LeaveOut(conversation.pk, messages[-1].pk, model).store(carol)
    cut = ContextCut.objects.get()
    assert cut.message == messages[7]  # 2 x 2 x 1,000 tokens remain, half of the context


def test_without_a_known_context_about_half_is_left_out(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    LeaveOut(conversation.pk).store(carol)
    assert len(contents(conversation)) == 10
    LeaveOut(conversation.pk).store(carol)
    assert len(contents(conversation)) == 4
    LeaveOut(conversation.pk).store(carol)
    assert len(contents(conversation)) == 2
    with pytest.raises(Refused, match="only the last prompt and its reply are sent"):
        LeaveOut(conversation.pk).store(carol)


def test_an_unanswered_prompt_is_never_left_out(
    carol: User, conversation: Conversation, gateway: Upstream, turns: list[Message]
) -> None:
    prompt, reply = begin_turn(conversation, gateway, "x" * 100_000, turns[-1])
    end(reply, build_reply(""), Ending.FAILED)
    LeaveOut(conversation.pk, reply.pk).store(carol)
    assert contents(conversation, reply)[0] == prompt.content


def test_a_reply_and_its_continuation_stay_together(
    carol: User, conversation: Conversation, gateway: Upstream, turns: list[Message]
) -> None:
    _, continuation = conversation.ask(
        uuid4(), "", turns[1].pk, gateway, MODEL, uuid4(), is_continuation=True
    )
    end(continuation, build_reply("and more"))
    with pytest.raises(Refused, match="continues this reply"):
        leave_out(carol, turns[1])
    leave_out(carol, continuation)
    talk(conversation, gateway, [5], continuation)
    assert contents(conversation, continuation) == ["5", "To 5"]


# What is refused


def test_only_whole_replies_can_be_left_out_and_only_once(
    carol: User, conversation: Conversation, gateway: Upstream, turns: list[Message]
) -> None:
    with pytest.raises(Refused, match="whole reply"):
        leave_out(carol, turns[0])
    leave_out(carol, turns[1])
    with pytest.raises(Refused, match="left out already"):
        leave_out(carol, turns[1])
    _, streaming = begin_turn(conversation, gateway, "Wait", turns[-1])
    with pytest.raises(Refused, match="whole reply"):
        leave_out(carol, streaming)


def test_a_reply_that_is_left_out_cannot_be_continued(
    carol: User, conversation: Conversation, gateway: Upstream
) -> None:
    _, reply = begin_turn(conversation, gateway, "Count")
    end(reply, build_reply("One, two"), Ending.LENGTH)
    leave_out(carol, reply)
    continuation = Continuation(reply.pk, ModelChoice(gateway.pk, MODEL))
    with pytest.raises(Refused, match="Send it again first"):
        continuation.store(carol, uuid4())


def test_nobody_changes_what_belongs_to_somebody_else(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    cut = leave_out(carol, turns[5], "Mine")
    dave = User.objects.create_user("dave")
    for request in (
        LeaveOut(conversation.pk),
        LeaveOut(conversation.pk, message=turns[7].pk),
        SendAgain(cut.pk),
        EditSummary(cut.pk, "Yours"),
    ):
        with pytest.raises(Refused):
            request.store(dave)
    own = dave.conversations.create(title="Own")
    with pytest.raises(Refused):
        LeaveOut(own.pk, message=turns[7].pk).store(dave)
    with pytest.raises(Refused):
        LeaveOut(own.pk, through=turns[7].pk).store(dave)
    assert list(ContextCut.objects.values_list("pk", "summary")) == [(cut.pk, "Mine")]


def test_a_summary_has_a_limit(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    cut = leave_out(carol, turns[5])
    EditSummary(cut.pk, "x" * MAX_SUMMARY).store(carol)
    with pytest.raises(Refused, match="this one has 20,001"):
        EditSummary(cut.pk, "x" * (MAX_SUMMARY + 1)).store(carol)


def test_a_summary_under_a_legal_hold_stays_as_it_is(
    carol: User, conversation: Conversation, turns: list[Message]
) -> None:
    plain, cut = leave_out(carol, turns[5]), leave_out(carol, turns[7], "Evidence")
    LegalHold.begin(carol, conversation.pk, "A matter", carol)
    with pytest.raises(UnderLegalHold):
        EditSummary(cut.pk, "Nothing").store(carol)
    SendAgain(cut.pk).store(carol)
    SendAgain(plain.pk).store(carol)
    leave_out(carol, turns[9])
    cut.refresh_from_db()
    assert cut.summary == "Evidence"


def test_an_empty_conversation_has_nothing_to_leave_out(
    carol: User, conversation: Conversation
) -> None:
    with pytest.raises(ChatNotFound):
        LeaveOut(conversation.pk).store(carol)
