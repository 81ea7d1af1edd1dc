"""The ledger keeps usage when what it was for is deleted, and across an upgrade."""

import json

import pytest
from django.db import DatabaseError

from chatapp.models import Conversation, Message, Upstream, Usage, User
from chatapp.models.conversations.threads import ledger
from chatapp.upstream.wire.events import TokenUsage
from tests.support.live import Site, execute, run
from tests.support.stored import MODEL, begin_turn, build_reply, end

SPENT = Usage.Provenance.REPORTED, TokenUsage(12, 18, 30)


@pytest.fixture
def reply(conversation: Conversation, gateway: Upstream) -> Message:
    """A reply to Carol that used thirty tokens."""
    _, reply = begin_turn(conversation, gateway, "Why?")
    end(reply, build_reply("So."), usage=Usage.from_tokens(*SPENT))
    return reply


def test_a_row_records_the_usage_the_person_and_the_model(
    reply: Message, gateway: Upstream, carol: User
) -> None:
    booked = Usage.objects.get()
    assert (booked.message, booked.user, booked.upstream) == (reply, carol, gateway)
    assert (booked.upstream_name, booked.model, booked.kind) == ("Gateway", MODEL, "reply")
    assert booked.booked_at is not None


@pytest.mark.parametrize("gone", ["message", "conversation", "person", "upstream"])
def test_deleting_something_keeps_what_it_cost(
    reply: Message, conversation: Conversation, gateway: Upstream, carol: User, gone: str
) -> None:
    going = {"message": reply, "conversation": conversation, "person": carol, "upstream": gateway}
    key, person, server = reply.pk, carol.pk, gateway.pk
    going[gone].delete()
    booked = Usage.objects.get()
    assert (booked.pk, booked.total_tokens, booked.upstream_name) == (key, 30, "Gateway")
    assert booked.user_id == (None if gone == "person" else person)
    assert booked.upstream_id == (None if gone == "upstream" else server)


def test_saving_a_reply_again_books_it_once(reply: Message) -> None:
    usage = Usage.from_tokens(Usage.Provenance.REPORTED, TokenUsage(12, 20, 32))
    end(reply, build_reply("So it is."), usage=usage)
    assert [row.total_tokens for row in Usage.objects.all()] == [32]


@pytest.mark.parametrize("gone", ["conversation", "person"])
def test_a_reply_is_booked_even_if_its_conversation_was_deleted_meanwhile(
    conversation: Conversation, gateway: Upstream, carol: User, gone: str
) -> None:
    _, reply = begin_turn(conversation, gateway, "Why?")
    {"conversation": conversation, "person": carol}[gone].delete()
    with pytest.raises(DatabaseError):
        end(reply, build_reply("So."), usage=Usage.from_tokens(*SPENT))
    assert [usage.total_tokens for usage in Usage.objects.filter(user=None)] == (
        [30] if gone == "person" else []
    )
    assert Usage.objects.get().pk == reply.pk
    assert not Message.objects.exists()


def test_a_title_counts_in_its_conversation_but_not_as_a_reply(
    reply: Message, conversation: Conversation, gateway: Upstream, carol: User
) -> None:
    usage = Usage.from_tokens(Usage.Provenance.REPORTED, TokenUsage(100, 5, 105))
    Usage.book([usage.charge_title(conversation.pk, carol.pk, gateway, "small")])
    sums = Conversation.objects.with_usage().get()
    assert (sums.reply_count, sums.total_tokens, sums.estimated_tokens) == (1, 135, 0)
    assert Usage.objects.get(kind="title").model == "small"


def test_completing_an_up_to_date_ledger_changes_nothing(reply: Message) -> None:
    assert ledger.complete() == 0


# Upgrades

# As versions up to 0.4.0 store rows, in SQL for both PostgreSQL and SQLite.
BOOKED_BY_AN_OLD_PROCESS = """
INSERT INTO chatapp_usage (message_id, provenance, total_tokens)
VALUES ('{0:032x}', 'reported', {1})
ON CONFLICT (message_id) DO UPDATE
  SET provenance = EXCLUDED.provenance, total_tokens = EXCLUDED.total_tokens
"""
BEGUN = [
    """
INSERT INTO chatapp_user (id, password, is_superuser, username, first_name, last_name, email,
  is_staff, is_active, date_joined)
VALUES ({0}, '', false, 'person {0}', '', '', '', false, true, '2026-01-01')
""",
    """
INSERT INTO chatapp_upstream (id, name, base_url, enabled, offered_models, dialect, parameters,
  offers_tools, drains_stopped, takes_usage_option, from_environment)
VALUES ({0}, 'Gateway {0}', 'http://gw/v1', true, '', 'auto', '{{}}', true, false, true, false)
""",
    """
INSERT INTO chatapp_conversation (id, user_id, title, created_at, updated_at)
VALUES ('{1}', {0}, 'Sky', '2026-01-01', '2026-01-01')
""",
]
REPLY = """
INSERT INTO chatapp_message (id, conversation_id, role, reasoning, content, refusal, created_at,
  ending, finish_reason, model, response_id, choice, earlier_rounds, tool_runs, is_flagged,
  service_tier, system_fingerprint, upstream_id)
VALUES ('{2:032x}', '{1}', 'assistant', '', '', '', '2026-01-02', 'complete', '', 'm', '', 0, '[]',
  '[]', false, '', '', {0})
"""
DELETED_BY_AN_OLD_PROCESS = [
    "DELETE FROM chatapp_message WHERE conversation_id = '0000000000000000000000000000000d'",
    "DELETE FROM chatapp_conversation WHERE id = '0000000000000000000000000000000d'",
    "DELETE FROM chatapp_user WHERE id = 2",
    "DELETE FROM chatapp_upstream WHERE id = 2",
]


def build_insert_statements(person: int, *replies: int) -> list[str]:
    """Return the SQL by which version 0.4.0 stores a person, an upstream and a conversation."""
    begun = [statement.format(person, f"{11 + person:032x}") for statement in BEGUN]
    return begun + [REPLY.format(person, f"{11 + person:032x}", reply) for reply in replies]


BOOKS = """
import django, json; django.setup()
from chatapp.models import Usage, ledger
while ledger.complete():
    pass
rows = Usage.objects.order_by("pk")
print(json.dumps([[one.pk.int, one.user_id, one.upstream_name, one.model, one.total_tokens,
    str(one.booked_at)[:10]] for one in rows]))
"""


@pytest.mark.thorough
def test_no_row_is_lost_while_processes_of_the_previous_version_still_run(site: Site) -> None:
    environment = site.missing_installation()
    run(environment, "manage.py", "migrate", "--verbosity", "0", "chatapp", "0010")
    execute(environment, *build_insert_statements(1, 1, 2), *build_insert_statements(2, 3))
    execute(environment, *(BOOKED_BY_AN_OLD_PROCESS.format(number, 10) for number in (1, 3)))
    run(environment, "manage.py", "migrate", "--verbosity", "0")
    execute(environment, *(BOOKED_BY_AN_OLD_PROCESS.format(number, 20) for number in (1, 2)))
    execute(environment, *DELETED_BY_AN_OLD_PROCESS)
    assert json.loads(run(environment, "-c", BOOKS).stdout) == [
        [1, 1, "Gateway 1", "m", 20, "2026-01-02"],
        [2, 1, "Gateway 1", "m", 20, "2026-01-02"],
        [3, 2, "Gateway 2", "m", 10, "2026-01-02"],
    ]
