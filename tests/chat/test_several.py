"""Several models at once over a tab's socket: each reply on its own, and all together."""

import re
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from pytest_django import Settings

from chatapp.models import Message, Upstream
from chatapp.realtime.generation import Generation
from chatapp.realtime.worker import worker
from tests.chat.browsing import read_messages
from tests.support.fake_upstream import FakeUpstream, Pause, Stall, delta, done, finish, role
from tests.support.page import Page
from tests.support.stored import load_reply
from tests.support.tab import REPLY, Tab

pytestmark = pytest.mark.django_db

HALF = (role(), delta("Half"), Stall())


async def ask(tab: Tab, connected: Upstream, models: int = 3, **fields: object) -> list[UUID]:
    """Ask several models and return their replies in the order shown."""
    first, *others = (f"{connected.pk}/m{number}" for number in range(models))
    await tab.send(action="prompt", message="Why?", model=first, others="\n".join(others), **fields)
    return [UUID(pk) for pk in REPLY.findall(await tab.until('class="beside"'))]


async def endings(replies: list[UUID]) -> list[str]:
    return [(await load_reply(reply)).ending for reply in replies]


async def until_half(tab: Tab, replies: list[UUID]) -> None:
    """Wait until all replies have begun."""
    while not all(f"ans{reply.hex[:8]}" in "".join(tab.frames) for reply in replies):
        await tab.until("Half")


async def half_asked(
    tab: Tab, connected: Upstream, upstream: FakeUpstream, models: int
) -> list[UUID]:
    """Return replies that stall after their first half."""
    for _ in range(models):
        upstream.script(*HALF)
    replies = await ask(tab, connected, models)
    await until_half(tab, replies)
    return replies


