"""The content of a tab that opens, reconnects or moves on while a reply is running."""

from collections.abc import Awaitable, Callable

import pytest
from channels.db import database_sync_to_async
from django.test import AsyncClient, Client
from pytest_django import Settings

from chatapp.chat import thread_loader, thread_sync
from chatapp.models import Upstream, User
from chatapp.realtime.cluster.null_bus import NullHeartbeat
from chatapp.realtime.worker import worker
from chatapp.rendering import pool
from tests.chat.browsing import Browsing
from tests.support.fake_upstream import FakeUpstream, Pause, delta, done, finish, role
from tests.support.stored import load_reply
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

Act = Callable[[], Awaitable[None]]


async def test_a_tab_that_reconnects_in_time_gets_a_snapshot_and_what_follows(
    tab: Tab, alices: Client, upstream: FakeUpstream, settings: Settings
) -> None:
    settings.CHATAPP_CLOSE_GRACE = 60.0
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    reply = await tab.ask()
    await tab.until("Half of")
    conversation = (await load_reply(reply)).conversation_id
    await tab.close(1001)
    async with Tab(alices, conversation=conversation, head=reply, ending="streaming") as again:
        snapshot = await again.until("Half of")
        assert f"#reply-{reply}" in snapshot
        pause.release()
        await again.until_ended()
    followed = "".join(again.frames[again.frames.index(snapshot) + 1 :])
    assert "Half of" not in followed
    assert "> it<" in followed
    assert (await load_reply(reply)).ending == "complete"


async def test_a_page_that_missed_the_ending_is_updated(tab: Tab, alices: Client) -> None:
    reply = await tab.ask()
    await tab.until_ended()
    conversation = (await load_reply(reply)).conversation_id
    async with Tab(alices, conversation=conversation, head=reply, ending="streaming") as late:
        frame = await late.until("Packets in flight")
    assert 'data-ending="complete"' in frame


async def test_a_second_tab_keeps_the_reply_alive(
    tab: Tab, alices: Client, upstream: FakeUpstream
) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    reply = await tab.ask()
    conversation = (await load_reply(reply)).conversation_id
    async with Tab(alices, conversation=conversation, head=reply) as second:
        await second.until("data-reply")
        await tab.close(1001)
        pause.release()
        await second.until_ended()
    assert (await load_reply(reply)).ending == "complete"


async def test_moving_to_another_conversation_keeps_the_reply_running(
    tab: Tab, upstream: FakeUpstream
) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    reply = await tab.ask()
    await tab.until("Half of")
    await tab.send(action="watch")
    conversation = (await load_reply(reply)).conversation_id
    await tab.send(action="nonsense")
    await tab.until("Reload")
    pause.release()
    await tab.until(f"delete target:#running-{conversation}")
    assert (await load_reply(reply)).content == "Half of it"


async def test_a_tab_opened_during_a_database_outage_is_drawn_afterwards(
    tab: Tab, alices: Client, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_sync, "DRAW_AGAIN_SECONDS", 0.01)
    pause, end = Pause(), Pause()
    upstream.script(role(), delta("Half "), pause, delta("of it"), end, finish(), done())
    reply = await tab.ask()
    await tab.until("Half")
    conversation = (await load_reply(reply)).conversation_id
    with monkeypatch.context() as away:
        away.setattr(NullHeartbeat, "database_answers", False)
        second = Tab(alices, conversation=conversation, head=reply, ending="streaming")
        await second.connect()
        assert thread_sync.NOT_SHOWN in await second.until("problem")
        pause.release()
        await tab.until("> of it<")
    assert "Half of it" in await second.until(f"#reply-{reply}")
    assert thread_sync.NOT_SHOWN not in await second.until("problem")
    end.release()
    await second.until_ended()
    await second.close()


@pytest.mark.parametrize("redraw", [False, True])
async def test_changes_during_a_database_outage_are_shown_afterwards(
    tab: Tab, monkeypatch: pytest.MonkeyPatch, *, redraw: bool
) -> None:
    monkeypatch.setattr(thread_sync, "DRAW_AGAIN_SECONDS", 0.01)
    reply = await tab.ask()
    await tab.until_ended()
    [viewer] = worker().viewers
    before = len(tab.frames)
    with monkeypatch.context() as away:
        away.setattr(NullHeartbeat, "database_answers", False)
        await viewer.catch_up((await load_reply(reply)).conversation_id, redraw=redraw)
    assert "Packets in flight" in await tab.until(f"reply-{reply}")
    assert sum(f"reply-{reply}" in frame for frame in tab.frames[before:]) == 1


