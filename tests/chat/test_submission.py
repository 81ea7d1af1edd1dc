"""Prompts: stored once, sent with the earlier messages, and only to models that are offered."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import SyncToAsync
from django.test import Client

from chatapp import catalogue
from chatapp.models import AccessRule, Conversation, Message, ReviewPolicy, Upstream, Usage
from chatapp.realtime.generation import storing
from chatapp.realtime.worker import worker
from tests.support.fake_upstream import (
    MODEL,
    FakeUpstream,
    Pause,
    delta,
    done,
    finish,
    reasoning,
    role,
    usage,
)
from tests.support.stored import load_reply
from tests.support.tab import Tab

READING = SyncToAsync.single_thread_executor

pytestmark = pytest.mark.django_db


async def test_a_prompt_is_answered_and_both_are_saved(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.script(
        role(), reasoning("Rayleigh."), delta("It "), delta("scatters."), finish(), usage(), done()
    )
    reply = await tab.ask("Why is the sky blue?")
    await tab.until_ended()
    message = await load_reply(reply)
    assert message.ending == "complete"
    assert (message.reasoning, message.content) == ("Rayleigh.", "It scatters.")
    assert message.response_id == "chatcmpl-1"
    assert message.parent
    assert message.parent.content == "Why is the sky blue?"
    assert message.conversation.title == "Why is the sky blue?"
    assert message.usage.provenance == Usage.Provenance.REPORTED
    assert message.usage.total_tokens == 30


async def test_the_first_turn_shows_the_review_policy_it_started_under(tab: Tab) -> None:
    await ReviewPolicy.objects.acreate(scope="nothing")  # set after the page was drawn
    await tab.ask("Why?")
    await tab.until_ended()
    assert any("Nobody reviews this chat." in frame for frame in tab.frames)


async def test_a_turn_makes_two_trips_to_the_database(
    tab: Tab, saved_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once to store it and once at its end. Each round trip costs as much as what it writes."""
    upstream = f"{saved_upstream.pk}/{MODEL}"
    await worker().catalogue.offers(wait_for_all=True)  # as a page does to list the models
    await tab.ask("One", model=upstream)
    await tab.until_ended()
    await worker().until_saved()
    await worker().titles.until_written()
    conversation = str((await Conversation.objects.aget()).pk)
    submit, trips = ThreadPoolExecutor.submit, []

    def count_submit(thread: ThreadPoolExecutor, *work: Any) -> Future[Any]:
        trips.append(thread) if thread in (storing.thread, READING) else None
        return submit(thread, *work)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", count_submit)
    await tab.ask("Two", conversation=conversation, model=upstream)
    await tab.until_ended()
    await worker().until_saved()
    await worker().titles.until_written()
    assert len(trips) == 2


async def test_the_upstream_gets_the_key_the_model_and_the_thread(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    model = f"{saved_upstream.pk}/google/gemini-3-flash"
    await tab.ask("One", model=model)
    await tab.until_ended()
    first = await Conversation.objects.aget()
    await upstream.until_requested()
    await tab.ask("Two", conversation=str(first.pk), model=model)
    request = await upstream.until_requested()
    assert request.headers["authorization"] == "Bearer sk-very-secret"
    assert request.body["model"] == "google/gemini-3-flash"
    assert request.body["messages"] == [
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "Packets in flight"},
        {"role": "user", "content": "Two"},
    ]
    await tab.until_ended()


async def test_a_prompt_sent_again_is_stored_once(
    tab: Tab, alices: Client, upstream: FakeUpstream
) -> None:
    prompt = str(uuid4())
    await tab.ask("Once only", prompt=prompt)
    await tab.until_ended()
    async with Tab(alices) as again:
        await again.send(action="prompt", message="Once only", prompt=prompt)
        assert "Packets in flight" in await again.until("Once only")
    assert await Message.objects.acount() == 2
    assert len(upstream.chat_requests) == 1


