"""A conversation: its prompts, branches, title and usage sums, and erasing it."""

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chatapp.models import (
    ChatNotFound,
    Conversation,
    Message,
    ModelChoice,
    Refused,
    ReplyImage,
    StillStreaming,
    Upstream,
    Usage,
    User,
)
from chatapp.models.conversations.chats.titled import MAX_TITLE_LENGTH
from chatapp.upstream.wire.events import TokenUsage
from chatapp.upstream.wire.reply import Ending, Reply
from chatapp.upstream.wire.requests.estimates import PromptSize, estimate
from chatapp.upstream.wire.requests.history import History
from tests.support.allowed import store_price
from tests.support.stored import (
    MODEL,
    begin_turn,
    build_reply,
    end,
    store_turn,
    wait_until_somebody_waits,
)

pytestmark = pytest.mark.django_db


def test_a_prompt_and_its_reply_are_stored_together(
    conversation: Conversation, gateway: Upstream
) -> None:
    prompt, reply = begin_turn(conversation, gateway, "Why?")
    assert (prompt.is_prompt, prompt.ending, prompt.parent) == (True, "", None)
    assert (reply.is_prompt, reply.is_streaming, reply.parent) == (False, True, prompt)
    assert (reply.upstream, reply.model) == (gateway, MODEL)


def test_only_one_reply_at_a_time_streams_in_a_conversation(
    conversation: Conversation, gateway: Upstream
) -> None:
    prompt, _ = begin_turn(conversation, gateway, "Why?")
    with pytest.raises(StillStreaming), transaction.atomic():
        conversation.answer(prompt, gateway, MODEL, uuid4())
    assert conversation.messages.count() == 2


def test_a_thread_is_the_newest_branch(conversation: Conversation, gateway: Upstream) -> None:
    prompt, first = begin_turn(conversation, gateway, "Why?")
    end(first, build_reply("So."))
    second = conversation.answer(prompt, gateway, MODEL, uuid4())
    end(second, build_reply("Or so."))
    assert conversation.view().thread == [prompt, second]
    assert conversation.view(first.pk).thread == [prompt, first]
    assert conversation.view(uuid4()).thread == [prompt, second]


def test_the_branch_read_last_is_shown_again(conversation: Conversation, gateway: Upstream) -> None:
    prompt, first = store_turn(conversation, gateway, "Why?")
    second = conversation.answer(prompt, gateway, MODEL, uuid4())
    end(second, build_reply("Or so."))
    newest = Conversation.objects.get().view()
    assert newest.thread == [prompt, second]  # since it was requested last
    conversation.activate_branch(first.pk)
    assert Conversation.objects.get().view().thread == [prompt, first]
    after, last = store_turn(conversation, gateway, "And?", first)
    conversation.activate_branch(second.pk)
    conversation.activate_branch(prompt.pk)  # already on the branch that is read
    assert Conversation.objects.get().view().thread == [prompt, second]
    conversation.activate_branch(first.pk)
    assert Conversation.objects.get().active_leaf == last.pk
    assert Conversation.objects.get().view(prompt.pk).thread == [prompt, first, after, last]


def test_reading_an_unknown_message_raises_an_error(
    conversation: Conversation, gateway: Upstream
) -> None:
    _, reply = store_turn(conversation, gateway, "Why?")
    other = Conversation(user=conversation.user, title="Another")
    theirs = store_turn(other, gateway, "Secret")
    for message in (theirs[1].pk, uuid4()):
        for method in (conversation.activate_branch, conversation.earlier, conversation.later):
            with pytest.raises(ChatNotFound):
                method(message)
    assert Conversation.objects.get(pk=conversation.pk).active_leaf == reply.pk


def test_the_newest_branch_is_shown_if_the_one_read_last_was_deleted(
    conversation: Conversation, gateway: Upstream
) -> None:
    prompt, first = store_turn(conversation, gateway, "Why?")
    second = conversation.answer(prompt, gateway, MODEL, uuid4())
    end(second, build_reply("Or so."))
    Message.objects.filter(pk=second.pk).update(deleted_at=timezone.now())
    assert conversation.view().thread == [prompt, first]
    branch = conversation.history_through(None)
    assert (branch.end, branch.length) == (first.pk, 2)
    assert conversation.view().thread[-1].siblings == [first]
    assert conversation.view(second.pk).thread == [prompt, first]
    assert Conversation.find_last_used_model(conversation.user) == ModelChoice(gateway.pk, MODEL)


def test_a_thread_leads_through_the_named_message_to_its_newest_end(
    conversation: Conversation, gateway: Upstream
) -> None:
    prompt, first = begin_turn(conversation, gateway, "Why?")
    end(first, build_reply("So."))
    after, last = begin_turn(conversation, gateway, "And?", first)
    end(last, build_reply("Also."))
    second = conversation.answer(prompt, gateway, MODEL, uuid4())
    end(second, build_reply("Or so."))
    assert conversation.view(first.pk).thread == [prompt, first, after, last]
    assert conversation.view(second.pk).thread == [prompt, second]


