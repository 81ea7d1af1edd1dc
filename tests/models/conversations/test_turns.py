"""Storing prompts, continuations and retries: a new turn, the existing one, or a refusal."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from pytest_django import Settings

from chatapp.models import (
    Continuation,
    Conversation,
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
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.requests.history import CONTINUE_PROMPT
from tests.support.stored import MODEL, build_reply, end, store_turn

pytestmark = pytest.mark.django_db

HERE = UUID(int=1)  # the worker that streams
Queries = Callable[[int], AbstractContextManager[object]]


@pytest.fixture
def model(gateway: Upstream) -> ModelChoice:
    return ModelChoice(gateway.pk, MODEL)


@pytest.fixture
def prompt(model: ModelChoice) -> Prompt:
    """The first prompt of a conversation."""
    return Prompt("Why is the sky blue?", model, id=uuid4())


@pytest.fixture
def mallory(db: None) -> User:
    return User.objects.create_user("mallory")


def end_turn(turn: Turn) -> Turn:
    end(turn.reply, build_reply("It scatters."))
    return turn


def follow_up(turn: Turn, text: str = "And at night?") -> Prompt:
    assert turn.reply.upstream
    model = ModelChoice(turn.reply.upstream.pk, turn.reply.model)
    return Prompt(text, model, turn.conversation.pk, turn.reply.pk, uuid4())


# Prompts


def test_a_first_prompt_begins_a_conversation(carol: User, prompt: Prompt) -> None:
    turn = prompt.store(carol, HERE)
    assert (turn.prompt.pk, turn.prompt.content) == (prompt.id, prompt.text)
    assert (turn.reply.parent, turn.reply.is_streaming) == (turn.prompt, True)
    assert (turn.reply.streamed_by, turn.reply.model) == (HERE, MODEL)
    assert turn.conversation == carol.conversations.get()
    assert turn.conversation.title == prompt.text
    assert not turn.is_repeated


def test_a_follow_up_is_a_child_of_the_reply_it_follows(carol: User, prompt: Prompt) -> None:
    first = end_turn(prompt.store(carol, HERE))
    turn = follow_up(first).store(carol, HERE)
    assert (turn.before.end, turn.before.length) == (first.reply.pk, 2)
    assert turn.prompt.parent == first.reply
    assert [message["content"] for message in turn.history.messages] == [
        "Why is the sky blue?",
        "It scatters.",
        "And at night?",
    ]


def test_a_prompt_sent_again_returns_the_existing_turn(carol: User, prompt: Prompt) -> None:
    turn = prompt.store(carol, HERE)
    again = prompt.store(carol, None)  # even by a server that accepts nothing new
    assert again.is_repeated
    assert (again.prompt, again.reply) == (turn.prompt, turn.reply)
    assert Message.objects.count() == 2


def test_a_prompt_whose_id_belongs_to_another_text_gets_a_new_id(
    carol: User, prompt: Prompt
) -> None:
    first = end_turn(prompt.store(carol, HERE))
    other = replace(prompt, text="Why is it dark?")
    turn = other.store(carol, HERE)
    assert turn.prompt.pk != first.prompt.pk
    assert turn.prompt.content == other.text
    assert other.id == prompt.id  # the request itself is not changed


def test_the_id_of_another_persons_prompt_gives_no_access_to_it(
    carol: User, mallory: User, prompt: Prompt
) -> None:
    theirs = prompt.store(carol, HERE)
    turn = prompt.store(mallory, HERE)
    assert not turn.is_repeated
    assert turn.prompt.pk != theirs.prompt.pk
    assert turn.conversation.user_id == mallory.pk


def test_a_prompt_without_an_id_is_stored_each_time(carol: User, prompt: Prompt) -> None:
    nameless = replace(prompt, id=None)
    assert nameless.store(carol, HERE).prompt != nameless.store(carol, HERE).prompt


def test_a_prompt_that_two_workers_store_at_once_is_stored_once(
    carol: User, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    offering = Upstream.get_for_choice

    def offering_meanwhile(choice: ModelChoice, person: int) -> Upstream:
        monkeypatch.setattr(Upstream, "get_for_choice", offering)
        prompt.store(carol, uuid4())
        return offering(choice, person)

    monkeypatch.setattr(Upstream, "get_for_choice", offering_meanwhile)
    turn = prompt.store(carol, HERE)
    assert turn.is_repeated
    assert turn.prompt.pk == prompt.id
    assert Message.objects.count() == 2


def test_nobody_can_ask_in_another_persons_conversation(
    carol: User, mallory: User, prompt: Prompt
) -> None:
    theirs = end_turn(prompt.store(carol, HERE))
    with pytest.raises(Refused, match="no longer exists"):
        follow_up(theirs).store(mallory, HERE)
    assert Message.objects.count() == 2


def test_a_prompt_is_refused_while_a_reply_streams(carol: User, prompt: Prompt) -> None:
    turn = prompt.store(carol, HERE)
    with pytest.raises(StillStreaming, match="still being written"):
        follow_up(turn).store(carol, HERE)
    assert Message.objects.count() == 2


# Continuations


def stop_turn(turn: Turn, content: str = "It sca") -> Turn:
    end(turn.reply, build_reply(content), Ending.STOPPED)
    return turn


def test_a_continuation_is_a_prompt_that_nobody_typed(carol: User, prompt: Prompt) -> None:
    first = stop_turn(prompt.store(carol, HERE))
    turn = Continuation(first.reply.pk, prompt.model, uuid4()).store(carol, HERE)
    stored = turn.conversation.view().thread
    assert [message.is_continuation for message in stored] == [False, False, True, False]
    assert (stored[2].parent, stored[2].content) == (first.reply, "")
    assert str(stored[2]) == "user: continued"
    *_, partial_reply, continue_request = turn.history.messages
    assert partial_reply == {"role": "assistant", "content": "It sca"}
    assert continue_request == {"role": "user", "content": CONTINUE_PROMPT}


def test_a_continuation_sent_again_is_stored_once(carol: User, prompt: Prompt) -> None:
    first = stop_turn(prompt.store(carol, HERE))
    again = Continuation(first.reply.pk, prompt.model, uuid4())
    turn = again.store(carol, HERE)
    repeated = again.store(carol, HERE)
    assert (repeated.is_repeated, repeated.prompt) == (True, turn.prompt)
    assert Message.objects.count() == 4


def test_a_complete_followed_or_foreign_reply_cannot_be_continued(
    carol: User, mallory: User, prompt: Prompt
) -> None:
    first = prompt.store(carol, HERE)
    continuation = Continuation(first.reply.pk, prompt.model)
    with pytest.raises(Refused, match="being written"):
        continuation.store(carol, HERE)
    stop_turn(first)
    with pytest.raises(Refused, match="no longer exists"):
        continuation.store(mallory, HERE)
    with pytest.raises(Refused, match="no longer exists"):
        Continuation(first.prompt.pk, prompt.model).store(carol, HERE)
    second = end_turn(continuation.store(carol, HERE))
    with pytest.raises(Refused, match="moved on"):
        continuation.store(carol, HERE)
    with pytest.raises(Refused, match="complete"):
        Continuation(second.reply.pk, prompt.model).store(carol, HERE)
    assert Message.objects.count() == 4


# Retries


def test_a_retry_is_one_more_reply_to_the_prompt(
    carol: User, prompt: Prompt, model: ModelChoice, gateway: Upstream
) -> None:
    first = end_turn(prompt.store(carol, HERE))
    other = ModelChoice(model.upstream, "another")
    turn = Retry(first.reply.pk, other).store(carol, HERE)
    assert (turn.before.end, turn.prompt) == (None, first.prompt)
    assert turn.reply.siblings == [first.reply, turn.reply]
    assert (turn.reply.model, turn.reply.streamed_by) == ("another", HERE)
    assert turn.reply.upstream
    assert turn.reply.upstream.api_key == gateway.api_key


def test_another_persons_messages_cannot_be_retried(
    carol: User, mallory: User, conversation: Conversation, gateway: Upstream, model: ModelChoice
) -> None:
    _, reply = store_turn(conversation, gateway, "Why?")
    second, _ = store_turn(conversation, gateway, "And?", reply)
    for user, pk in ((mallory, reply.pk), (mallory, second.pk), (carol, uuid4())):
        with pytest.raises(Refused, match="no longer exists"):
            Retry(pk, model).store(user, HERE)
    assert Message.objects.count() == 4


# Both


@pytest.fixture(params=["prompt", "retry"])
def follow_up_request(
    request: pytest.FixtureRequest, carol: User, prompt: Prompt, model: ModelChoice
) -> Prompt | Retry:
    """A request that follows a first turn."""
    first = end_turn(prompt.store(carol, HERE))
    return follow_up(first) if request.param == "prompt" else Retry(first.reply.pk, model)


def test_a_restarting_server_accepts_nothing_new(
    carol: User, follow_up_request: Prompt | Retry
) -> None:
    with pytest.raises(Refused, match="restarting"):
        follow_up_request.store(carol, None)


def test_the_number_of_running_replies_per_person_is_limited(
    carol: User,
    mallory: User,
    follow_up_request: Prompt | Retry,
    prompt: Prompt,
    settings: Settings,
) -> None:
    settings.CHATAPP_REPLIES_PER_PERSON = 2
    replace(prompt, id=None).store(mallory, HERE)
    replace(prompt, id=None).store(carol, HERE)
    replace(prompt, id=None).store(carol, HERE)
    with pytest.raises(Refused, match="already have 2 replies running"):
        follow_up_request.store(carol, HERE)


def test_a_model_that_is_no_longer_offered_is_refused(
    carol: User, follow_up_request: Prompt | Retry, gateway: Upstream
) -> None:
    gateway.enabled = False
    gateway.save()
    with pytest.raises(Refused, match="no longer available"):
        follow_up_request.store(carol, HERE)


# Speed: with many prompts at once, every statement waits for its turn to run.


def test_a_turn_takes_few_statements(
    carol: User, prompt: Prompt, model: ModelChoice, django_assert_num_queries: Queries
) -> None:
    with django_assert_num_queries(12):  # one looks for limits, two for policies, one for memory
        first = prompt.store(carol, HERE)
    with django_assert_num_queries(5):  # including the model's price, which is cached
        end_turn(first)
    with django_assert_num_queries(15):
        second = follow_up(first).store(carol, HERE)
    with django_assert_num_queries(4):
        end_turn(second)
    with django_assert_num_queries(17):
        Retry(second.reply.pk, model).store(carol, HERE)
    with django_assert_num_queries(7):
        carol.conversations.get_not_trashed(first.conversation.pk).view()
