"""What came before a prompt, read by one statement: the same branch as the tree of them all has."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatapp.models import Conversation, Message, Upstream
from tests.stored import MODEL, answered

Queries = Callable[[int], AbstractContextManager[object]]

pytestmark = pytest.mark.django_db


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    parents=st.lists(st.integers(0, 9), max_size=9),
    choices=st.lists(st.integers(0, 2), min_size=10, max_size=10),
    is_old=st.booleans(),
)
def test_it_is_the_branch_that_is_shown(
    conversation: Conversation, parents: list[int], choices: list[int], is_old: bool
) -> None:
    conversation.messages.all().delete()
    conversation.save()
    ids: list[UUID | None] = [None]
    for parent, choice in zip(parents, choices, strict=False):
        ids.append(uuid4())
        siblings = conversation.messages.filter(parent=ids[parent % (len(ids) - 1)])
        conversation.messages.create(
            id=ids[-1],
            parent_id=ids[parent % (len(ids) - 1)],
            role=Message.Role.USER,
            choice=choice if siblings.filter(choice=0).exists() else 0,
        )
    if is_old:
        conversation.messages.update(sequence=None)
    for through in [*ids, uuid4()]:
        assert conversation.said(through) == conversation.thread(through)


def test_another_conversations_message_leads_nowhere(
    conversation: Conversation, gateway: Upstream
) -> None:
    first = answered(conversation, gateway, "Why?")
    other = Conversation(user=conversation.user, title="Another")
    theirs = answered(other, gateway, "Secret")
    assert conversation.said(theirs[1].pk) == [*first]
    assert other.said(first[1].pk) == [*theirs]


def test_all_that_an_upstream_is_sent_is_read_at_once(
    conversation: Conversation, gateway: Upstream, django_assert_num_queries: Queries
) -> None:
    messages = answered(conversation, gateway, "Why?")
    asked = Message(upstream=gateway, model=MODEL)
    with django_assert_num_queries(1):
        said = conversation.said(None)
        sent = [one for message in said for one in message.as_chat_messages(asked)]
    assert sent == [one for message in messages for one in message.as_chat_messages(asked)]