def test_each_message_knows_its_siblings(conversation: Conversation, gateway: Upstream) -> None:
    prompt, first = begin_turn(conversation, gateway, "Why?")
    end(first, build_reply("So."))
    second = conversation.answer(prompt, gateway, MODEL, uuid4())
    thread = conversation.view().thread
    assert [message.siblings for message in thread] == [[prompt], [first, second]]


def test_the_thread_follows_the_first_of_several_choices(
    conversation: Conversation, gateway: Upstream
) -> None:
    prompt, first = begin_turn(conversation, gateway, "Why?")
    second = Reply(choice=1)
    other = first.other_choice(second, Ending.COMPLETE)
    end(first, build_reply("Heads."), Ending.COMPLETE, others=(other,))
    assert conversation.view().thread == [prompt, first]
    assert conversation.view(other.pk).thread == [prompt, other]


def test_a_conversation_without_messages_has_no_thread(conversation: Conversation) -> None:
    assert conversation.view().thread == []


def test_a_thread_knows_whether_replies_have_logprobs_without_loading_them(
    conversation: Conversation, gateway: Upstream
) -> None:
    _, plain = begin_turn(conversation, gateway, "Why?")
    end(plain, Reply(), Ending.COMPLETE)
    _, likely = begin_turn(conversation, gateway, "How likely?", plain)
    end(likely, Reply(), Ending.COMPLETE)
    Message.objects.filter(pk=likely.pk).update(logprobs=[["Sure", 0.9, []]])
    replies = conversation.view().thread[1::2]
    with CaptureQueriesContext(connection) as queries:
        assert [reply.has_logprobs for reply in replies] == [False, True]
    assert len(queries) == 0
    assert all("logprobs" in reply.get_deferred_fields() for reply in replies)


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
    assert Conversation.build_title(prompt) == title


def test_sums_tell_how_much_is_estimated_and_unknown(
    conversation: Conversation, gateway: Upstream
) -> None:
    prompt, reply = begin_turn(conversation, gateway, "Why?")
    costs = [
        (Usage.Provenance.REPORTED, TokenUsage(12, 18, 30)),
        (Usage.Provenance.ESTIMATED, TokenUsage(5, 7, 12)),
        (Usage.Provenance.UNKNOWN, None),
    ]
    for provenance, tokens in costs:
        end(reply, build_reply("So."), Ending.STOPPED, Usage.from_tokens(provenance, tokens))
        reply = conversation.answer(prompt, gateway, MODEL, uuid4())
    sums = Conversation.objects.with_usage().get()
    assert (sums.reply_count, sums.total_tokens) == (3, 42)
    assert (sums.estimated_tokens, sums.unknown_replies) == (12, 1)
    assert (sums.total_cost, sums.estimated_cost) == (0, 0)


def test_cost_sums_include_what_had_a_price(conversation: Conversation, gateway: Upstream) -> None:
    prompt, reply = begin_turn(conversation, gateway, "Why?")
    for provenance in (Usage.Provenance.REPORTED, Usage.Provenance.ESTIMATED):
        end(reply, build_reply("So."), usage=Usage.from_tokens(provenance, TokenUsage(5, 7, 12)))
        reply = conversation.answer(prompt, gateway, MODEL, uuid4())
        store_price(gateway, 10, 20)
    title = Usage.from_tokens(Usage.Provenance.ESTIMATED, TokenUsage(1, 1, 2))
    Usage.book([title.charge_title(conversation.pk, conversation.user_id, gateway, MODEL)])
    for provenance in (Usage.Provenance.REPORTED, Usage.Provenance.ESTIMATED):
        summary = Usage.from_tokens(provenance, TokenUsage(1, 2, 3))
        summary.charge_summary(uuid4(), conversation.pk, conversation.user_id, gateway, MODEL)
        Usage.book([summary])
    sums = Conversation.objects.with_usage().get()
    assert (sums.total_cost, sums.estimated_cost) == (320, 270)
    assert sums.summary_count == 2


def test_sums_include_the_upper_bound_of_estimates(
    conversation: Conversation, gateway: Upstream
) -> None:
    _, reply = begin_turn(conversation, gateway, "Why?")
    history = History.of([{"role": "user", "content": "Why?"}])
    estimated = estimate(PromptSize.of(history), [build_reply("So.")])
    end(reply, build_reply("So."), Ending.STOPPED, Usage.from_estimate(estimated))
    sums = Conversation.objects.with_usage().get()
    assert sums.estimated_tokens == estimated.middle.total_tokens
    assert sums.upper_tokens == estimated.upper.total_tokens


