"""Branches as SQL reads them, compared with a Python implementation over all messages."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from unittest.mock import patch
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatapp.models import Conversation, Deletion, Message, Upstream
from chatapp.models.conversations.threads import branch_history as said_module
from chatapp.models.conversations.threads.branch_history import MIN_CACHED_MESSAGES, BranchHistory
from chatapp.upstream.wire.requests.history import NO_ANSWER, History
from tests.models.conversations.test_rounds import round_of_a_call
from tests.support.profile import choose_size
from tests.support.stored import MODEL, store_turn

Queries = Callable[[int], AbstractContextManager[object]]

pytestmark = pytest.mark.django_db


def find_expected_branch(
    messages: list[Message], through: UUID | None, leaf: UUID | None
) -> list[Message]:
    """Return the expected branch. `messages` are all that are not deleted, oldest first."""
    by_id = {message.pk: message for message in messages}

    def up(message: Message | None) -> list[Message]:
        path = []
        while message:
            path.append(message)
            message = by_id.get(message.parent_id) if message.parent_id else None
        return path[::-1]

    def down(message: Message | None) -> Message | None:
        end = message
        while message:
            below = [child for child in messages if child.parent_id == message.pk]
            first = min((child.choice for child in below), default=0)
            end, message = (
                message,
                next((child for child in below[::-1] if child.choice == first), None),
            )
        return end

    named, read = (by_id.get(key) if key else None for key in (through, leaf))
    if named and read and named not in up(read):
        read = None
    return up(down(read or named or next((m for m in messages[::-1] if m.choice == 0), None)))


@settings(
    max_examples=choose_size(20, 120),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    parents=st.lists(st.integers(0, 9), max_size=9),
    choices=st.lists(st.integers(0, 2), min_size=10, max_size=10),
    deleted=st.sets(st.integers(0, 8), max_size=3),
    leaf=st.integers(0, 10),
    is_old=st.booleans(),
)
def test_a_branch_leads_through_the_given_message_to_the_last_read_or_newest_one(
    conversation: Conversation,
    parents: list[int],
    choices: list[int],
    deleted: set[int],
    leaf: int,
    is_old: bool,
) -> None:
    conversation.messages.all().delete()
    ids: list[UUID | None] = [None]
    gone: set[UUID | None] = set()
    for number, (parent, choice) in enumerate(zip(parents, choices, strict=False)):
        ids.append(uuid4())
        above = ids[parent % (len(ids) - 1)]
        siblings = conversation.messages.filter(parent=above, choice=0)
        if number in deleted or above in gone:
            gone.add(ids[-1])
        conversation.messages.create(
            id=ids[-1],
            parent_id=above,
            role=Message.Role.USER,
            content=str(number),
            choice=choice if above and siblings.exists() else 0,
            deleted_at=timezone.now() if ids[-1] in gone else None,
        )
    if is_old:
        conversation.messages.update(sequence=None)
    conversation.active_leaf = [*ids, uuid4()][leaf % (len(ids) + 1)]
    present = list(conversation.messages.filter(deleted_at=None))
    for through in [*ids, uuid4()]:
        expected = find_expected_branch(present, through, conversation.active_leaf)
        assert conversation.view(through).thread == expected
        # The second time it comes from what the first one remembered.
        with patch.object(said_module, "MIN_CACHED_MESSAGES", 2):
            histories = [conversation.history_through(through) for _ in range(2)]
        prompts = [
            text for text in contents(histories[0]) if text != NO_ANSWER
        ]  # there are no replies
        assert prompts == [other.content for other in expected]
        assert histories[0] == histories[1]
        for message in conversation.view(through).thread:
            family = [other for other in present if other.parent_id == message.parent_id]
            assert message.siblings == family


def contents(branch: BranchHistory) -> list[str]:
    return [str(message["content"]) for message in branch.history().messages]


def test_a_message_of_another_conversation_is_ignored(
    conversation: Conversation, gateway: Upstream
) -> None:
    first = store_turn(conversation, gateway, "Why?")
    other = Conversation(user=conversation.user, title="Another")
    theirs = store_turn(other, gateway, "Secret")
    assert contents(conversation.history_through(theirs[1].pk)) == ["Why?", "To Why?"]
    assert contents(other.history_through(first[1].pk)) == ["Secret", "To Secret"]
    conversation.active_leaf = theirs[1].pk
    assert conversation.view(theirs[1].pk).thread == [*first]
    assert contents(conversation.history_through(None)) == ["Why?", "To Why?"]


def test_the_history_for_an_upstream_is_read_in_one_query(
    conversation: Conversation, gateway: Upstream, django_assert_num_queries: Queries
) -> None:
    messages = store_turn(conversation, gateway, "Why?")
    next_reply = Message(upstream=gateway, model=MODEL)

    def build_expected_messages() -> list[dict[str, object]]:
        return [
            chat_message
            for message in messages
            for chat_message in message.as_chat_messages(next_reply)
        ]

    with django_assert_num_queries(1):
        chat_messages = conversation.history_through(None).history(next_reply).messages
    assert chat_messages == build_expected_messages()
    messages[1].earlier_rounds = [round_of_a_call().as_record()]
    messages[1].save()
    with django_assert_num_queries(2):
        chat_messages = conversation.history_through(None).history(next_reply).messages
    assert chat_messages == build_expected_messages()
    assert [chat_message["role"] for chat_message in chat_messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_the_next_turn_of_a_long_branch_reads_only_new_messages(
    conversation: Conversation, gateway: Upstream, django_assert_num_queries: Queries
) -> None:
    reply = None
    texts = [f"Number {number}?" for number in range(MIN_CACHED_MESSAGES)]
    turns = []
    for text in texts:
        turns.append(store_turn(conversation, gateway, text, reply))
        reply = turns[-1][1]

    def build_expected_texts(count: int) -> list[object]:
        return [text for question in texts[:count] for text in (question, f"To {question}")]

    with django_assert_num_queries(2):
        assert contents(conversation.history_through(None)) == build_expected_texts(
            MIN_CACHED_MESSAGES
        )
    texts.append("And now?")
    turns.append(store_turn(conversation, gateway, texts[-1], reply))
    with django_assert_num_queries(1):
        history = conversation.history_through(None)
    assert contents(history) == build_expected_texts(MIN_CACHED_MESSAGES + 1)
    assert (history.end, history.length) == (turns[-1][1].pk, 2 * MIN_CACHED_MESSAGES + 2)
    assert history.history() == History.of(history.history().messages)
    assert contents(conversation.history_until(turns[3][1].pk)) == build_expected_texts(4)
    Deletion(turns[10][0].pk).store(conversation.user)
    conversation.refresh_from_db()
    assert contents(conversation.history_through(turns[-1][1].pk)) == build_expected_texts(10)
    assert contents(conversation.history_until(turns[-1][1].pk)) == []


def test_an_interrupted_reply_is_read_again(conversation: Conversation, gateway: Upstream) -> None:
    reply = None
    for number in range(MIN_CACHED_MESSAGES):
        _, reply = store_turn(conversation, gateway, f"Number {number}?", reply)
    assert reply
    Message.objects.filter(pk=reply.pk).update(ending="interrupted", content="Half")
    assert contents(conversation.history_through(None))[-1] == "Half"
    Message.objects.filter(pk=reply.pk).update(ending="complete", content="Half and whole")
    assert contents(conversation.history_through(None))[-1] == "Half and whole"


def test_remembered_branches_are_evicted_when_the_memory_limit_is_reached(
    conversation: Conversation, gateway: Upstream
) -> None:
    reply = None
    for number in range(MIN_CACHED_MESSAGES):
        _, reply = store_turn(conversation, gateway, f"Number {number}?", reply)
    remembered = said_module._BranchCache()  # noqa: SLF001
    branch = conversation.history_through(None)
    limit = 3 * branch.plain.text_bytes
    with patch.object(said_module, "MAX_CACHED_BYTES", limit):
        for number in range(4):
            remembered.put(number, branch, None)
            assert remembered.get(0) or number == 3
            remembered.get(1)
    assert [bool(remembered.get(number)) for number in range(4)] == [True, True, False, True]


def test_no_statement_looks_at_other_peoples_messages(
    conversation: Conversation, gateway: Upstream
) -> None:
    """Each uses an index on the conversation, the message or its parent."""
    _, reply = store_turn(conversation, gateway, "Why?")
    if connection.vendor != "sqlite":
        return
    with CaptureQueriesContext(connection) as queries:
        conversation.view()
        conversation.view_around(reply.pk)
        conversation.history_through(reply.pk)
    with connection.cursor() as cursor:
        for query in queries.captured_queries:
            cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
            plan = [row[3] for row in cursor.fetchall()]
            assert not [step for step in plan if step.startswith("SCAN chatapp_")], query["sql"]
            if "LEFT OUTER JOIN" in query["sql"]:  # the messages as they are shown
                assert not any("convers" in step for step in plan), plan
            if "ending = 'streaming'" in query["sql"]:
                assert any("message_one_streams" in step for step in plan), plan
