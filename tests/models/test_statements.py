"""Statements that are made once: with other values they say what the ORM would."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError
from django.db.models.sql.compiler import SQLCompiler

from chatapp.models import Conversation, Message, Upstream, Usage, User
from chatapp.models.statements import Insert, Query, Update
from tests.stored import answered

pytestmark = pytest.mark.django_db

BY_ROLE = Query(
    lambda conversation, role: Message.objects.filter(conversation=conversation, role=role),
    Conversation._meta.pk,
    Message._meta.get_field("role"),
)


@pytest.fixture
def messages(conversation: Conversation, gateway: Upstream) -> tuple[Message, Message]:
    return answered(conversation, gateway, "Why?")


def test_a_query_gives_what_the_orm_would(messages: tuple[Message, Message]) -> None:
    for message in messages:
        found = BY_ROLE.all(message.conversation_id, message.role)
        stored = Message.objects.get(pk=message.pk)
        assert [vars(one) | {"_state": None} for one in found] == [vars(stored) | {"_state": None}]
        assert BY_ROLE.first(message.conversation_id, message.role) == stored
        assert BY_ROLE.count(message.conversation_id, message.role) == 1
    assert BY_ROLE.first(uuid4(), "user") is None
    assert BY_ROLE.count(uuid4(), "user") == 0


def test_a_query_is_built_once(
    messages: tuple[Message, Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    BY_ROLE.all(messages[0].conversation_id, "user")
    monkeypatch.delattr(SQLCompiler, "as_sql")
    assert BY_ROLE.all(messages[0].conversation_id, "assistant") == [messages[1]]


def test_a_value_is_never_part_of_the_statement(carol: User) -> None:
    named = Query(lambda name: User.objects.filter(username=name), User._meta.get_field("username"))
    assert named.first("x' OR '1' = '1") is None
    assert named.first("carol' --") is None
    assert named.first(carol.username) == carol


def test_what_is_stored_is_as_a_save_leaves_it(carol: User) -> None:
    made = Conversation(user=carol, title="It's {} %s \" ;")
    Insert(Conversation).run(made)
    stored = Conversation.objects.get()
    assert (stored.pk, stored.title, stored.user_id) == (made.pk, made.title, carol.pk)
    assert (stored.created_at, stored.updated_at) == (made.created_at, made.updated_at)
    made.title = "Another"
    made.save()  # it knows that it is stored
    with pytest.raises(IntegrityError):
        Insert(Conversation).run(made)


def test_a_row_that_is_there_is_replaced_where_that_is_meant(
    messages: tuple[Message, Message],
) -> None:
    usage = Usage.objects.get(message=messages[1])
    usage.provenance, usage.total_tokens = Usage.Provenance.REPORTED, 7
    Insert(Usage, replacing=["total_tokens"]).run(usage)
    stored = Usage.objects.get(message=messages[1])
    assert (stored.total_tokens, stored.provenance) == (7, Usage.Provenance.UNKNOWN)


def test_an_update_says_how_many_rows_it_found(carol: User) -> None:
    one, other = (Conversation.objects.create(user=carol, title=title) for title in "ab")
    update = Update(Conversation, ["updated_at"], where=["id", "title"])
    one.updated_at += timedelta(days=1)
    other.title = "not stored so"
    assert update.run(one, other) == 1
    assert update.run() == 0
    assert Conversation.objects.first() == one
