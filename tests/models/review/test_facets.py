"""Sums and facets of conversations always match their messages, whatever changes these."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import StringIO
from uuid import UUID, uuid4

import pytest
from django.core.exceptions import ObjectDoesNotExist
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatapp.models import (
    Conversation,
    ConversationFacet,
    ConversationSums,
    Deletion,
    Feedback,
    Message,
    Refused,
    Restoration,
    ReviewRule,
    RuleFinding,
    Upstream,
    Usage,
    User,
)
from chatapp.models.review import facets
from chatapp.upstream.wire.reply import Ending
from tests.models.conversations.test_ledger import (
    BOOKED_BY_AN_OLD_PROCESS,
    DELETED_BY_AN_OLD_PROCESS,
)
from tests.models.conversations.test_ledger import (
    build_insert_statements as stored_by_an_old_process,
)
from tests.support.live import Site, execute, run
from tests.support.profile import choose_size
from tests.support.stored import build_reply, end, wait_until_somebody_waits

pytestmark = pytest.mark.django_db

MODELS = ("m", "Ω")


def expect_facets(conversation: Conversation) -> set[str]:
    """Return the expected facets of the replies as they are now."""
    expected: set[str] = set()
    for message in conversation.messages.filter(role="assistant").select_related("feedback"):
        expected |= {f"model {message.model}", f"upstream {message.upstream_id}"}
        if message.ending not in ("streaming", "complete"):
            expected.add(f"ending {message.ending}")
        calls = [call for round in message.earlier_rounds for call in round["tool_runs"]]
        expected |= {f"tool {call['name']}" for call in [*calls, *message.tool_runs]}
        if hasattr(message, "feedback"):
            expected |= {"feedback", f"feedback {message.feedback.rating}"}
            expected |= {"flagged"} if message.feedback.rating == "down" else set()
        if message.is_flagged:
            expected |= {"flagged", "flagged moderation"}
            results = message.moderation["input"]["results"] if message.moderation else []
            expected |= {f"category {name}" for result in results for name in result["categories"]}
    return expected


def count_characters(conversation: Conversation) -> int:
    """Count the characters of messages that are neither deleted nor streaming."""
    present = conversation.messages.filter(deleted_at=None).exclude(ending=Message.STREAMING)
    return sum(
        len(message.content)
        + sum(len(round.get("content") or "") for round in message.earlier_rounds)
        for message in present
    )


def expect_consistent() -> None:
    """Compute sums and facets again in Python and compare; facets may outlive deletions."""
    for conversation in Conversation.objects.all():
        replies = conversation.messages.filter(role="assistant", deleted_at=None).select_related(
            "usage"
        )
        costs = [reply.usage.cost or 0 for reply in replies if hasattr(reply, "usage")]
        costs += [title.cost or 0 for title in Usage.objects.filter(pk=conversation.pk)]
        costs += [
            summary.cost or 0 for summary in Usage.objects.filter(conversation=conversation.pk)
        ]
        day = conversation.updated_at.astimezone(UTC).date()
        assert (conversation.sums.used_on, conversation.sums.replies) == (day, len(replies))
        assert conversation.sums.cost == sum(costs)
        assert conversation.sums.characters == count_characters(conversation)
        assert conversation.sums.is_whole
        stored_facets = dict(conversation.facts.values_list("fact", "used_on"))
        assert set(stored_facets) >= expect_facets(conversation)
        assert set(stored_facets.values()) <= {day}
    conversation_keys = set(Conversation.objects.values_list("pk", flat=True))
    for table in (ConversationSums, ConversationFacet):
        assert set(table.objects.values_list("conversation_id", flat=True)) <= conversation_keys
    assert facets.differences() == []


Step = tuple[str, int, str, Ending, int]
steps = st.tuples(
    st.sampled_from(
        [
            *(
                "ask",
                "ask",
                "end",
                "end",
                "end",
                "end with a choice",
                "interrupt",
                "delete",
                "restore",
            ),
            *(
                "rate",
                "title",
                "summarise",
                "age",
                "complete",
                "purge",
                "erase",
                "call",
                "write",
                "flag",
            ),
        ]
    ),
    st.integers(0, 1),
    st.sampled_from(MODELS),
    st.sampled_from(list(Ending)),
    st.integers(0, 10**12),
)


@dataclass(frozen=True)
class Walk:
    """The steps of one thread in conversations that other threads use too.

    Each step is a transaction. Of two concurrent ones, one may be refused.
    """

    user: User
    gateway: Upstream
    conversations: Sequence[UUID]

    def take(self, steps: Sequence[Step]) -> None:
        try:
            for step in steps:
                with suppress(Refused, DatabaseError, ObjectDoesNotExist, IndexError):
                    self.step(*step)
        finally:
            connection.close()

    def step(self, step: str, which: int, model: str, ending: Ending, number: int) -> None:
        pk = self.conversations[which]
        replies = Message.objects.filter(conversation=pk, role="assistant")
        if step == "ask":
            conversation = Conversation.objects.get(pk=pk)
            conversation.ask(uuid4(), "Why?", None, self.gateway, model, uuid4())
        elif step in ("end", "end with a choice"):
            self.end(replies.streaming().get(), ending, number, with_choice=step != "end")
        elif step == "interrupt":
            replies.interrupt()
        elif step == "delete":
            Deletion(replies.filter(deleted_at=None)[0].pk).store(self.user)
        elif step == "restore":
            Restoration(replies.exclude(deleted_at=None)[0].pk).store(self.user)
        elif step == "purge":
            replies.purge_deleted(timezone.now())
        elif step == "erase":
            Conversation.objects.get(pk=pk).erase()
        elif step == "rate":
            rating = Feedback.Rating.UP if number % 2 else Feedback.Rating.DOWN
            Feedback.give(replies[0], rating, None)
        elif step == "title":
            title = Usage.empty().charge_title(pk, self.user.pk, self.gateway, model)
            title.cost = number
            Usage.book([title])
        elif step == "summarise":
            summary = Usage.empty()
            summary.charge_summary(uuid4(), pk, self.user.pk, self.gateway, model)
            summary.cost = number
            Usage.book([summary])
        elif step == "age":
            used = timezone.now() - timedelta(days=number % 3)
            Conversation.objects.filter(pk=pk).update(updated_at=used)
        elif step == "call":
            replies.streaming().update(tool_runs=[{"name": f"{model} {number % 3}"}])
        elif step == "flag":
            result = {"categories": [f"{model} {number % 3}"]}
            moderation = {"input": {"results": [result]}, "output": {"code": "x"}}
            replies.update(is_flagged=bool(number % 2), moderation=moderation)
        elif step == "write":
            replies.update(content="So" * (number % 7))
            earlier = {"content": "Ω" * (number % 9), "tool_runs": []}
            replies.exclude(ending=Message.STREAMING).update(earlier_rounds=[earlier])
        elif step == "complete":
            ConversationSums.objects.filter(conversation=pk).update(is_whole=False)
            facets.complete()

    @staticmethod
    def end(reply: Message, ending: Ending, cost: int, *, with_choice: bool) -> None:
        usage = Usage.empty()
        choice = build_reply("Or so.")
        choice.choice = 1
        others = (reply.other_choice(choice, ending),) if with_choice else ()
        with transaction.atomic():
            end(reply, build_reply("So."), ending, usage, others)
            Usage.objects.filter(pk=reply.pk).update(cost=cost)


@pytest.mark.django_db(transaction=True)
@given(st.lists(st.lists(steps, max_size=12), min_size=1, max_size=3))
@settings(
    max_examples=choose_size(8, 50),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_sums_and_facets_match_the_messages_under_concurrent_changes(
    db: None, threads: list[list[Step]]
) -> None:
    for table in (Usage, Conversation, User, Upstream):
        table._default_manager.all().delete()
    alice = User.objects.create_user("alice")
    gateway = Upstream.objects.create(name="East", base_url="http://gw/v1")
    conversations = [alice.conversations.create(title="Sky").pk for _ in range(2)]

    with ThreadPoolExecutor(3) as pool:
        walk = Walk(alice, gateway, conversations)
        list(pool.map(walk.take, threads))
    expect_consistent()


@pytest.fixture
def answered_chat(alice: User) -> Conversation:
    """A conversation with a complete reply and a failed one."""
    gateway = Upstream.objects.create(name="East", base_url="http://gw/v1")
    conversation = Conversation(user=alice, title="Sky")
    for ending in (Ending.COMPLETE, Ending.FAILED):
        _, reply = conversation.ask(uuid4(), "Why?", None, gateway, "m", uuid4())
        Walk.end(reply, ending, 20, with_choice=False)
    return conversation


def test_a_conversation_has_the_facets_of_its_replies(answered_chat: Conversation) -> None:
    upstream = Upstream.objects.get()
    expected = {"model m", f"upstream {upstream.pk}", "ending failed"}
    assert set(answered_chat.facts.values_list("fact", flat=True)) == expected
    assert (answered_chat.sums.replies, answered_chat.sums.cost) == (2, 40)
    expect_consistent()


def test_a_conversation_has_the_facets_of_its_rule_findings(answered_chat: Conversation) -> None:
    rule = ReviewRule.objects.create(name="odd", kind="words", applies_to="both", text="Why?")
    prompt = answered_chat.messages.filter(role="user")[0]
    RuleFinding.objects.create(rule=rule, conversation=answered_chat, message=prompt)
    expected = {"flagged", "flagged rule", f"flagged rule-{rule.pk}"}
    assert set(
        answered_chat.facts.filter(fact__startswith="flagged").values_list("fact", flat=True)
    ) == (expected)
    answered_chat.facts.all().delete()
    assert facets.differences() == [str(answered_chat.pk)]
    facets.rebuild()
    assert set(answered_chat.facts.values_list("fact", flat=True)) > expected


def test_sums_leave_out_deleted_messages_until_they_are_restored(
    answered_chat: Conversation, alice: User
) -> None:
    prompt = answered_chat.messages.filter(role="user")[0]
    Deletion(prompt.pk).store(alice)
    assert ConversationSums.objects.values_list("replies", "cost").get() == (1, 20)
    Restoration(prompt.pk).store(alice)
    assert ConversationSums.objects.values_list("replies", "cost").get() == (2, 40)


@pytest.mark.parametrize("is_streaming", [True, False])
def test_characters_of_all_rounds_count_once_the_reply_has_ended(
    answered_chat: Conversation, alice: User, is_streaming: bool
) -> None:
    prompts, so = 2 * len("Why?"), len("So.")
    assert answered_chat.sums.characters == prompts + 2 * so
    reply = answered_chat.messages.filter(role="assistant")[0]
    ending = Message.STREAMING if is_streaming else Ending.FAILED
    rounds = [{"content": "\N{PILE OF POO}" * 5}, {"content": None}, {"tool_runs": []}]
    Message.objects.filter(pk=reply.pk).update(
        content="o" * 10_000, reasoning="Hm.", earlier_rounds=rounds, ending=ending
    )
    characters = ConversationSums.objects.values_list("characters", flat=True)
    assert characters.get() == prompts + so + (0 if is_streaming else 10_005)
    Message.objects.filter(pk=reply.pk).update(ending=Ending.COMPLETE)
    assert characters.get() == prompts + so + 10_005
    reply.delete()
    assert characters.get() == prompts + so
    assert facets.differences() == []


def test_a_tool_name_made_up_by_a_model_may_be_any_text(answered_chat: Conversation) -> None:
    reply = answered_chat.messages.filter(role="assistant")[0]
    names = "n" * 10_000, "it's %s ?", "\N{PILE OF POO}", "", 7, None
    reply.tool_runs = [{"name": name} for name in names] + [{}]
    reply.save()
    tool_facets = set(
        answered_chat.facts.filter(fact__startswith="tool ").values_list("fact", flat=True)
    )
    assert tool_facets >= {f"tool {'n' * 200}", "tool it's %s ?", "tool \N{PILE OF POO}"}
    assert facets.differences() == []


def test_deleting_a_person_deletes_their_sums_and_facets(
    answered_chat: Conversation, alice: User
) -> None:
    alice.delete()
    assert not ConversationSums.objects.exists()
    assert not ConversationFacet.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("step", ["title", "summarise", "complete", "age"])
def test_a_write_during_the_deletion_of_a_conversation_leaves_nothing_behind(
    answered_chat: Conversation, alice: User, step: str
) -> None:
    late = Walk(alice, Upstream.objects.get(), [answered_chat.pk])
    if step == "complete":
        ConversationSums.objects.update(is_whole=False)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Conversation.objects.filter(pk=answered_chat.pk).delete()
            done = pool.submit(late.take, [(step, 0, "m", Ending.COMPLETE, 1)])
            wait_until_somebody_waits()
        done.result()
    expect_consistent()
    assert not ConversationSums.objects.exists()


def usage_command(*arguments: str) -> str:
    """Run `manage.py usage` and return its output."""
    out = StringIO()
    call_command("usage", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize("changed", ["sums", "length", "facets", "day of facets", "strays"])
def test_verify_finds_differences_and_rebuild_repairs_them(
    answered_chat: Conversation, changed: str
) -> None:
    assert "The sums are correct" in usage_command("verify")
    long_ago = datetime(2020, 1, 1, tzinfo=UTC).date()
    if changed == "sums":
        ConversationSums.objects.update(cost=39)
    elif changed == "length":
        ConversationSums.objects.update(characters=None)
    elif changed == "facets":
        ConversationFacet.objects.filter(fact="model m").delete()
    elif changed == "day of facets":
        ConversationFacet.objects.update(used_on=long_ago)
    else:
        ConversationFacet.objects.create(
            conversation_id=UUID(int=1), fact="model m", used_on=long_ago
        )
    with pytest.raises(CommandError, match="conversation "):
        usage_command("verify")
    usage_command("rebuild")
    assert "The sums are correct" in usage_command("verify")
    expect_consistent()


# Upgrades

DIFFERENCES = """
import django, json; django.setup()
from chatapp.models import ConversationFacet, ConversationSums, facets
kept = ConversationSums.objects.order_by("pk").values_list("replies", "cost")
of = ConversationFacet.objects.values_list("fact", flat=True).order_by("conversation_id", "fact")
print(json.dumps([facets.differences(), [list(one) for one in kept], list(of)]))
"""
PRICED = "UPDATE chatapp_usage SET cost = {}"


@pytest.mark.thorough
def test_rows_of_older_versions_and_of_old_processes_are_counted(site: Site) -> None:
    environment = site.missing_installation()
    run(environment, "manage.py", "migrate", "--verbosity", "0", "chatapp", "0030")
    execute(environment, *stored_by_an_old_process(1, 1, 2), BOOKED_BY_AN_OLD_PROCESS.format(1, 10))
    execute(environment, PRICED.format(7))
    run(environment, "manage.py", "migrate", "--verbosity", "0")
    differences = json.loads(run(environment, "-c", DIFFERENCES).stdout)
    assert differences == [[], [[2, 7]], ["model m", "upstream 1"]]
    execute(environment, *stored_by_an_old_process(2, 3), BOOKED_BY_AN_OLD_PROCESS.format(3, 10))
    execute(environment, PRICED.format(9))
    both = [[], [[2, 9], [1, 9]], ["model m", "upstream 1", "model m", "upstream 2"]]
    assert json.loads(run(environment, "-c", DIFFERENCES).stdout) == both
    execute(environment, *DELETED_BY_AN_OLD_PROCESS)
    assert json.loads(run(environment, "-c", DIFFERENCES).stdout)[:2] == [[], [[2, 9]]]
    run(environment, "manage.py", "migrate", "--verbosity", "0", "chatapp", "0030")
    execute(environment, *stored_by_an_old_process(2, 3))
    run(environment, "manage.py", "migrate", "--verbosity", "0")
    differences = json.loads(run(environment, "-c", DIFFERENCES).stdout)
    assert differences == [[], [[2, 9], [1, 9]], both[2]]


LENGTHS = """
import django, json; django.setup()
from chatapp.models import ConversationSums, facets
kept = ConversationSums.objects.order_by("pk").values_list("characters", flat=True)
print(json.dumps([facets.differences(), list(kept)]))
"""
SAID = "UPDATE chatapp_message SET content = 'So.'"


@pytest.mark.thorough
def test_messages_from_before_characters_were_counted_are_counted(site: Site) -> None:
    environment = site.missing_installation()
    run(environment, "manage.py", "migrate", "--verbosity", "0")
    run(environment, "manage.py", "migrate", "--verbosity", "0", "chatapp", "0034")
    execute(environment, *stored_by_an_old_process(1, 1), SAID)
    run(environment, "manage.py", "migrate", "--verbosity", "0")
    assert json.loads(run(environment, "-c", LENGTHS).stdout) == [[], [len("So.")]]


RECREATED = """
import django; django.setup()
from django.apps import apps
from django.core.management.sql import emit_post_migrate_signal, emit_pre_migrate_signal
from django.db import connection, models
from django.db.migrations import Migration
from chatapp.models import Conversation, Message, Usage
plan = [(Migration("later", "chatapp"), False)]
emit_pre_migrate_signal(0, False, "default", apps=apps, plan=plan)
with connection.schema_editor() as editor:
    for table in (Message, Usage, Conversation):
        field = models.IntegerField(default=0)
        field.set_attributes_from_name("later")
        editor.add_field(table, field)
emit_post_migrate_signal(0, False, "default", apps=apps, plan=plan)
"""


@pytest.mark.thorough
def test_a_table_named_by_triggers_can_be_recreated(site: Site) -> None:
    """Django recreates a table to change it on SQLite, as a later version's migration will do."""
    environment = site.missing_installation()
    run(environment, "manage.py", "migrate", "--verbosity", "0")
    execute(environment, *stored_by_an_old_process(1, 1))
    run(environment, "-c", RECREATED)
    assert json.loads(run(environment, "-c", DIFFERENCES).stdout)[:2] == [[], [[1, 0]]]