async def test_each_model_replies_and_every_reply_is_saved(
    tab: Tab, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    replies = await ask(tab, saved_upstream, 4)
    for _ in replies:
        await tab.until_ended()
    assert await endings(replies) == ["complete"] * 4
    assert [(await load_reply(reply)).model for reply in replies] == ["m0", "m1", "m2", "m3"]
    assert sorted(request.body["model"] for request in upstream.requests if request.body) == [
        "m0", "m1", "m2", "m3",
    ]  # fmt: skip


async def test_the_running_mark_disappears_with_the_last_reply(
    tab: Tab, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    replies = await half_asked(tab, saved_upstream, upstream, 2)
    conversation = str((await load_reply(replies[0])).conversation_id)
    for reply, is_last in zip(replies, (False, True), strict=True):
        await tab.send(action="stop", conversation=conversation, reply=str(reply))
        assert ("#running-" in await tab.until_ended()) == is_last


async def test_stopping_one_reply_leaves_the_others_running(
    tab: Tab, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    replies = await half_asked(tab, saved_upstream, upstream, 3)
    conversation = str((await load_reply(replies[0])).conversation_id)
    await tab.send(action="stop", conversation=conversation, reply=str(replies[1]))
    assert f"reply-{replies[1]}" in await tab.until_ended()
    assert await endings(replies) == ["streaming", "stopped", "streaming"]
    await tab.send(action="stop", conversation=conversation)
    for _ in range(2):
        await tab.until_ended()
    assert await endings(replies) == ["stopped"] * 3


async def test_closing_the_tab_closes_every_upstream_request(
    tab: Tab, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    replies = await half_asked(tab, saved_upstream, upstream, 2)
    await tab.close()
    await worker().until_saved()
    assert await endings(replies) == ["abandoned"] * 2


async def test_a_tab_that_reconnects_gets_a_snapshot_of_each_reply_and_what_follows(
    tab: Tab, alices: Client, saved_upstream: Upstream, upstream: FakeUpstream, settings: Settings
) -> None:
    settings.CHATAPP_CLOSE_GRACE = 60.0
    pause = Pause()
    for _ in range(2):
        upstream.script(role(), delta("Half"), pause, delta(" more"), finish(), done())
    replies = await ask(tab, saved_upstream, 2)
    await until_half(tab, replies)
    message = await load_reply(replies[0])
    await tab.close()
    head: Any = {"conversation": message.conversation_id, "head": message.parent_id}
    async with Tab(alices, **head, ending="streaming streaming") as again:
        snapshots = await again.until("Half")
        assert all(f"#reply-{reply}" in snapshots for reply in replies)
        pause.release()
        for _ in replies:
            await again.until_ended()
    seen = "".join(again.frames)
    assert seen.count("Half") == 2
    assert not re.search(r'class="beside"', seen)


async def test_text_that_arrives_while_another_reply_is_drawn_is_not_missed(
    tab: Tab,
    alices: Client,
    saved_upstream: Upstream,
    upstream: FakeUpstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pause = Pause()
    for _ in range(2):
        upstream.script(role(), delta("Half"), pause, delta(" more"), Stall())
    replies = await ask(tab, saved_upstream, 2)
    await until_half(tab, replies)
    flush = Generation.flush

    async def late(generation: Generation) -> None:
        if generation.reply == replies[1]:
            pause.release()
            for _ in replies:
                await tab.until("more")
        await flush(generation)

    monkeypatch.setattr(Generation, "flush", late)
    message = await load_reply(replies[0])
    head: Any = {"conversation": message.conversation_id, "head": message.parent_id}
    async with Tab(alices, **head, ending="streaming streaming") as again:
        assert (await again.until(f"#reply-{replies[0]}")).count("Half more") == 2


async def test_a_page_that_missed_one_ending_gets_all_replies_again(
    tab: Tab, alices: Client, saved_upstream: Upstream
) -> None:
    replies = await ask(tab, saved_upstream, 2)
    for _ in replies:
        await tab.until_ended()
    message = await load_reply(replies[0])
    head: Any = {"conversation": message.conversation_id, "head": message.parent_id}
    async with Tab(alices, **head, ending="complete streaming") as late:
        frame = await late.until('class="beside"')
    assert frame.count('data-ending="complete"') == 2
    assert f"delete target:#beside-{message.parent_id}" in frame
    async with Tab(alices, **head, ending="complete complete") as whole:
        await whole.until("#title")
        assert len(whole.frames) == 1


@pytest.mark.parametrize(
    ("others", "problem"),
    [
        ("\n".join(f"1/m{number}" for number in range(4)), "4 models at most"),
        ("nonsense", "no longer available"),
        ("999/m", "no longer available"),
    ],
)
async def test_too_many_or_unknown_models_are_refused(
    tab: Tab, saved_upstream: Upstream, others: str, problem: str
) -> None:
    await tab.send(action="prompt", message="Why?", model=f"{saved_upstream.pk}/m", others=others)
    await tab.until(problem)
    assert not await Message.objects.aexists()


async def test_a_model_named_twice_replies_once(tab: Tab, saved_upstream: Upstream) -> None:
    model = f"{saved_upstream.pk}/m"
    await tab.send(action="prompt", message="Why?", model=model, others=f"{model}\n{model}")
    await tab.until_ended()
    assert await Message.objects.acount() == 2


async def test_a_page_shows_replies_side_by_side_and_continues_with_one(
    tab: Tab, alices: Client, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    upstream.models = ["m0", "m1"]
    replies = await ask(tab, saved_upstream, 2)
    for _ in replies:
        await tab.until_ended()
    conversation = (await load_reply(replies[0])).conversation_id
    answer = await sync_to_async(alices.get)(f"/c/{conversation}/")
    page = Page(answer.content.decode())
    assert [message[0] for message in read_messages(page)][1:] == [str(reply) for reply in replies]
    assert page.form()["parent"] == str(replies[0])
    choices = page.root.find_all("button", class_="text-button beside-choose")
    assert [button.attributes["data-model"] for button in choices] == [
        f"{saved_upstream.pk}/m0", f"{saved_upstream.pk}/m1",
    ]  # fmt: skip
    await tab.send(action="step", conversation=str(conversation), message=str(replies[1]))
    frame = await tab.until("innerHTML target:#messages")
    assert str(replies[1]) in frame
    assert f"reply-{replies[0]}" not in frame
    assert f'name="parent" value="{replies[1]}"' in frame
    assert "2 / 2" in frame
    answer = await sync_to_async(alices.get)(f"/c/{conversation}/")
    assert Page(answer.content.decode()).form()["model"] == f"{saved_upstream.pk}/m1"
