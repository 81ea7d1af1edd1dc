"""What is kept of a conversation: branches, checkpoints, endings, titles, what it cost."""

import os
import subprocess
from datetime import timedelta
from importlib import import_module
from uuid import uuid4

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chatapp.models import (
    Conversation,
    Message,
    Process,
    StillStreaming,
    Upstream,
    Usage,
    User,
)
from chatapp.models.processes import LEASE_SECONDS, Silences
from chatapp.upstream.estimates import Asked, estimate
from chatapp.upstream.events import TokenUsage
from chatapp.upstream.reply import Ending, Reply
from tests.stored import end, growing, reply_of

pytestmark = pytest.mark.django_db

MODEL = "google/gemini-3-flash"


@pytest.fixture
def gateway() -> Upstream:
    return Upstream.objects.create(
        name="Gateway", base_url="http://gw/v1", api_key="sk-very-secret"
    )


@pytest.fixture
def conversation() -> Conversation:
    user = User.objects.create_user("carol")
    return Conversation.objects.create(user=user, title="Sky")


def ask(
    conversation: Conversation, gateway: Upstream, text: str, parent: Message | None = None
) -> tuple[Message, Message]:
    return conversation.ask(uuid4(), text, parent, gateway, MODEL, uuid4())


def test_a_prompt_and_its_reply_are_stored_together(
    conversation: Conversation, gateway: Upstream
) -> None:
    prompt, reply = ask(conversation, gateway, "Why?")
    assert (prompt.is_prompt, prompt.ending, prompt.parent) == (True, "", None)
    assert (reply.is_prompt, reply.is_streaming, reply.parent) == (False, True, prompt)
    assert (reply.upstream, reply.model) == (gateway, MODEL)


def test_a_thread_is_the_newest_branch(conversation: Conversation, gateway: Upstream) -> None:
    prompt, first = ask(conversation, gateway, "Why?")
    end(first, reply_of("So."))
    second = conversation.answer(prompt, gateway, MODEL, uuid4())
    assert conversation.thread() == [prompt, second]
    assert conversation.thread(first.pk) == [prompt, first]
    assert conversation.thread(uuid4()) == [prompt, second]


def test_a_thread_leads_through_the_named_message_to_its_newest_end(
    conversation: Conversation, gateway: Upstream
) -> None:
    prompt, first = ask(conversation, gateway, "Why?")
    end(first, reply_of("So."))
    after, last = ask(conversation, gateway, "And?", first)
    end(last, reply_of("Also."))
    second = conversation.answer(prompt, gateway, MODEL, uuid4())
    assert conversation.thread(first.pk) == [prompt, first, after, last]
    assert conversation.thread(second.pk) == [prompt, second]


def test_each_message_knows_its_siblings(conversation: Conversation, gateway: Upstream) -> None:
    prompt, first = ask(conversation, gateway, "Why?")
    end(first, reply_of("So."))
    second = conversation.answer(prompt, gateway, MODEL, uuid4())
    thread = conversation.thread()
    assert [message.siblings for message in thread] == [[prompt], [first, second]]


def test_of_several_choices_the_first_leads_on(
    conversation: Conversation, gateway: Upstream
) -> None:
    prompt, first = ask(conversation, gateway, "Why?")
    second = Reply(choice=1)
    other = first.other_choice(second, Ending.COMPLETE)
    end(first, reply_of("Heads."), Ending.COMPLETE, others=(other,))
    assert conversation.thread() == [prompt, first]
    assert conversation.thread(other.pk) == [prompt, other]


def test_a_conversation_without_messages_has_no_thread(conversation: Conversation) -> None:
    assert conversation.thread() == []


def test_a_checkpoint_saves_what_streams(conversation: Conversation, gateway: Upstream) -> None:
    _, reply = ask(conversation, gateway, "Why?")
    reply.time_to_first_token = 0.25
    Message.objects.checkpoint([growing(reply, reply_of("Half of", "Hm."))])
    reply.refresh_from_db()
    assert (reply.content, reply.reasoning, reply.is_streaming) == ("Half of", "Hm.", True)
    assert reply.time_to_first_token == 0.25


def test_a_late_checkpoint_overwrites_no_ended_reply(
    conversation: Conversation, gateway: Upstream
) -> None:
    _, reply = ask(conversation, gateway, "Why?")
    end(Message.objects.get(pk=reply.pk), reply_of("The whole of it"), Ending.COMPLETE)
    Message.objects.checkpoint([growing(reply, reply_of("The who"))])
    reply.refresh_from_db()
    assert (reply.content, reply.ending) == ("The whole of it", "complete")


def test_interrupt_ends_only_what_streams(conversation: Conversation, gateway: Upstream) -> None:
    prompt, ended = ask(conversation, gateway, "Why?")
    end(ended, reply_of("So."), Ending.STOPPED)
    running = conversation.answer(prompt, gateway, MODEL, uuid4())
    Message.objects.checkpoint([growing(running, reply_of("Half of"))])
    assert Message.objects.interrupt_orphans() == 1
    for message in (prompt, running, ended):
        message.refresh_from_db()
    assert (running.ending, running.content) == ("interrupted", "Half of")
    assert (ended.ending, prompt.ending) == ("stopped", "")