async def test_a_different_text_with_a_used_id_is_a_new_prompt(
    tab: Tab, upstream: FakeUpstream
) -> None:
    prompt = str(uuid4())
    await tab.ask("First", prompt=prompt)
    await tab.until_ended()
    await tab.ask("Second", prompt=prompt)
    await tab.until_ended()
    contents = [m.content async for m in Message.objects.filter(role="user")]
    assert contents == ["First", "Second"]


async def test_only_one_reply_runs_in_a_conversation_at_a_time(
    tab: Tab, upstream: FakeUpstream
) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half"), pause, finish(), done())
    reply = await tab.ask()
    conversation = str((await load_reply(reply)).conversation_id)
    prompt = str(uuid4())
    await tab.send(action="prompt", message="And?", conversation=conversation, prompt=prompt)
    assert f'data-prompt="{prompt}"' in await tab.until("still being written")
    pause.release()
    await tab.until_ended()
    assert await Message.objects.acount() == 2


async def test_without_a_model_the_prompt_is_refused_and_returned(
    alices: Client, generations_end: None
) -> None:
    prompt = str(uuid4())
    async with Tab(alices) as tab:
        await tab.send(action="prompt", message="Hello", prompt=prompt)
        assert f'data-prompt="{prompt}"' in await tab.until("No model is available")


async def test_a_person_without_access_to_a_model_is_told_so(
    tab: Tab, saved_upstream: Upstream
) -> None:
    await AccessRule.objects.acreate(upstream=saved_upstream)  # gives access to nobody
    await tab.send(action="prompt", message="Hello", prompt=str(uuid4()))
    await tab.until("have access to any model. Ask your administrator for one.")


NOT_OFFERED = "This model is no longer available. Choose another."


async def test_a_model_the_administrator_no_longer_offers_is_refused(
    tab: Tab, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    upstream.models = ["one", "two"]
    reply = await tab.ask("Hello", model=f"{saved_upstream.pk}/one")
    await tab.until_ended()
    await Upstream.objects.aupdate(offered_models="two\nthree")
    request_count = len(upstream.chat_requests)
    for refused in ("one", "tw", "two three", "TWO", "two/"):
        chosen = {"model": f"{saved_upstream.pk}/{refused}"}
        await tab.send(action="prompt", message="Hello", **chosen)
        await tab.until(NOT_OFFERED)
        await tab.send(action="retry", reply=str(reply), **chosen)
        await tab.until(NOT_OFFERED)
    assert len(upstream.chat_requests) == request_count
    assert await Message.objects.acount() == 2
    await tab.send(action="retry", reply=str(reply), model=f"{saved_upstream.pk}/two")
    await tab.until_ended()


async def test_a_model_the_upstream_does_not_list_is_refused(
    tab: Tab, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    upstream.models = ["one", "two"]
    await worker().catalogue.offers()
    request_count = len(upstream.chat_requests)
    await tab.send(action="prompt", message="Hello", model=f"{saved_upstream.pk}/three")
    await tab.until(NOT_OFFERED)
    await tab.send(action="retry", reply=str(uuid4()), model=f"{saved_upstream.pk}/three")
    await tab.until(NOT_OFFERED)
    assert len(upstream.chat_requests) == request_count
    await tab.ask("Hello", model=f"{saved_upstream.pk}/two")


async def test_a_model_the_upstream_lists_only_now_is_accepted(
    tab: Tab, saved_upstream: Upstream, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process, which knew the newer list, drew the page."""
    upstream.models = ["one"]
    await worker().catalogue.offers()
    upstream.models = ["one", "two"]
    await tab.send(action="prompt", message="Hello", model=f"{saved_upstream.pk}/two")
    await tab.until(NOT_OFFERED)
    monkeypatch.setattr(catalogue, "RETRY_SECONDS", 0)
    await tab.ask("Hello", model=f"{saved_upstream.pk}/two")


async def test_an_upstream_that_lists_nothing_accepts_any_model(
    tab: Tab, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    upstream.fail_models(404, {"error": {"message": "no such page"}})
    await worker().catalogue.offers()
    await tab.ask("Hello", model=f"{saved_upstream.pk}/any")
