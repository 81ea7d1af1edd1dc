"""Titles by a model: requested once, when no reply runs, and never in place of a person's own."""

import logging
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from chatapp.models import Conversation, Installation, Upstream, Usage
from chatapp.models.billing.limits import Measure
from chatapp.realtime.titling import titles
from chatapp.realtime.worker import shut_down, worker
from tests.support.allowed import account, limit
from tests.support.fake_upstream import (
    FakeUpstream,
    Pause,
    Stall,
    Step,
    delta,
    done,
    error,
    finish,
    reasoning,
    role,
    usage,
)
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

QUESTION = "Why is the sky blue?"
WHOLE: list[Step] = [role(), reasoning("Hm, secret."), delta("Scattering."), finish(), done()]


@pytest.fixture
async def title_upstream(saved_upstream: Upstream) -> AsyncIterator[Upstream]:
    """The upstream, set up so that its model `small` writes titles."""
    await Installation(pk=1, title_upstream=saved_upstream, title_model="small").asave()
    yield saved_upstream
    await shut_down(0)


async def first_turn(tab: Tab, upstream: FakeUpstream, *title: Step) -> Conversation:
    """Return a conversation after its first reply, whose title the model answered with `title`."""
    upstream.script(*WHOLE)
    upstream.script(role(), *title)
    await tab.ask(QUESTION)
    await tab.until_ended()
    await worker().until_saved()
    await worker().titles.until_written()
    return await Conversation.objects.aget()


async def test_a_models_title_is_shown_in_every_tab(
    tab: Tab, alices: Client, upstream: FakeUpstream, title_upstream: Upstream
) -> None:
    async with Tab(alices) as other:
        conversation = await first_turn(
            tab, upstream, delta('**"Blue skies"**'), finish(), usage(70, 3), done()
        )
        assert (conversation.title, conversation.titled_by) == ("Blue skies", "model")
        for open_tab in (tab, other):
            frame = await open_tab.until(f"#title[data-conversation='{conversation.pk}']")
            assert f"#nav-{conversation.pk}" in frame
            assert frame.count("Blue skies") >= 2  # in the sidebar and as the page's title
    first, second = upstream.chat_requests
    assert (first.body["model"] != "small", second.body["model"]) == (True, "small")
    sent_text = str(second.body["messages"])
    assert QUESTION in sent_text
    assert "Scattering." in sent_text
    assert "secret" not in sent_text


async def test_the_usage_of_a_title_is_recorded_as_such(
    tab: Tab, upstream: FakeUpstream, title_upstream: Upstream
) -> None:
    conversation = await first_turn(tab, upstream, delta("Sky"), finish(), usage(70, 3), done())
    booked = await Usage.objects.aget(kind="title")
    assert (booked.pk, booked.user_id) == (conversation.pk, conversation.user_id)
    assert (booked.model, booked.total_tokens, booked.provenance) == ("small", 73, "reported")
    assert await Usage.objects.acount() == 2