def test_what_a_living_process_streams_is_no_orphan(
    conversation: Conversation, gateway: Upstream
) -> None:
    process = Process.here(is_alone=False)
    process.beat()
    conversation.ask(uuid4(), "Why?", None, gateway, MODEL, process.pk)
    silences, moment = Silences(), 100.0
    for clock in (0, 30, -3600, 3600, 1, 0):  # the database's, which somebody sets
        Process.objects.update(seen_at=timezone.now() + timedelta(seconds=clock))
        moment += LEASE_SECONDS - 1
        Process.objects.bury(silences.dead(Process.objects.beats(), moment, since=0))
    assert Message.objects.interrupt_orphans() == 0


def test_what_a_silent_process_streamed_is_an_orphan_after_a_lease(
    conversation: Conversation, gateway: Upstream
) -> None:
    process, moment = Process.here(is_alone=False), 100.0
    process.beat()
    conversation.ask(uuid4(), "Why?", None, gateway, MODEL, process.pk)
    silences = Silences()
    assert not silences.dead(Process.objects.beats(), moment, since=0)
    late = moment + LEASE_SECONDS + 0.1
    # The database stood still until just now.
    assert not silences.dead(Process.objects.beats(), late, since=late - 1)
    dead = silences.dead(Process.objects.beats(), late, since=0)
    Process.objects.update(seen_at=timezone.now() + timedelta(seconds=1))
    Process.objects.bury(dead)  # which it was not: it has beaten meanwhile
    assert Message.objects.interrupt_orphans() == 0
    assert not silences.dead(Process.objects.beats(), late, since=0)
    later = late + LEASE_SECONDS + 0.1
    Process.objects.bury(silences.dead(Process.objects.beats(), later, since=0))
    assert Message.objects.interrupt_orphans() == 1


def test_a_process_that_was_buried_comes_back_with_its_next_beat(db: None) -> None:
    process = Process.here(is_alone=False)
    assert process.beat()
    assert not process.beat()
    Process.objects.all().delete()
    assert process.beat()
    assert Process.objects.get().pk == process.pk


def test_who_died_here_is_known_at_once(db: None) -> None:
    died = subprocess.Popen(["true"])
    died.wait()
    living, dead = (Process.here(is_alone=True) for _ in range(2))
    living.pid, dead.pid = os.getppid(), died.pid
    elsewhere = Process(place="another host", pid=died.pid, is_alone=True)
    for process in (living, dead, elsewhere):
        process.save()
    Process.objects.bury_those_that_died_here()
    assert set(Process.objects.all()) == {living, elsewhere}


def test_one_reply_streams_in_a_conversation(conversation: Conversation, gateway: Upstream) -> None:
    prompt, _ = ask(conversation, gateway, "Why?")
    with pytest.raises(StillStreaming), transaction.atomic():
        conversation.answer(prompt, gateway, MODEL, uuid4())
    assert conversation.messages.count() == 2


def test_finish_keeps_text_ending_and_cost(conversation: Conversation, gateway: Upstream) -> None:
    _, reply = ask(conversation, gateway, "Why?")
    tokens = TokenUsage(prompt_tokens=12, completion_tokens=18, total_tokens=30)
    usage = Usage.counted(Usage.Provenance.REPORTED, tokens)
    end(reply, reply_of("So.", "Hm."), Ending.LENGTH, usage)
    saved = Message.objects.select_related("usage").get(pk=reply.pk)
    assert (saved.content, saved.reasoning, saved.ending) == ("So.", "Hm.", "length")
    assert (saved.usage.total_tokens, saved.usage.provenance) == (30, "reported")


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("Why is the sky blue?", "Why is the sky blue?"),
        ("  Why\n\nis \t it? ", "Why is it?"),
        ("x" * 200, "x" * 79 + "…"),
        ("<b>bold</b>", "<b>bold</b>"),
    ],
)
def test_a_title_is_the_start_of_the_prompt(prompt: str, title: str) -> None:
    assert Conversation.title_of(prompt) == title


def test_sums_say_how_much_is_estimated_and_what_they_leave_out(
    conversation: Conversation, gateway: Upstream
) -> None:
    prompt, reply = ask(conversation, gateway, "Why?")
    costs = [
        (Usage.Provenance.REPORTED, TokenUsage(12, 18, 30)),
        (Usage.Provenance.ESTIMATED, TokenUsage(5, 7, 12)),
        (Usage.Provenance.UNKNOWN, None),
    ]
    for provenance, tokens in costs:
        end(reply, reply_of("So."), Ending.STOPPED, Usage.counted(provenance, tokens))
        reply = conversation.answer(prompt, gateway, MODEL, uuid4())
    found = Conversation.objects.with_usage().get()
    assert (found.reply_count, found.total_tokens) == (3, 42)
    assert (found.estimated_tokens, found.unknown_replies) == (12, 1)


