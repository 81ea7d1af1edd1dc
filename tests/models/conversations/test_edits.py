"""Editing a prompt keeps the original and adds the new prompt as its sibling."""

from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from chatapp.models import (
    Conversation,
    Deletion,
    Edit,
    Message,
    ModelChoice,
    Refused,
    Retry,
    Upstream,
    User,
)
from tests.support.stored import MODEL, build_reply, end, store_turn

pytestmark = pytest.mark.django_db

HERE = UUID(int=1)


@pytest.fixture
def turns(conversation: Conversation, gateway: Upstream) -> list[Message]:
    prompt, reply = store_turn(conversation, gateway, "Why?")
    return [prompt, reply, *store_turn(conversation, gateway, "And then?", reply)]


@pytest.fixture
def edit(gateway: Upstream, turns: list[Message]) -> Edit:
    """An edit of the second prompt."""
    model = ModelChoice(gateway.pk, MODEL)
    return Edit("And now?", model, id=uuid4(), edited=turns[2].pk)


def test_an_edit_adds_a_sibling_and_overwrites_nothing(
    carol: User, conversation: Conversation, turns: list[Message], edit: Edit
) -> None:
    turn = edit.store(carol, HERE)
    assert [message["content"] for message in turn.history.messages] == [
        "Why?",
        "To Why?",
        "And now?",
    ]
    end(turn.reply, build_reply("Nothing"))
    conversation.refresh_from_db()
    assert [message.content for message in conversation.view().thread[2:]] == [
        "And now?",
        "Nothing",
    ]
    assert conversation.view().thread[2].siblings == [turns[2], turn.prompt]
    before = [message.content for message in conversation.view(turns[2].pk).thread]
    assert before == ["Why?", "To Why?", "And then?", "To And then?"]


def test_the_first_prompt_can_be_changed(
    carol: User, conversation: Conversation, turns: list[Message], edit: Edit
) -> None:
    turn = replace(edit, edited=turns[0].pk).store(carol, HERE)
    assert (turn.prompt.parent, turn.conversation) == (None, conversation)
    assert [message["content"] for message in turn.history.messages] == ["And now?"]
    conversation.refresh_from_db()
    assert conversation.view().thread[0].siblings == [turns[0], turn.prompt]


def test_sending_an_edit_again_stores_it_once(carol: User, edit: Edit) -> None:
    edit.store(carol, HERE)
    assert edit.store(carol, HERE).is_repeated
    assert Message.objects.count() == 6


def test_replies_deleted_prompts_and_other_peoples_prompts_can_not_be_edited(
    carol: User, turns: list[Message], edit: Edit
) -> None:
    mallory = User.objects.create_user("mallory")
    with pytest.raises(Refused, match="no longer exists"):
        edit.store(mallory, HERE)
    with pytest.raises(Refused, match="You can only edit"):
        replace(edit, edited=turns[1].pk).store(carol, HERE)
    Deletion(turns[2].pk).store(carol)
    with pytest.raises(Refused, match="no longer exists"):
        edit.store(carol, HERE)


def test_sending_a_deleted_prompt_again_stores_a_new_one(
    carol: User, edit: Edit, turns: list[Message]
) -> None:
    first = edit.store(carol, HERE)
    end(first.reply, build_reply("Nothing"))
    Deletion(first.prompt.pk).store(carol)
    again = edit.store(carol, HERE)
    assert not again.is_repeated
    assert again.prompt.pk != first.prompt.pk


def test_a_prompt_whose_reply_was_deleted_can_be_answered(
    carol: User, conversation: Conversation, turns: list[Message], edit: Edit
) -> None:
    Deletion(turns[3].pk).store(carol)
    turn = Retry(turns[2].pk, edit.model).store(carol, HERE)
    assert [message["content"] for message in turn.history.messages] == [
        "Why?",
        "To Why?",
        "And then?",
    ]
    assert turn.reply.siblings == [turn.reply]
