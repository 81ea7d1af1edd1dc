"""What a tab shows when it comes, comes back, or moves on while a reply is written."""

import pytest
from django.test import Client
from pytest_django import Settings

from tests.fake_upstream import FakeUpstream, Pause, delta, done, finish, role
from tests.stored import saved
from tests.tab import Tab

pytestmark = pytest.mark.django_db(transaction=True)


async def test_whoever_comes_back_in_time_gets_a_snapshot_and_what_follows(
    tab: Tab, alices: Client, upstream: FakeUpstream, settings: Settings
) -> None:
    settings.CHATAPP_CLOSE_GRACE = 60.0
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    reply = await tab.ask()
    await tab.until("Half of")
    conversation = (await saved(reply)).conversation_id
    await tab.close(1001)
    async with Tab(alices, conversation=conversation, head=reply, ending="streaming") as again:
        snapshot = await again.until("Half of")
        assert f"#reply-{reply}" in snapshot
        pause.release()
        await again.until_ended()
    followed = "".join(again.frames[again.frames.index(snapshot) + 1 :])
    assert "Half of" not in followed
    assert "> it<" in followed
    assert (await saved(reply)).ending == "complete"


async def test_a_page_that_missed_the_end_is_brought_up_to_date(tab: Tab, alices: Client) -> None:
    reply = await tab.ask()
    await tab.until_ended()
    conversation = (await saved(reply)).conversation_id
    async with Tab(alices, conversation=conversation, head=reply, ending="streaming") as late:
        frame = await late.until("Packets in flight")
    assert 'data-ending="complete"' in frame


async def test_a_second_tab_keeps_the_reply_alive(
    tab: Tab, alices: Client, upstream: FakeUpstream
) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    reply = await tab.ask()
    conversation = (await saved(reply)).conversation_id
    async with Tab(alices, conversation=conversation, head=reply) as second:
        await second.until("data-reply")
        await tab.close(1001)
        pause.release()
        await second.until_ended()
    assert (await saved(reply)).ending == "complete"


async def test_moving_to_another_conversation_keeps_the_reply_going(
    tab: Tab, upstream: FakeUpstream
) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    reply = await tab.ask()
    await tab.until("Half of")
    await tab.send(action="watch")
    conversation = (await saved(reply)).conversation_id
    await tab.send(action="nonsense")
    await tab.until("Reload")
    pause.release()
    frame = await tab.until(f"#nav-{conversation}")
    assert "data-running" not in frame.partition(f"#nav-{conversation}")[2]
    assert (await saved(reply)).content == "Half of it"
