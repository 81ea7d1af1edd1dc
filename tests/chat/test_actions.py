"""The actions of a tab, which apply only to the person's own conversations."""

import asyncio
from uuid import uuid4

import pytest
from django.test import Client

from chatapp.concurrency.turns import Turns
from chatapp.models import Message
from chatapp.realtime.generation import retries
from chatapp.realtime.worker import worker
from tests.support.fake_upstream import FakeUpstream, Pause, Stall, delta, done, finish, role
from tests.support.stored import load_reply
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db


async def test_stop_closes_the_upstream_and_keeps_what_arrived(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("Half of it"), Stall())
    reply = await tab.ask()
    await tab.until("Half of it")
    request = await upstream.until_requested()
    conversation = (await load_reply(reply)).conversation_id
    await tab.send(action="stop", conversation=str(conversation))
    await request.until_closed()
    assert "estimated" in await tab.until_ended()
    message = await load_reply(reply)
    assert (message.ending, message.content) == ("stopped", "Half of it")


async def test_a_stop_for_another_reply_stops_nothing(tab: Tab, upstream: FakeUpstream) -> None:
    """It was queued while the connection was lost, and arrives when another reply runs."""
    pause = Pause()
    upstream.script(role(), delta("Half"), pause, delta(" of it"), finish(), done())
    reply = await tab.ask()
    conversation = str((await load_reply(reply)).conversation_id)
    await tab.send(action="stop", conversation=conversation, reply=str(uuid4()))
    await tab.send(action="nonsense")
    await tab.until("Reload")  # so the stop before it has been processed
    pause.release()
    await tab.until_ended()
    assert (await load_reply(reply)).ending == "complete"


async def test_stop_can_name_a_reply(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.script(role(), delta("Half of it"), Stall())
    reply = await tab.ask()
    await tab.until("Half of it")
    conversation = str((await load_reply(reply)).conversation_id)
    await tab.send(action="stop", conversation=conversation, reply=str(reply))
    await tab.until_ended()
    assert (await load_reply(reply)).ending == "stopped"


async def test_bob_cannot_stop_alices_reply(tab: Tab, upstream: FakeUpstream, bobs: Client) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half"), pause, delta(" of it"), finish(), done())
    reply = await tab.ask()
    conversation = (await load_reply(reply)).conversation_id
    async with Tab(bobs) as bobs_tab:
        await bobs_tab.send(action="stop", conversation=str(conversation))
        await bobs_tab.send(action="nonsense")
        await bobs_tab.until("Reload")  # so the stop before it has been processed
    pause.release()
    await tab.until_ended()
    assert (await load_reply(reply)).ending == "complete"


async def test_bob_cannot_watch_or_write_in_alices_conversation(tab: Tab, bobs: Client) -> None:
    reply = await tab.ask()
    await tab.until_ended()
    conversation = str((await load_reply(reply)).conversation_id)
    async with Tab(bobs) as bobs_tab:
        await bobs_tab.send(action="watch", conversation=conversation)
        assert "no longer exists" in await bobs_tab.until("problem")
        await bobs_tab.send(action="prompt", message="Hello", conversation=conversation)
        assert "no longer exists" in await bobs_tab.until("problem")
        await bobs_tab.send(action="retry", reply=str(reply))
        assert "no longer exists" in await bobs_tab.until("problem")
    assert "Packets" not in "".join(bobs_tab.frames)


async def test_retry_makes_a_sibling_of_the_failed_reply(tab: Tab, upstream: FakeUpstream) -> None:
    for _ in range(retries.TRIES):
        upstream.fail(500, {"error": {"message": "boom"}})
    failed = await tab.ask()
    frame = await tab.until_ended()
    assert "boom" in frame
    await tab.send(action="retry", reply=str(failed))
    second = await tab.next_reply()
    await tab.until_ended()
    first, other = await load_reply(failed), await load_reply(second)
    assert (first.ending, other.ending) == ("failed", "complete")
    assert first.parent_id == other.parent_id


@pytest.mark.parametrize("text", ["", "  \n ", "x" * 200_001])
async def test_a_bad_prompt_is_refused_and_returned(tab: Tab, text: str) -> None:
    prompt = str(uuid4())
    await tab.send(action="prompt", message=text, prompt=prompt)
    assert f'data-prompt="{prompt}"' in await tab.until("problem")
    assert not await Message.objects.aexists()


@pytest.mark.parametrize("model", ["9" * 5000 + "/m", "x/m", "/"])
async def test_an_invalid_model_does_not_end_the_tab(
    tab: Tab, upstream: FakeUpstream, model: str
) -> None:
    await tab.send(action="prompt", message="Hello", model=model)
    await tab.ask()
    assert await tab.until_ended()


async def test_only_a_few_turns_are_stored_at_a_time(
    tab: Tab, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = Turns(1, long_seconds=60, each=1)
    monkeypatch.setattr(worker(), "few_turns_at_a_time", few)
    before = await few.begin(None)
    asking = asyncio.create_task(tab.ask())
    async with asyncio.timeout(10):
        while not worker().replies.is_taking_prompts:  # noqa: ASYNC110 - a drain waits for this
            await asyncio.sleep(0.01)
    assert not await Message.objects.aexists()
    before.end()
    assert (await load_reply(await asking)).role == "assistant"
    await tab.until_ended()
    await few.begin(None)
