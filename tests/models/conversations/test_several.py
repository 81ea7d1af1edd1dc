"""Several models at once: one prompt, a reply in each slot, and the reply that is chosen."""

from uuid import UUID, uuid4

import pytest
from pytest_django import Settings

from chatapp.models import (
    Conversation,
    Edit,
    Message,
    ModelChoice,
    Prompt,
    Refused,
    Retry,
    StillStreaming,
    Turn,
    Upstream,
    User,
)
from tests.support.stored import MODEL, begin_turn, build_reply, end, store_turn

pytestmark = pytest.mark.django_db

HERE = UUID(int=1)  # the worker that streams
MODELS = (MODEL, "second", "third", "fourth")


@pytest.fixture
def prompt(gateway: Upstream) -> Prompt:
    first, *others = (ModelChoice(gateway.pk, name) for name in MODELS)
    return Prompt("Why is the sky blue?", first, id=uuid4(), others=others)


@pytest.fixture
def turn(carol: User, prompt: Prompt) -> Turn:
    return prompt.store(carol, HERE)


def end_all(turn: Turn) -> None:
    for number, reply in enumerate(turn.replies):
        end(reply, build_reply(f"Answer {number}"))


def get_conversation(turn: Turn) -> Conversation:
    return Conversation.objects.get(pk=turn.conversation.pk)


def follow_up(turn: Turn, parent: Message) -> Prompt:
    assert parent.upstream_id
    model = ModelChoice(parent.upstream_id, parent.model)
    return Prompt("And at night?", model, turn.conversation.pk, parent.pk, uuid4())


def test_a_prompt_has_one_reply_per_model_each_in_its_slot(turn: Turn) -> None:
    assert [(reply.model, reply.slot) for reply in turn.replies] == [
        *zip(MODELS, range(4), strict=True)
    ]
    assert all(reply.is_streaming and reply.parent == turn.prompt for reply in turn.replies)
    assert Message.objects.count() == 5
    assert [other.reply for other in turn.others] == turn.replies[1:]
    assert {other.prompt for other in turn.others} == {turn.prompt}


def test_a_prompt_is_refused_while_one_of_the_replies_streams(
    carol: User, turn: Turn, prompt: Prompt
) -> None:
    for reply in turn.replies[:3]:
        end(reply, build_reply("So."))
    for more in (follow_up(turn, turn.reply), Retry(turn.reply.pk, prompt.model)):
        with pytest.raises(StillStreaming):
            more.store(carol, HERE)
    end(turn.replies[3], build_reply("So."))
    assert follow_up(turn, turn.reply).store(carol, HERE).prompt.parent == turn.reply


def test_only_one_reply_streams_per_slot(turn: Turn) -> None:
    slots = Message.objects.streaming().values_list("slot", flat=True)
    assert sorted(slots) == [0, 1, 2, 3]
    end_all(turn)
    conversation = get_conversation(turn)
    begin_turn(conversation, turn.reply.upstream, "More", turn.reply)  # type: ignore[arg-type]
    with pytest.raises(StillStreaming):
        begin_turn(conversation, turn.reply.upstream, "More", turn.reply)  # type: ignore[arg-type]


def test_each_reply_counts_towards_the_persons_maximum(
    carol: User, prompt: Prompt, settings: Settings
) -> None:
    settings.CHATAPP_REPLIES_PER_PERSON = 3
    with pytest.raises(Refused, match="3 replies"):
        prompt.store(carol, HERE)
    settings.CHATAPP_REPLIES_PER_PERSON = 4
    prompt.store(carol, HERE)


def test_a_prompt_sent_again_asks_no_model(carol: User, turn: Turn, prompt: Prompt) -> None:
    assert prompt.store(carol, HERE).is_repeated
    assert Message.objects.count() == 5


def test_replies_are_shown_side_by_side_from_the_beginning(turn: Turn) -> None:
    for _ in range(2):
        view = get_conversation(turn).view()
        assert (view.thread, view.beside) == ([turn.prompt], turn.replies)
        assert (view.head, view.leaf, view.end) == (turn.prompt, turn.prompt.pk, turn.reply)
        end_all(turn)


def test_the_chosen_reply_is_shown_alone(turn: Turn) -> None:
    end_all(turn)
    chosen = turn.replies[2]
    get_conversation(turn).activate_branch(chosen.pk)
    view = get_conversation(turn).view()
    assert (view.thread, view.beside, view.leaf) == ([turn.prompt, chosen], [], chosen.pk)
    assert view.thread[1].siblings == turn.replies


