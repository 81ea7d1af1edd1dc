"""Reading a long conversation: no more is read than is shown."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.db.models.sql.compiler import SQLCompiler
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chatapp.models import Conversation, Message, ThreadPage, Upstream
from chatapp.models.conversations.threads.thread_pages import MORE, WINDOW
from tests.support.stored import MODEL, build_reply, end, store_turn

pytestmark = pytest.mark.django_db

LENGTH = 200


@pytest.fixture
def long(conversation: Conversation) -> list[UUID]:
    """The ids of the conversation's messages, prompts and replies alternating."""
    ids = [uuid4() for _ in range(LENGTH)]
    began = timezone.now()
    Message.objects.bulk_create(
        Message(
            id=pk,
            conversation=conversation,
            parent_id=ids[number - 1] if number else None,
            role=("user", "assistant")[number % 2],
            content=str(number),
            ending="complete" if number % 2 else "",
            created_at=began + timedelta(seconds=number),
        )
        for number, pk in enumerate(ids)
    )
    return ids


def numbers(view: ThreadPage) -> list[int]:
    return [int(message.content) for message in view.thread]


def test_the_newest_messages_are_shown(conversation: Conversation, long: list[UUID]) -> None:
    view = conversation.view()
    assert numbers(view) == list(range(LENGTH - WINDOW, LENGTH))
    assert (view.has_earlier, view.has_later) == (True, False)
    assert view.end == view.head


def test_a_window_is_read_by_compiled_statements(
    conversation: Conversation, long: list[UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation.view()
    conversation.view_around(long[0])
    monkeypatch.delattr(SQLCompiler, "as_sql")
    assert numbers(conversation.view()) == list(range(LENGTH - WINDOW, LENGTH))


@pytest.mark.parametrize(
    ("at", "first", "last"),
    [(0, 0, 15), (3, 0, 18), (100, 86, 115), (184, 170, 199), (190, 170, 199), (199, 170, 199)],
)
def test_a_message_is_shown_with_those_around_it(
    conversation: Conversation, long: list[UUID], at: int, first: int, last: int
) -> None:
    view = conversation.view_around(long[at])
    assert numbers(view) == list(range(first, last + 1))
    assert (view.has_earlier, view.has_later) == (first > 0, last < LENGTH - 1)
    assert view.end
    assert view.end.pk == long[-1]


def test_earlier_and_later_messages_adjoin_those_shown(
    conversation: Conversation, long: list[UUID]
) -> None:
    before, after = conversation.earlier(long[100]), conversation.later(long[100])
    assert numbers(before) == list(range(100 - MORE, 100))
    assert numbers(after) == list(range(101, 101 + MORE))
    assert (before.has_earlier, after.has_later) == (True, True)
    before, after = conversation.earlier(long[MORE]), conversation.later(long[-1 - MORE])
    assert numbers(before) == list(range(MORE))
    assert numbers(after) == list(range(LENGTH - MORE, LENGTH))
    assert (before.has_earlier, after.has_later) == (False, False)
    assert numbers(conversation.earlier(long[0])) == numbers(conversation.later(long[-1])) == []


def test_reading_past_a_fork_follows_the_branch_read_last(
    conversation: Conversation, gateway: Upstream, long: list[UUID]
) -> None:
    prompt = Message.objects.get(pk=long[98])
    other = conversation.answer(prompt, gateway, MODEL, uuid4())
    end(other, build_reply("Otherwise."))
    assert conversation.later(prompt.pk).thread == [other]
    conversation.activate_branch(long[99])
    assert numbers(conversation.later(prompt.pk))[0] == 99
    assert conversation.active_leaf == long[-1]
    around = conversation.view_around(other.pk)
    assert (around.thread[-1], around.has_later) == (other, False)
    assert around.thread[-1].siblings == [Message.objects.get(pk=long[99]), other]


def test_the_number_of_statements_does_not_depend_on_the_length(
    conversation: Conversation, gateway: Upstream, long: list[UUID]
) -> None:
    short = Conversation(user=conversation.user, title="Short")
    _, reply = store_turn(short, gateway, "Why?")
    ways = (
        Conversation.view,
        lambda chat: chat.view_around(long[9] if chat != short else reply.pk),
    )
    for ask in ways:
        counts = []
        for chat in (conversation, short):
            with CaptureQueriesContext(connection) as queries:
                ask(chat)
            counts.append(len(queries))
        assert counts[0] <= counts[1]


def test_a_page_with_a_part_of_the_thread_lacks_the_rest(
    conversation: Conversation, long: list[UUID]
) -> None:
    view = conversation.view()
    tail = view.since(long[-3], "complete")
    assert (numbers(tail), tail.follows, tail.has_earlier) == ([198, 199], True, False)
    assert numbers(view.since(long[-3], "streaming")) == [197, 198, 199]
    assert numbers(view.since(long[-1], "complete")) == []
    assert view.since(long[100], "complete") == view.since(None) == view
    assert not view.follows


def test_prompts_are_those_typed_on_the_branch(
    conversation: Conversation, gateway: Upstream, long: list[UUID]
) -> None:
    assert conversation.load_thread_page().prompts() == long[::2]
    Message.objects.filter(pk=long[-2]).update(is_continuation=True)
    assert conversation.load_thread_page().prompts() == long[:-2:2]
    store_turn(conversation, gateway, "Elsewhere", Message.objects.get(pk=long[1]))
    assert len(conversation.load_thread_page().prompts()) == 2
