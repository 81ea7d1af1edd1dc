"""Compiled statements return what the ORM would, for every value."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import Q
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chatapp.db.statements import Insert, PreparedIn, Query, Update, build
from chatapp.models import Conversation, Message, Upstream, Usage, User
from tests.support.stored import store_turn

pytestmark = pytest.mark.django_db

BY_ROLE = Query(
    lambda conversation, role: Message.objects.filter(conversation=conversation, role=role),
    Conversation._meta.pk,
    Message._meta.get_field("role"),
)

# Fewer values than slots are padded by the caller.
SHOWN = Query(
    lambda *pks: (
        Message.objects.filter(pk__in=pks)
        .select_related("usage", "upstream")
        .annotate(is_asked=Q(role="user"))
        .defer("upstream__api_key")
    ),
    *[Message._meta.pk] * 2,
)


@pytest.fixture
def messages(conversation: Conversation, gateway: Upstream) -> tuple[Message, Message]:
    return store_turn(conversation, gateway, "Why?")


def test_a_query_returns_what_the_orm_would(messages: tuple[Message, Message]) -> None:
    for message in messages:
        results = BY_ROLE.all(message.conversation_id, message.role)
        expected = Message.objects.get(pk=message.pk)
        assert [vars(result) | {"_state": None} for result in results] == [
            vars(expected) | {"_state": None}
        ]
        assert BY_ROLE.first(message.conversation_id, message.role) == expected
        assert BY_ROLE.count(message.conversation_id, message.role) == 1
    assert BY_ROLE.first(uuid4(), "user") is None
    assert BY_ROLE.count(uuid4(), "user") == 0


def test_a_query_loads_related_rows_as_the_orm_would(messages: tuple[Message, Message]) -> None:
    prompt, reply = SHOWN.all(*(message.pk for message in messages))
    assert [vars(message)["is_asked"] for message in (prompt, reply)] == [True, False]
    assert prompt.upstream is None
    assert not hasattr(prompt, "usage")
    with CaptureQueriesContext(connection) as queries:
        expected = Message.objects.get(pk=reply.pk)
        assert (reply.upstream, reply.usage) == (expected.upstream, expected.usage)
        assert reply.usage.total_tokens == expected.usage.total_tokens
        assert len(queries) == 3, "all of them for what is stored"
        assert vars(reply.upstream).keys() == vars(expected.upstream).keys() - {"api_key"}
    assert SHOWN.all(reply.pk, reply.pk) == [reply]


@pytest.mark.parametrize("count", [0, 1, PreparedIn.AT_ONCE, PreparedIn.AT_ONCE + 1])
def test_a_query_takes_any_number_of_values(carol: User, count: int) -> None:
    keys = [carol.conversations.create(title=str(number)).pk for number in range(count + 1)]
    among = PreparedIn(
        lambda *pks: Conversation.objects.filter(pk__in=pks).only("title"), Conversation._meta.pk
    )
    conversations = among.all(iter(keys[:count]))
    assert sorted(conversation.pk for conversation in conversations) == sorted(keys[:count])


def test_a_query_is_built_once(
    messages: tuple[Message, Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    BY_ROLE.all(messages[0].conversation_id, "user")
    monkeypatch.delattr(SQLCompiler, "as_sql")
    assert BY_ROLE.all(messages[0].conversation_id, "assistant") == [messages[1]]


def test_a_value_is_never_part_of_the_statement(carol: User) -> None:
    by_name = Query(
        lambda name: User.objects.filter(username=name), User._meta.get_field("username")
    )
    assert by_name.first("x' OR '1' = '1") is None
    assert by_name.first("carol' --") is None
    assert by_name.first(carol.username) == carol


def test_an_inserted_instance_is_as_save_leaves_it(carol: User) -> None:
    inserted_chat = Conversation(user=carol, title="It's {} %s \" ;")
    Insert(Conversation).run(inserted_chat)
    stored_chat = Conversation.objects.get()
    assert (stored_chat.pk, stored_chat.title, stored_chat.user_id) == (
        inserted_chat.pk,
        inserted_chat.title,
        carol.pk,
    )
    assert (stored_chat.created_at, stored_chat.updated_at) == (
        inserted_chat.created_at,
        inserted_chat.updated_at,
    )
    inserted_chat.title = "Another"
    inserted_chat.save()  # an update, since it knows that it is stored
    with pytest.raises(IntegrityError):
        Insert(Conversation).run(inserted_chat)


def test_a_new_instance_equals_one_that_its_model_makes(
    conversation: Conversation, gateway: Upstream
) -> None:
    pk, now = uuid4(), timezone.now()
    fields = {"conversation": conversation, "upstream": gateway, "model": "m", "content": "Why?"}
    ours, its = (
        make(id=pk, created_at=now, **fields) for make in (partial(build, Message), Message)
    )
    assert vars(ours) | {"_state": None} == vars(its) | {"_state": None}
    assert ours.conversation is conversation
    other = build(Message)
    assert other.pk != build(Message).pk
    assert other.tool_runs is not build(Message).tool_runs
    ours.save()
    assert Message.objects.get() == ours


def test_an_existing_row_is_replaced_if_requested(
    messages: tuple[Message, Message],
) -> None:
    usage = Usage.objects.get(message=messages[1])
    usage.provenance, usage.total_tokens = Usage.Provenance.REPORTED, 7
    Insert(Usage, replacing=["total_tokens"]).run(usage)
    row = Usage.objects.get(message=messages[1])
    assert (row.total_tokens, row.provenance) == (7, Usage.Provenance.UNKNOWN)


def test_an_update_returns_how_many_rows_matched(carol: User) -> None:
    first, second = (Conversation.objects.create(user=carol, title=title) for title in "ab")
    update = Update(Conversation, ["updated_at"], where=["id", "title"])
    first.updated_at += timedelta(days=1)
    second.title = "not stored so"
    assert update.run(first, second) == 1
    assert update.run() == 0
    assert Conversation.objects.first() == first


def test_execute_wrappers_see_every_statement(messages: tuple[Message, Message]) -> None:
    seen = []

    def note(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        seen.append(sql)
        return execute(sql, *rest)

    with connection.execute_wrapper(note):
        assert BY_ROLE.all(messages[0].conversation_id, "user") == [messages[0]]
        assert BY_ROLE.count(messages[0].conversation_id, "user") == 1
        assert Update(Message, ["content"]).run(*messages) == 2
    assert len(seen) == 3


def test_no_statement_runs_in_a_failed_transaction(carol: User) -> None:
    conversation = Conversation(user=carol, title="Twice")
    Insert(Conversation).run(conversation)

    def fail_and_go_on() -> None:
        with pytest.raises(IntegrityError), transaction.atomic(savepoint=False):
            Insert(Conversation).run(conversation)
        BY_ROLE.all(conversation.pk, "user")

    with pytest.raises(TransactionManagementError):
        transaction.atomic(fail_and_go_on)()


def test_deferred_fields_are_loaded_on_access(carol: User) -> None:
    names = Query(
        lambda name: User.objects.filter(username=name).only("password"),
        User._meta.get_field("username"),
    )
    [user] = names.all(carol.username)
    assert user.get_deferred_fields() >= {"username", "is_active"}
    assert user.username == carol.username
    user.save()
    assert User.objects.get() == carol
