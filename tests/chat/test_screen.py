"""What a tab shows when it comes, comes back, or moves on while a reply is written."""

from collections.abc import Awaitable, Callable

import pytest
from channels.db import database_sync_to_async
from django.test import AsyncClient, Client
from pytest_django import Settings

from chatapp import rendering
from chatapp.chat import screen
from chatapp.cluster.alone import NoHeartbeat
from chatapp.models import Upstream, User
from chatapp.worker import worker
from tests.chat.browsing import Browsing
from tests.support.fake_upstream import FakeUpstream, Pause, delta, done, finish, role
from tests.support.stored import saved
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

Act = Callable[[], Awaitable[None]]


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
    await tab.until(f"delete target:#running-{conversation}")
    assert (await saved(reply)).content == "Half of it"


async def test_a_tab_that_comes_while_the_database_is_away_is_drawn_when_it_is_back(
    tab: Tab, alices: Client, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "DRAW_AGAIN_SECONDS", 0.01)
    pause, end = Pause(), Pause()
    upstream.script(role(), delta("Half "), pause, delta("of it"), end, finish(), done())
    reply = await tab.ask()
    await tab.until("Half")
    conversation = (await saved(reply)).conversation_id
    with monkeypatch.context() as away:
        away.setattr(NoHeartbeat, "database_answers", False)
        second = Tab(alices, conversation=conversation, head=reply, ending="streaming")
        await second.connect()
        assert screen.NOT_SHOWN in await second.until("problem")
        pause.release()
        await tab.until("> of it<")
    assert "Half of it" in await second.until(f"#reply-{reply}")
    assert screen.NOT_SHOWN not in await second.until("problem")
    end.release()
    await second.until_ended()
    await second.close()


@pytest.mark.parametrize("anew", [False, True])
async def test_what_changes_while_the_database_is_away_is_shown_when_it_is_back(
    tab: Tab, monkeypatch: pytest.MonkeyPatch, *, anew: bool
) -> None:
    monkeypatch.setattr(screen, "DRAW_AGAIN_SECONDS", 0.01)
    reply = await tab.ask()
    await tab.until_ended()
    [viewer] = worker().viewers
    before = len(tab.frames)
    with monkeypatch.context() as away:
        away.setattr(NoHeartbeat, "database_answers", False)
        await viewer.catch_up((await saved(reply)).conversation_id, anew=anew)
    assert "Packets in flight" in await tab.until(f"reply-{reply}")
    assert sum(f"reply-{reply}" in frame for frame in tab.frames[before:]) == 1


@pytest.fixture
def client(alice: User, connected: Upstream, generations_end: None) -> AsyncClient:
    client = AsyncClient(headers={"host": "localhost"})
    client.force_login(alice)
    return client


def hold(monkeypatch: pytest.MonkeyPatch, module: object, name: str, do: Act) -> None:
    """Lets something happen while the first call of a function is on its way."""
    function = getattr(module, name)

    async def held(*given: object) -> object:
        result = await function(*given)
        monkeypatch.setattr(module, name, function)
        await do()
        return result

    monkeypatch.setattr(module, name, held)


async def test_a_turn_is_not_put_below_a_branch_that_a_tab_went_to_meanwhile(
    client: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks, steps = Browsing(client), Browsing(client)
    await asks.open()
    await asks.ask("First")
    await asks.until_ended()
    path = f"/c/{asks.page.form()['conversation']}/"
    await steps.open(path)
    prompt = asks.shown[0][0]
    await asks.ask("Second", action="edit", edited=prompt)
    await asks.until_ended()

    async def step() -> None:
        [button] = [one for one in steps.buttons("step") if prompt in one.attributes["hx-vals"]]
        await steps.press(button)
        await steps.until_done()
        assert steps.shown[0][1] == "First"

    await steps.until_done()
    hold(monkeypatch, rendering, "arendered", step)
    await asks.ask("Third")
    await asks.until_ended()
    await steps.until_done()
    await asks.open(f"{path}?at={steps.shown[-1][0]}")
    assert [text for _, text, ending, _ in asks.shown if not ending] == ["Second", "Third"]
    assert steps.shown == asks.shown
    await asks.close()
    await steps.close()


async def test_what_a_tab_lacks_is_looked_at_again_where_it_was_shown_more_meanwhile(
    client: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks, lags = Browsing(client), Browsing(client)
    await asks.open()
    await asks.ask("First")
    await asks.until_ended()
    path = f"/c/{asks.page.form()['conversation']}/"
    await lags.open(path)
    await lags.until_done()
    [late] = [
        one for one in worker().viewers if one.head and one is not next(iter(worker().viewers))
    ]

    async def edit() -> None:
        await asks.ask("Second", action="edit", edited=asks.shown[0][0])
        await asks.until_ended()

    hold(monkeypatch, screen, "drawn", edit)
    await late.catch_up(next(iter(worker().viewers.conversations())))
    await lags.until_done()
    await asks.open(path)
    assert lags.shown == asks.shown
    await asks.close()
    await lags.close()


@pytest.mark.parametrize("is_late", [False, True])
async def test_a_tab_whose_page_is_older_than_the_title_shows_the_new_one(
    tab: Tab, alices: Client, monkeypatch: pytest.MonkeyPatch, *, is_late: bool
) -> None:
    """Renamed before the tab asks for what it lacks, or while that is drawn."""
    reply = await tab.ask()
    await tab.until_ended()
    conversation = (await saved(reply)).conversation

    async def rename() -> None:
        await database_sync_to_async(conversation.rename)("Renamed")
        worker().conversation_changed(conversation.user_id, conversation.pk)
        await tab.until("Renamed")

    if is_late:
        hold(monkeypatch, screen, "drawn", rename)
    else:
        await rename()
    async with Tab(alices, conversation=conversation.pk, head=reply, ending="complete") as late:
        await late.until("#title")
    titles = [frame for frame in late.frames if "#title" in frame]
    assert "Renamed" in titles[-1]


async def test_a_tab_that_comes_while_its_conversation_is_deleted_shows_a_new_chat(
    tab: Tab, alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = await tab.ask()
    await tab.until_ended()
    conversation = (await saved(reply)).conversation
    pk = conversation.pk

    async def delete() -> None:
        await database_sync_to_async(conversation.erase)()
        worker().conversation_changed(conversation.user_id, pk)
        await tab.until("data-gone")

    hold(monkeypatch, screen, "drawn", delete)
    async with Tab(alices, conversation=pk, head=reply, ending="complete") as late:
        assert str(pk) in await late.until("data-gone")