def test_sums_say_what_is_estimated_at_most(conversation: Conversation, gateway: Upstream) -> None:
    _, reply = ask(conversation, gateway, "Why?")
    estimated = estimate(Asked.of([{"content": "Why?"}]), [reply_of("So.")])
    end(reply, reply_of("So."), Ending.STOPPED, Usage.estimated(estimated))
    found = Conversation.objects.with_usage().get()
    assert found.estimated_tokens == estimated.middle.total_tokens
    assert found.upper_tokens == estimated.upper.total_tokens


def test_a_reply_that_is_interrupted_costs_what_its_checkpoint_said(
    conversation: Conversation, gateway: Upstream
) -> None:
    _, reply = ask(conversation, gateway, "Why?")
    reply.usage_so_far = Usage.estimated(
        estimate(Asked.of([]), [reply_of("x" * 400), reply_of("y" * 400)])
    ).as_record()
    Message.objects.checkpoint([growing(reply, reply_of("x" * 400))])
    assert Message.objects.interrupt_orphans() == 1
    saved = Message.objects.select_related("usage").get(pk=reply.pk)
    assert saved.usage.completion_tokens > 200  # both choices, one of which is not stored
    assert saved.usage.as_record() == reply.usage_so_far
    assert saved.usage_so_far is None


def test_a_reply_that_is_interrupted_before_a_checkpoint_costs_its_prompt(
    conversation: Conversation, gateway: Upstream
) -> None:
    ask(conversation, gateway, "Why?" * 100)
    assert Message.objects.interrupt_orphans() == 1
    usage = Usage.objects.get()
    assert usage.prompt_tokens > 100
    assert usage.completion_tokens == 0
    assert usage.upper_total_tokens > 400


def test_a_process_that_was_taken_for_dead_books_its_reply_in_place_of_what_was_booked(
    conversation: Conversation, gateway: Upstream
) -> None:
    _, reply = ask(conversation, gateway, "Why?")
    Message.objects.interrupt_orphans()
    usage = Usage.counted(Usage.Provenance.REPORTED, TokenUsage(12, 18, 30))
    for _ in range(2):
        end(reply, reply_of("So."), Ending.COMPLETE, usage)
    booked = Usage.objects.get()
    assert (booked.provenance, booked.total_tokens) == ("reported", 30)
    assert booked.upper_total_tokens is None


def test_an_upgrade_books_what_died_before_it(
    conversation: Conversation, gateway: Upstream
) -> None:
    prompt, lost = ask(conversation, gateway, "Why?")
    Message.objects.filter(pk=lost.pk).update(ending=Ending.INTERRUPTED)
    other = lost.other_choice(Reply(choice=1), Ending.COMPLETE)
    other.save(force_insert=True)
    conversation.answer(prompt, gateway, MODEL, uuid4())  # which streams
    import_module("chatapp.migrations.0007_usage_and_clock").book_what_died(apps, None)
    booked = Usage.objects.get()
    assert (booked.message_id, booked.provenance) == (lost.pk, "unknown")


def test_an_upstreams_key_is_encrypted_at_rest(gateway: Upstream) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT api_key FROM chatapp_upstream")
        [(stored,)] = cursor.fetchall()
    assert "sk-very-secret" not in str(stored)
    assert Upstream.objects.get().api_key == "sk-very-secret"


def test_the_environments_upstream_replaces_the_one_of_another_name() -> None:
    Upstream.connect_environment("Demo", "http://127.0.0.1:1/v1", "one")
    Upstream.connect_environment("Default", "https://old/v1", "two")
    Upstream.connect_environment("Default", "https://gw/v1", "three")
    offered = Upstream.objects.get(enabled=True)
    assert (offered.name, offered.base_url, offered.api_key) == (
        "Default",
        "https://gw/v1",
        "three",
    )
    assert Upstream.objects.get(enabled=False).name == "Demo"


def test_the_environment_leaves_an_administrators_upstream_alone(gateway: Upstream) -> None:
    Upstream.connect_environment("Demo", "http://127.0.0.1:1/v1", "one")
    gateway.refresh_from_db()
    assert gateway.enabled
    assert gateway.base_url == "http://gw/v1"


def test_a_thread_knows_of_logprobs_without_reading_them(
    conversation: Conversation, gateway: Upstream
) -> None:
    _, plain = ask(conversation, gateway, "Why?")
    end(plain, Reply(), Ending.COMPLETE)
    _, told = ask(conversation, gateway, "How likely?", plain)
    end(told, Reply(), Ending.COMPLETE)
    Message.objects.filter(pk=told.pk).update(logprobs=[["Sure", 0.9, []]])
    with CaptureQueriesContext(connection) as queries:
        replies = conversation.thread()[1::2]
        assert [reply.has_logprobs for reply in replies] == [False, True]
    assert len(queries) == 1
    assert all("logprobs" in reply.get_deferred_fields() for reply in replies)
