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
from tests.support.stored import answered

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
    return answered(conversation, gateway, "Why?")


def test_a_query_returns_what_the_orm_would(messages: tuple[Message, Message]) -> None:
    for message in messages:
        found = BY_ROLE.all(message.conversation_id, message.role)
        stored = Message.objects.get(pk=message.pk)
        assert [vars(one) | {"_state": None} for one in found] == [vars(stored) | {"_state": None}]
        assert BY_ROLE.first(message.conversation_id, message.role) == stored
        assert BY_ROLE.count(message.conversation_id, message.role) == 1
    assert BY_ROLE.first(uuid4(), "user") is None
    assert BY_ROLE.count(uuid4(), "user") == 0


def test_a_query_loads_related_rows_as_the_orm_would(messages: tuple[Message, Message]) -> None:
    prompt, reply = SHOWN.all(*(message.pk for message in messages))
    assert [vars(one)["is_asked"] for one in (prompt, reply)] == [True, False]
    assert prompt.upstream is None
    assert not hasattr(prompt, "usage")
    with CaptureQueriesContext(connection) as asked:
        stored = Message.objects.get(pk=reply.pk)
        assert (reply.upstream, reply.usage) == (stored.upstream, stored.usage)
        assert reply.usage.total_tokens == stored.usage.total_tokens
        assert len(asked) == 3, "all of them for what is stored"
        assert vars(reply.upstream).keys() == vars(stored.upstream).keys() - {"api_key"}
    assert SHOWN.all(reply.pk, reply.pk) == [reply]


@pytest.mark.parametrize("count", [0, 1, PreparedIn.AT_ONCE, PreparedIn.AT_ONCE + 1])
def test_a_query_takes_any_number_of_values(carol: User, count: int) -> None:
    every = [carol.conversations.create(title=str(number)).pk for number in range(count + 1)]
    among = PreparedIn(
        lambda *pks: Conversation.objects.filter(pk__in=pks).only("title"), Conversation._meta.pk
    )
    found = among.all(iter(every[:count]))
    assert sorted(one.pk for one in found) == sorted(every[:count])


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


def test_an_inserted_instance_is_as_save_leaves_it(carol: User) -> None:
    made = Conversation(user=carol, title="It's {} %s \" ;")
    Insert(Conversation).run(made)
    stored = Conversation.objects.get()
    assert (stored.pk, stored.title, stored.user_id) == (made.pk, made.title, carol.pk)
    assert (stored.created_at, stored.updated_at) == (made.created_at, made.updated_at)
    made.title = "Another"
    made.save()  # an update, since it knows that it is stored
    with pytest.raises(IntegrityError):
        Insert(Conversation).run(made)


def test_a_new_instance_equals_one_that_its_model_makes(
    conversation: Conversation, gateway: Upstream
) -> None:
    pk, now = uuid4(), timezone.now()
    given = {"conversation": conversation, "upstream": gateway, "model": "m", "content": "Why?"}
    ours, its = (
        make(id=pk, created_at=now, **given) for make in (partial(build, Message), Message)
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
    stored = Usage.objects.get(message=messages[1])
    assert (stored.total_tokens, stored.provenance) == (7, Usage.Provenance.UNKNOWN)


def test_an_update_returns_how_many_rows_matched(carol: User) -> None:
    one, other = (Conversation.objects.create(user=carol, title=title) for title in "ab")
    update = Update(Conversation, ["updated_at"], where=["id", "title"])
    one.updated_at += timedelta(days=1)
    other.title = "not stored so"
    assert update.run(one, other) == 1
    assert update.run() == 0
    assert Conversation.objects.first() == one


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
    made = Conversation(user=carol, title="Twice")
    Insert(Conversation).run(made)

    def fail_and_go_on() -> None:
        with pytest.raises(IntegrityError), transaction.atomic(savepoint=False):
            Insert(Conversation).run(made)
        BY_ROLE.all(made.pk, "user")

    with pytest.raises(TransactionManagementError):
        transaction.atomic(fail_and_go_on)()


def test_deferred_fields_are_loaded_on_access(carol: User) -> None:
    names = Query(
        lambda name: User.objects.filter(username=name).only("password"),
        User._meta.get_field("username"),
    )
    [found] = names.all(carol.username)
    assert found.get_deferred_fields() >= {"username", "is_active"}
    assert found.username == carol.username
    found.save()
    assert User.objects.get() == carol