def test_the_most_frequent_queries_use_an_index(
    carol: User, conversation: Conversation, gateway: Upstream
) -> None:
    begin_turn(conversation, gateway, "Why?")
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:  # or it would scan such a small table
            cursor.execute("SET enable_seqscan = off; SET enable_sort = off")
    page = carol.conversations.after(timezone.now(), uuid4())[:60]
    assert "chatapp_con_user_id" in page.explain()
    assert "TEMP B-TREE" not in page.explain()
    assert re.search("chatapp_mes_convers|message_conversation_id", conversation.messages.explain())


def test_another_persons_conversation_is_not_found(carol: User, conversation: Conversation) -> None:
    assert carol.conversations.get_not_trashed(conversation.pk) == conversation
    mallory = User.objects.create_user("mallory")
    for user, pk in ((mallory, conversation.pk), (carol, uuid4())):
        with pytest.raises(Refused, match="no longer exists"):
            user.conversations.get_not_trashed(pk)


def test_a_view_shows_the_streaming_reply_or_else_the_requested_branch(
    conversation: Conversation, gateway: Upstream
) -> None:
    assert (conversation.view().head, conversation.view().streaming) == (None, [])
    prompt, first = begin_turn(conversation, gateway, "Why?")
    end(first, build_reply("So."))
    second = conversation.answer(prompt, gateway, MODEL, uuid4())
    view = conversation.view(first.pk)
    assert (view.thread, view.streaming) == ([prompt, second], [second])
    end(second, build_reply("Or so."))
    view = conversation.view(first.pk)
    assert (view.thread, view.head, view.streaming) == ([prompt, first], first, [])


def test_a_title_with_many_combining_characters_is_truncated_to_fit() -> None:
    assert len(Conversation.build_title("a" + "\u0301" * 200)) == MAX_TITLE_LENGTH


def test_renaming_does_not_reorder_the_list(conversation: Conversation, carol: User) -> None:
    other = carol.conversations.create(title="Newer")
    conversation.rename("The sky at night")
    assert [chat.title for chat in carol.conversations.all()] == ["Newer", "The sky at night"]
    other.delete()
    other.rename("Back again?")
    assert carol.conversations.get() == conversation


def test_erasing_deletes_all_of_a_conversation_and_nothing_else(
    conversation: Conversation, gateway: Upstream, carol: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatapp.models.conversations.chats.erasable.ERASED_AT_ONCE", 2)
    for erased in (carol.conversations.create(title="Kept"), conversation):
        prompt, first = store_turn(erased, gateway, "Why?")
        ReplyImage.objects.create(message=first, position=0, media_type="image/gif", data=b"GIF")
        end(erased.answer(prompt, gateway, MODEL, uuid4()), build_reply("Again."))
        begin_turn(erased, gateway, "And?", first)
    before = [model.objects.count() for model in (Message, ReplyImage)]
    cost = Usage.objects.count()
    conversation.erase()
    assert [model.objects.count() for model in (Message, ReplyImage)] == [
        count // 2 for count in before
    ]
    assert Usage.objects.count() == cost
    assert [chat.title for chat in Conversation.objects.all()] == ["Kept"]


def test_a_failed_erasure_leaves_a_shorter_but_whole_thread(
    conversation: Conversation, gateway: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatapp.models.conversations.chats.erasable.ERASED_AT_ONCE", 2)
    prompt, first = store_turn(conversation, gateway, "Why?")
    store_turn(conversation, gateway, "And?", first)
    erase_once(conversation, monkeypatch)
    assert conversation.view().thread == [prompt, first]
    conversation.erase()
    assert not Message.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_erasing_waits_for_a_concurrent_prompt(
    conversation: Conversation, gateway: Upstream
) -> None:
    def erase() -> Counter[str]:
        try:
            return Conversation.objects.get(pk=conversation.pk).erase()
        finally:
            connection.close()

    _, first = store_turn(conversation, gateway, "Why?")
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            begin_turn(conversation, gateway, "And?", first)
            erased = pool.submit(erase)
            wait_until_somebody_waits()
        assert erased.result()["chatapp.Message"] == 4
    assert not Conversation.objects.exists()


def erase_once(conversation: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Erase while the database fails after the first batch of messages."""
    calls = iter([QuerySet.delete])

    def delete(rows: "QuerySet[Message]") -> object:
        if call := next(calls, None):
            return call(rows)
        raise OperationalError

    with monkeypatch.context() as patched:
        patched.setattr(QuerySet, "delete", delete)
        with pytest.raises(OperationalError):
            conversation.erase()


def test_the_model_used_last_is_that_of_the_newest_reply(
    conversation: Conversation, gateway: Upstream
) -> None:
    assert Conversation.find_last_used_model(conversation.user) is None
    prompt, reply = begin_turn(conversation, gateway, "Why?")
    end(reply, build_reply("So."))
    assert Conversation.find_last_used_model(conversation.user) == ModelChoice(gateway.pk, MODEL)
    conversation.answer(prompt, gateway, "another", uuid4())
    assert Conversation.find_last_used_model(conversation.user) == ModelChoice(
        gateway.pk, "another"
    )
