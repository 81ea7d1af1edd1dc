"""Replies in the database: checkpoints, endings, interruptions and costs."""

from importlib import import_module
from uuid import uuid4

import pytest
from django.apps import apps

from chatapp.models import Conversation, Message, Upstream, Usage
from chatapp.upstream.wire.events import TokenUsage
from chatapp.upstream.wire.reply import Ending, Reply
from chatapp.upstream.wire.requests.estimates import PromptSize, estimate
from chatapp.upstream.wire.requests.history import EMPTY_HISTORY
from tests.support.present import present
from tests.support.stored import MODEL, apply_reply, begin_turn, build_reply, end

pytestmark = pytest.mark.django_db


def test_a_checkpoint_saves_the_text_of_a_streaming_reply(
    conversation: Conversation, gateway: Upstream
) -> None:
    _, reply = begin_turn(conversation, gateway, "Why?")
    reply.time_to_first_token = 0.25
    Message.objects.checkpoint([apply_reply(reply, build_reply("Half of", "Hm."))])
    reply.refresh_from_db()
    assert (reply.content, reply.reasoning, reply.is_streaming) == ("Half of", "Hm.", True)
    assert reply.time_to_first_token == 0.25


def test_a_late_checkpoint_does_not_overwrite_an_ended_reply(
    conversation: Conversation, gateway: Upstream
) -> None:
    _, reply = begin_turn(conversation, gateway, "Why?")
    end(Message.objects.get(pk=reply.pk), build_reply("The whole of it"), Ending.COMPLETE)
    Message.objects.checkpoint([apply_reply(reply, build_reply("The who"))])
    reply.refresh_from_db()
    assert (reply.content, reply.ending) == ("The whole of it", "complete")


def test_interrupt_ends_only_streaming_replies(
    conversation: Conversation, gateway: Upstream
) -> None:
    prompt, ended = begin_turn(conversation, gateway, "Why?")
    end(ended, build_reply("So."), Ending.STOPPED)
    running = conversation.answer(prompt, gateway, MODEL, uuid4())
    Message.objects.checkpoint([apply_reply(running, build_reply("Half of"))])
    assert Message.objects.interrupt_orphans() == 1
    for message in (prompt, running, ended):
        message.refresh_from_db()
    assert (running.ending, running.content) == ("interrupted", "Half of")
    assert (ended.ending, prompt.ending) == ("stopped", "")


def test_finish_saves_text_ending_and_cost(conversation: Conversation, gateway: Upstream) -> None:
    _, reply = begin_turn(conversation, gateway, "Why?")
    tokens = TokenUsage(prompt_tokens=12, completion_tokens=18, total_tokens=30)
    usage = Usage.from_tokens(Usage.Provenance.REPORTED, tokens)
    end(reply, build_reply("So.", "Hm."), Ending.LENGTH, usage)
    saved = Message.objects.select_related("usage").get(pk=reply.pk)
    assert (saved.content, saved.reasoning, saved.ending) == ("So.", "Hm.", "length")
    assert (saved.usage.total_tokens, saved.usage.provenance) == (30, "reported")


def test_an_interrupted_reply_costs_what_its_last_checkpoint_recorded(
    conversation: Conversation, gateway: Upstream
) -> None:
    _, reply = begin_turn(conversation, gateway, "Why?")
    reply.usage_so_far = Usage.from_estimate(
        estimate(PromptSize.of(EMPTY_HISTORY), [build_reply("x" * 400), build_reply("y" * 400)])
    ).as_record()
    Message.objects.checkpoint([apply_reply(reply, build_reply("x" * 400))])
    assert Message.objects.interrupt_orphans() == 1
    saved = Message.objects.select_related("usage").get(pk=reply.pk)
    assert present(saved.usage.completion_tokens) > 200  # both choices; only one is stored
    assert saved.usage.as_record() == reply.usage_so_far
    assert saved.usage_so_far is None


def test_a_reply_interrupted_before_its_first_checkpoint_costs_its_prompt(
    conversation: Conversation, gateway: Upstream
) -> None:
    begin_turn(conversation, gateway, "Why?" * 100)
    assert Message.objects.interrupt_orphans() == 1
    usage = Usage.objects.get()
    assert present(usage.prompt_tokens) > 100
    assert usage.completion_tokens == 0
    assert present(usage.upper_total_tokens) > 400


def test_a_process_taken_for_dead_replaces_what_was_booked_for_its_reply(
    conversation: Conversation, gateway: Upstream
) -> None:
    _, reply = begin_turn(conversation, gateway, "Why?")
    Message.objects.interrupt_orphans()
    usage = Usage.from_tokens(Usage.Provenance.REPORTED, TokenUsage(12, 18, 30))
    for _ in range(2):
        end(reply, build_reply("So."), Ending.COMPLETE, usage)
    booked = Usage.objects.get()
    assert (booked.provenance, booked.total_tokens) == ("reported", 30)
    assert booked.upper_total_tokens is None


def test_the_migration_books_replies_that_were_interrupted_earlier(
    conversation: Conversation, gateway: Upstream
) -> None:
    prompt, lost = begin_turn(conversation, gateway, "Why?")
    Message.objects.filter(pk=lost.pk).update(ending=Ending.INTERRUPTED)
    other = lost.other_choice(Reply(choice=1), Ending.COMPLETE)
    other.save(force_insert=True)
    conversation.answer(prompt, gateway, MODEL, uuid4())  # still streaming
    import_module("chatapp.migrations.0007_usage_and_clock").book_what_died(apps, None)
    booked = Usage.objects.get()
    assert (booked.message_id, booked.provenance) == (lost.pk, "unknown")