@pytest.fixture
def client(alice: User, saved_upstream: Upstream, generations_end: None) -> AsyncClient:
    client = AsyncClient(headers={"host": "localhost"})
    client.force_login(alice)
    return client


def hold(monkeypatch: pytest.MonkeyPatch, module: object, name: str, do: Act) -> None:
    """Run `do` before the first call of a function returns."""
    function = getattr(module, name)

    async def call_and_act(*arguments: object) -> object:
        result = await function(*arguments)
        monkeypatch.setattr(module, name, function)
        await do()
        return result

    monkeypatch.setattr(module, name, call_and_act)


async def test_a_turn_is_not_added_below_a_branch_the_tab_moved_to_meanwhile(
    client: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender, stepper = Browsing(client), Browsing(client)
    await sender.open()
    await sender.ask("First")
    await sender.until_ended()
    path = f"/c/{sender.page.form()['conversation']}/"
    await stepper.open(path)
    prompt = sender.shown_messages[0][0]
    await sender.ask("Second", action="edit", edited=prompt)
    await sender.until_ended()

    async def step() -> None:
        [button] = [
            candidate
            for candidate in stepper.buttons("step")
            if prompt in candidate.attributes["hx-vals"]
        ]
        await stepper.press(button)
        await stepper.until_done()
        assert stepper.shown_messages[0][1] == "First"

    await stepper.until_done()
    hold(monkeypatch, pool, "arender_texts", step)
    await sender.ask("Third")
    await sender.until_ended()
    await stepper.until_done()
    await sender.open(f"{path}?at={stepper.shown_messages[-1][0]}")
    assert [text for _, text, ending, _ in sender.shown_messages if not ending] == [
        "Second",
        "Third",
    ]
    assert stepper.shown_messages == sender.shown_messages
    await sender.close()
    await stepper.close()


async def test_a_tab_that_was_shown_more_meanwhile_is_compared_again(
    client: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender, lagging = Browsing(client), Browsing(client)
    await sender.open()
    await sender.ask("First")
    await sender.until_ended()
    path = f"/c/{sender.page.form()['conversation']}/"
    await lagging.open(path)
    await lagging.until_done()
    [late] = [
        viewer
        for viewer in worker().viewers
        if viewer.head and viewer is not next(iter(worker().viewers))
    ]

    async def edit() -> None:
        await sender.ask("Second", action="edit", edited=sender.shown_messages[0][0])
        await sender.until_ended()

    hold(monkeypatch, thread_loader, "draw_thread", edit)
    await late.catch_up(next(iter(worker().viewers.conversations())))
    await lagging.until_done()
    await sender.open(path)
    assert lagging.shown_messages == sender.shown_messages
    await sender.close()
    await lagging.close()


@pytest.mark.parametrize("is_late", [False, True])
async def test_a_tab_with_an_outdated_title_shows_the_new_one(
    tab: Tab, alices: Client, monkeypatch: pytest.MonkeyPatch, *, is_late: bool
) -> None:
    """It is renamed before the tab connects, or while the tab's messages are drawn."""
    reply = await tab.ask()
    await tab.until_ended()
    conversation = (await load_reply(reply)).conversation

    async def rename() -> None:
        await database_sync_to_async(conversation.rename)("Renamed")
        worker().conversation_changed(conversation.user_id, conversation.pk)
        await tab.until("Renamed")

    if is_late:
        hold(monkeypatch, thread_loader, "draw_thread", rename)
    else:
        await rename()
    async with Tab(alices, conversation=conversation.pk, head=reply, ending="complete") as late:
        await late.until("#title")
    titles = [frame for frame in late.frames if "#title" in frame]
    assert "Renamed" in titles[-1]


async def test_a_tab_opened_while_its_conversation_is_deleted_shows_a_new_chat(
    tab: Tab, alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = await tab.ask()
    await tab.until_ended()
    conversation = (await load_reply(reply)).conversation
    pk = conversation.pk

    async def delete() -> None:
        await database_sync_to_async(conversation.erase)()
        worker().conversation_changed(conversation.user_id, pk)
        await tab.until("data-gone")

    hold(monkeypatch, thread_loader, "draw_thread", delete)
    async with Tab(alices, conversation=pk, head=reply, ending="complete") as late:
        assert str(pk) in await late.until("data-gone")