def test_a_reply_chosen_early_waits_for_the_others(turn: Turn) -> None:
    end(turn.reply, build_reply("So."))
    get_conversation(turn).activate_branch(turn.reply.pk)
    view = get_conversation(turn).view()
    assert (view.thread, view.beside) == ([turn.prompt, turn.replies[1]], [])


def test_a_follow_up_to_the_first_reply_leads_only_through_it(carol: User, turn: Turn) -> None:
    end_all(turn)
    following = follow_up(turn, turn.reply).store(carol, HERE)
    view = get_conversation(turn).view()
    assert view.thread == [turn.prompt, turn.reply, following.prompt, following.reply]
    assert not view.beside


def test_stepping_back_to_their_prompt_leads_to_the_continued_reply(
    carol: User, prompt: Prompt, turn: Turn
) -> None:
    end_all(turn)
    following = follow_up(turn, turn.replies[1]).store(carol, HERE)
    end(following.reply, build_reply("Dark."))
    edit = Edit("Why is it red?", prompt.model, id=uuid4(), edited=turn.prompt.pk)
    end(edit.store(carol, HERE).reply, build_reply("So."))
    conversation = get_conversation(turn)
    conversation.activate_branch(turn.prompt.pk)
    view = conversation.view()
    assert view.thread == [turn.prompt, turn.replies[1], following.prompt, following.reply]
    assert not view.beside


def test_a_retry_is_shown_alone(carol: User, turn: Turn, prompt: Prompt) -> None:
    end_all(turn)
    once_more = Retry(turn.replies[1].pk, prompt.model).store(carol, HERE)
    assert get_conversation(turn).view().thread == [turn.prompt, once_more.reply]
    end(once_more.reply, build_reply("Again."))
    assert once_more.reply.siblings == [*turn.replies, once_more.reply]


def test_an_edit_can_be_sent_to_several_models(
    carol: User, prompt: Prompt, gateway: Upstream
) -> None:
    conversation = carol.conversations.create(title="Sky")
    first, _ = store_turn(conversation, gateway, "Why?")
    edit = Edit("Why not?", prompt.model, id=uuid4(), others=prompt.others, edited=first.pk)
    turn = edit.store(carol, HERE)
    assert len(get_conversation(turn).view().beside) == 4
    end_all(turn)
    other = get_conversation(turn)
    other.activate_branch(first.pk)
    assert not other.view().beside
    other.activate_branch(turn.prompt.pk)
    assert get_conversation(turn).view().beside == turn.replies


def test_after_a_deletion_the_remaining_replies_stay_side_by_side(turn: Turn) -> None:
    end_all(turn)
    Message.objects.filter(pk=turn.reply.pk).update(deleted_at="2026-01-01T00:00Z")
    conversation = get_conversation(turn)
    conversation.go_on_from(turn.prompt.pk)
    assert conversation.view().beside == turn.replies[1:]
    left = [reply.pk for reply in turn.replies[1:3]]
    Message.objects.filter(pk__in=left).update(deleted_at="2026-01-01T00:00Z")
    conversation.go_on_from(turn.prompt.pk)
    view = conversation.view()
    assert (view.thread, view.beside) == ([turn.prompt, turn.replies[3]], [])
    assert view.leaf == turn.replies[3].pk


def test_a_page_is_incomplete_until_it_has_the_ending_of_each_reply(turn: Turn) -> None:
    end(turn.reply, build_reply("So."))
    view = get_conversation(turn).view()
    page_endings = "complete streaming streaming streaming"
    assert view.ending == page_endings
    assert (
        get_conversation(turn)
        .load_thread_page(turn.prompt.pk)
        .is_up_to_date(turn.prompt.pk, page_endings)
    )
    assert view.since(turn.prompt.pk, page_endings).visible_messages == []
    for other in ("", "complete", "complete complete streaming streaming"):
        assert not view.is_up_to_date(turn.prompt.pk, other)
        lacking = view.since(turn.prompt.pk, other)
        assert (lacking.thread, lacking.beside) == ([turn.prompt], turn.replies)


def test_a_new_chat_preselects_the_first_of_the_models(carol: User, turn: Turn) -> None:
    used = Conversation.find_last_used_model(carol)
    assert used
    assert used.name == MODEL


def test_only_one_branch_is_sent(turn: Turn) -> None:
    end_all(turn)
    history = get_conversation(turn).history_through(turn.reply.pk)
    assert (history.end, history.length) == (turn.reply.pk, 2)