async def test_no_title_is_requested_if_no_model_was_chosen(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    conversation = await first_turn(tab, upstream)
    assert (conversation.title, conversation.titled_by) == (QUESTION, "prompt")
    assert len(upstream.chat_requests) == 1


@pytest.mark.parametrize(
    "steps",
    [[error()], [finish(), done()], [delta("***"), finish(), done()], [delta("Cut off")]],
    ids=["failed", "empty", "nothing but markup", "cut off"],
)
async def test_failures_are_logged_and_the_first_words_stay(
    tab: Tab,
    upstream: FakeUpstream,
    title_upstream: Upstream,
    steps: list[Step],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        conversation = await first_turn(tab, upstream, *steps)
    assert conversation.title == QUESTION
    assert f"No title for conversation {conversation.pk}" in caplog.text
    assert await Usage.objects.filter(kind="title").acount() == 1
    upstream.script(*WHOLE)
    head = await conversation.messages.alast()
    assert head
    await tab.ask("And at night?", conversation=str(conversation.pk), parent=str(head.pk))
    await tab.until_ended()
    await worker().until_saved()
    assert [request.body["model"] == "small" for request in upstream.chat_requests] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("when", ["before", "meanwhile"])
async def test_a_persons_own_title_stays(
    tab: Tab, upstream: FakeUpstream, title_upstream: Upstream, when: str
) -> None:
    pause = Pause()
    upstream.script(role(), delta("So."), *([pause] if when == "before" else []), finish(), done())
    upstream.script(role(), *([pause] if when == "meanwhile" else []), delta("Sky"), done())
    await tab.ask(QUESTION)
    await tab.until("So.")
    if when == "meanwhile":
        await tab.until_ended()
        await upstream.until_requested()
        await upstream.until_requested()
    conversation = await Conversation.objects.aget()
    await sync_to_async(conversation.rename)("Mine")
    pause.release()
    if when == "before":
        await tab.until_ended()
    await worker().until_saved()
    await worker().titles.until_written()
    await conversation.arefresh_from_db()
    assert (conversation.title, conversation.titled_by) == ("Mine", "person")
    assert len(upstream.chat_requests) == (1 if when == "before" else 2)


async def test_no_title_is_requested_while_a_reply_runs(
    tab: Tab, upstream: FakeUpstream, title_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next prompt arrives at the very moment the first reply ends."""
    running = True
    monkeypatch.setattr(worker().titles, "is_running", lambda _: running)
    conversation = await first_turn(tab, upstream)
    assert len(upstream.chat_requests) == 1
    running = False
    head = await conversation.messages.alast()
    assert head
    upstream.script(role(), delta("Blue skies"), finish(), done())
    await tab.ask("And at night?", conversation=str(conversation.pk), parent=str(head.pk))
    await tab.until_ended()
    await worker().until_saved()
    await worker().titles.until_written()
    assert upstream.chat_requests[-1].body["model"] == "small"
    assert QUESTION in str(upstream.chat_requests[-1].body["messages"])


async def test_a_successful_retry_gives_the_title_that_a_failure_did_not(
    tab: Tab, upstream: FakeUpstream, title_upstream: Upstream
) -> None:
    upstream.script(role(), delta("Half"), error())
    reply = await tab.ask(QUESTION)
    await tab.until_ended()
    await worker().until_saved()
    assert len(upstream.chat_requests) == 1
    upstream.script(*WHOLE)
    upstream.script(role(), delta("Blue skies"), finish(), done())
    await tab.send(action="retry", reply=str(reply))
    await tab.until_ended()
    await worker().until_saved()
    await worker().titles.until_written()
    assert (await Conversation.objects.aget()).title == "Blue skies"


@pytest.mark.parametrize("how", ["an edit", "another prompt", "a continuation"])
async def test_the_first_whole_reply_gives_the_title_whatever_prompt_it_answers(
    tab: Tab, upstream: FakeUpstream, title_upstream: Upstream, how: str
) -> None:
    upstream.script(role(), delta("Half"), error())
    reply = await tab.ask(QUESTION)
    await tab.until_ended()
    await worker().until_saved()
    conversation = await Conversation.objects.aget()
    prompt = await conversation.messages.afirst()
    assert prompt
    upstream.script(*WHOLE)
    upstream.script(role(), delta("Blue skies"), finish(), done())
    fields = {
        "an edit": {"action": "edit", "edited": str(prompt.pk), "message": "Why red?"},
        "another prompt": {"action": "prompt", "parent": str(reply), "message": "Why?"},
        "a continuation": {"action": "continue", "reply": str(reply)},
    }[how]
    await tab.send(conversation=str(conversation.pk), prompt=str(uuid4()), **fields)
    await tab.until_ended()
    await worker().until_saved()
    await worker().titles.until_written()
    await conversation.arefresh_from_db()
    assert (conversation.title, conversation.titled_by) == ("Blue skies", "model")
    sent_text = str(upstream.chat_requests[-1].body["messages"])
    assert fields.get("message", QUESTION) in sent_text


async def test_a_conversation_with_an_earlier_whole_reply_gets_no_title(
    tab: Tab, upstream: FakeUpstream, title_upstream: Upstream
) -> None:
    """It was started before an administrator chose a model for titles."""
    await Installation.objects.aupdate(title_upstream=None)
    conversation = await first_turn(tab, upstream)
    await Installation.objects.aupdate(title_upstream=title_upstream)
    head = await conversation.messages.alast()
    assert head
    await tab.ask("And at night?", conversation=str(conversation.pk), parent=str(head.pk))
    await tab.until_ended()
    await worker().until_saved()
    await worker().titles.until_written()
    assert "small" not in [request.body["model"] for request in upstream.chat_requests]


async def test_no_request_for_a_title_outlives_a_drain(
    tab: Tab, upstream: FakeUpstream, title_upstream: Upstream
) -> None:
    upstream.script(*WHOLE)
    upstream.script(role(), delta("Blue"), Stall())
    await tab.ask(QUESTION)
    await upstream.until_requested()
    request = await upstream.until_requested()
    await shut_down(0)
    assert (await request.until_closed()).was_streaming
    booked = await Usage.objects.aget(kind="title")
    assert booked.provenance == "estimated"
    assert (await Conversation.objects.aget()).title == QUESTION


async def test_a_title_that_takes_too_long_is_abandoned(
    tab: Tab, upstream: FakeUpstream, title_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(titles, "SECONDS", 0.2)
    conversation = await first_turn(tab, upstream, delta("Blue"), Stall())
    assert conversation.title == QUESTION


async def test_a_model_that_writes_too_much_is_cut_off(
    tab: Tab, upstream: FakeUpstream, title_upstream: Upstream
) -> None:
    babble: list[Step] = [delta("Blue skies\n"), *[delta("and so on " * 20)] * 20, Stall()]
    assert (await first_turn(tab, upstream, *babble)).title == "Blue skies"


async def test_parameters_that_a_title_does_not_need_are_not_sent(
    tab: Tab, upstream: FakeUpstream, title_upstream: Upstream
) -> None:
    title_upstream.parameters = {"n": 2, "logprobs": True, "temperature": 0.5}
    await title_upstream.asave()
    await first_turn(tab, upstream, delta("Sky"), finish(), done())
    body = upstream.chat_requests[1].body
    assert body["temperature"] == 0.5
    assert {"n", "logprobs", "tools"}.isdisjoint(body)


async def test_a_title_counts_towards_limits_as_a_reply_does(
    tab: Tab, upstream: FakeUpstream, title_upstream: Upstream
) -> None:
    await sync_to_async(limit)(1_000_000)
    await first_turn(tab, upstream, delta("Sky"), finish(), usage(70, 3), done())
    booked = [usage_row.total_tokens or 0 async for usage_row in Usage.objects.all()]
    assert 73 in booked
    assert await sync_to_async(account)() == (sum(booked), 0)


@pytest.fixture
async def toolless(title_upstream: Upstream) -> None:
    """No tools: what they may cost at most exceeds these small limits."""
    title_upstream.offers_tools = False
    await title_upstream.asave()


@pytest.mark.usefixtures("toolless")
async def test_no_title_is_requested_if_a_limit_leaves_too_little(
    tab: Tab, upstream: FakeUpstream
) -> None:
    await sync_to_async(limit)(300)
    conversation = await first_turn(tab, upstream)
    assert (conversation.title, conversation.titled_by) == (QUESTION, "prompt")
    assert len(upstream.chat_requests) == 1
    spent, held_tokens = await sync_to_async(account)()
    assert spent > 0
    assert held_tokens == 0


@pytest.mark.usefixtures("toolless")
async def test_a_title_has_a_token_budget_and_its_request_is_closed_beyond_it(
    tab: Tab, upstream: FakeUpstream
) -> None:
    await sync_to_async(limit)(460)
    conversation = await first_turn(tab, upstream, *[delta("and so on ")] * 100, Stall())
    assert 0 < upstream.chat_requests[1].body["max_tokens"] < 120
    assert conversation.title == QUESTION
    assert await Usage.objects.filter(kind="title", provenance="estimated").aexists()
    assert (await sync_to_async(account)())[1] == 0


@pytest.mark.parametrize("measure", [Measure.A_MINUTE, Measure.AT_ONCE])
async def test_a_title_does_not_count_towards_limits_on_the_number_of_replies(
    tab: Tab, upstream: FakeUpstream, title_upstream: Upstream, measure: Measure
) -> None:
    await sync_to_async(limit)(1, measure)
    assert (await first_turn(tab, upstream, delta("Sky"), finish(), done())).title == "Sky"
