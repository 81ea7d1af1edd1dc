"""Readers of a live shared chat: what they hear, what they never hear, and when they are told."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from chatapp.close_codes import CloseCode
from chatapp.models import Conversation, Installation, Message, SharedChat, User
from chatapp.models.sharing.shared_chats import Audience, Share, ShareOptions
from chatapp.realtime.readers import readers
from chatapp.realtime.worker import worker
from chatapp.sharing import consumer
from tests.realtime.generation.replies import call, fragment
from tests.sharing.readers import ReaderTab
from tests.support.fake_upstream import (
    FakeUpstream,
    Pause,
    answer,
    delta,
    done,
    finish,
    reasoning,
    role,
)
from tests.support.stored import load_reply
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db


async def share_reply(alice: User, reply: Message, *people: User, **parts: Any) -> str:
    """Share the reply's chat with these people, or else with everyone; return the token."""
    audience = Audience(people=people, is_everyone=not people)
    share = Share(reply.conversation_id, audience, None, ShareOptions(**parts))
    _, token = await database_sync_to_async(share.store)(alice)
    return str(token)


@pytest.fixture
async def ended_reply(tab: Tab) -> Message:
    """A reply of a chat that Alice's tab shows, which has ended."""
    reply = await tab.ask()
    await tab.until_ended()
    return await load_reply(reply)


@pytest.fixture
async def reader(
    ended_reply: Message, alice: User, bob: User, bobs: Client
) -> AsyncIterator[ReaderTab]:
    token = await share_reply(alice, ended_reply, bob)
    async with ReaderTab(bobs, token, head=ended_reply.pk, ending="complete") as reader:
        await wait_until_joined(reader)
        yield reader


def after(reply: Message) -> dict[str, str]:
    """Return the fields of a prompt that follows this reply."""
    return {"conversation": str(reply.conversation_id), "parent": str(reply.pk)}


async def wait_until_joined(reader: ReaderTab, count: int = 1) -> None:
    """Wait until the readers have joined."""
    while len(worker().readers) < count:  # noqa: ASYNC110 - no event says so
        await asyncio.sleep(0.005)


async def test_a_reader_gets_new_turns_and_their_tokens(
    tab: Tab, reader: ReaderTab, ended_reply: Message, upstream: FakeUpstream
) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    reply = await tab.ask("And red?", **after(ended_reply))
    await reader.until("And red?")
    await reader.until("Half of")
    pause.release()
    await reader.until("it<")
    await reader.until('data-ending="complete"')
    assert f"reply-{reply}" in reader.received_text
    assert "hx-ws" not in reader.received_text
    assert str(ended_reply.conversation_id) not in reader.received_text


async def test_a_late_reader_gets_a_snapshot_of_a_running_reply(
    tab: Tab, ended_reply: Message, alice: User, bob: User, bobs: Client, upstream: FakeUpstream
) -> None:
    token = await share_reply(alice, ended_reply, bob)
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    await tab.ask("And red?", **after(ended_reply))
    await tab.until("Half of")
    async with ReaderTab(bobs, token, head=ended_reply.pk, ending="complete") as reader:
        await reader.until("Half of")
        pause.release()
        await reader.until('data-ending="complete"')
        assert "Half of it" in reader.frames[-1]


@pytest.mark.parametrize("shows_reasoning", [False, True])
async def test_reasoning_leaves_the_server_only_if_it_is_shared(
    tab: Tab,
    ended_reply: Message,
    alice: User,
    bob: User,
    bobs: Client,
    upstream: FakeUpstream,
    *,
    shows_reasoning: bool,
) -> None:
    token = await share_reply(alice, ended_reply, bob, shows_reasoning=shows_reasoning)
    async with ReaderTab(bobs, token, head=ended_reply.pk, ending="complete") as reader:
        await wait_until_joined(reader)
        pause = Pause()
        secret = [reasoning("Scattering "), reasoning("explains it")]
        upstream.script(role(), *secret, pause, delta("Dust"), finish(), done())
        await tab.ask("And red?", **after(ended_reply))
        await tab.until("explains it")
        pause.release()
        await reader.until('data-ending="complete"')
        assert "Dust" in reader.received_text
        assert ("Scattering" in reader.received_text) is shows_reasoning


@pytest.mark.parametrize("shows_tools", [False, True])
async def test_a_tool_call_is_shown_while_its_reply_is_written_only_if_it_is_shared(
    tab: Tab,
    ended_reply: Message,
    alice: User,
    bob: User,
    bobs: Client,
    upstream: FakeUpstream,
    *,
    shows_tools: bool,
) -> None:
    token = await share_reply(alice, ended_reply, bob, shows_tools=shows_tools)
    async with ReaderTab(bobs, token, head=ended_reply.pk, ending="complete") as reader:
        await wait_until_joined(reader)
        pause = Pause()
        clock = [call("current_date_and_time", '{"timez'), fragment('one": "UTC"}')]
        upstream.script(role(), *clock, finish("tool_calls"), done())
        upstream.script(role(), delta("It is noon"), pause, *answer("."))
        await tab.ask("What time is it?", **after(ended_reply))
        await reader.until("It is noon")
        for words in ("current_date_and_time", "timez", "Result"):
            assert (words in reader.received_text) is shows_tools
        pause.release()
        await reader.until('data-ending="complete"')
        assert ("current_date_and_time" in reader.received_text) is shows_tools


async def test_a_new_title_is_shown_on_open_pages(
    reader: ReaderTab, ended_reply: Message, alices: Client
) -> None:
    change = database_sync_to_async(alices.post)
    await change(f"/c/{ended_reply.conversation_id}/rename/", {"title": "Dust & <light>"})
    frame = await reader.until("Dust")
    assert frame == (
        '<template hx-swap-oob="innerHTML target:#title">Dust &amp; &lt;light&gt;</template>'
    )


async def test_a_page_that_was_drawn_before_the_title_changed_gets_the_new_one(
    ended_reply: Message, alice: User, bob: User, bobs: Client
) -> None:
    token = await share_reply(alice, ended_reply, bob)
    await Conversation.objects.filter(pk=ended_reply.conversation_id).aupdate(title="Dust")
    async with ReaderTab(bobs, token, head=ended_reply.pk, ending="complete") as reader:
        assert "#title" in await reader.until("Dust")


async def test_readers_keep_no_reply_running(
    tab: Tab, reader: ReaderTab, ended_reply: Message, upstream: FakeUpstream
) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    reply = await tab.ask("And red?", **after(ended_reply))
    await reader.until("Half of")
    await tab.close(1001)
    request = upstream.requests[-1]
    await request.until_closed()
    await reader.until('data-ending="abandoned"')
    assert (await load_reply(reply)).ending == "abandoned"


async def test_a_chat_that_only_readers_show_is_marked_unread(
    tab: Tab, reader: ReaderTab, ended_reply: Message, upstream: FakeUpstream
) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    await tab.ask("And red?", **after(ended_reply))
    await reader.until("Half of")
    await tab.send(action="watch")  # Alice's tab shows a new chat
    pause.release()
    await tab.until(f"running-{ended_reply.conversation_id}")
    await reader.until('data-ending="complete"')
    await worker().until_saved()
    chat = await Conversation.objects.aget(pk=ended_reply.conversation_id)
    assert chat.is_unread


async def revoke(_ended_reply: Message, alice: User, _bob: User) -> None:
    link = await SharedChat.objects.select_related("conversation__user").aget()
    await database_sync_to_async(link.revoke)(alice)
    worker().shares_changed(link.conversation_id)


async def trash(ended_reply: Message, alice: User, _bob: User) -> None:
    await database_sync_to_async(
        Conversation.objects.filter(pk=ended_reply.conversation_id).trash
    )()
    worker().list_changed(alice.pk)


async def expire(_ended_reply: Message, _alice: User, _bob: User) -> None:
    await SharedChat.objects.aupdate(expires_at=timezone.now())
    worker().readers.check()


async def deactivate_reader(_ended_reply: Message, _alice: User, bob: User) -> None:
    await User.objects.filter(pk=bob.pk).aupdate(is_active=False)
    worker().recheck_access([bob.pk])


async def deactivate_author(_ended_reply: Message, alice: User, _bob: User) -> None:
    await User.objects.filter(pk=alice.pk).aupdate(is_active=False)
    worker().recheck_access([alice.pk])


async def renew(_ended_reply: Message, _alice: User, _bob: User) -> None:
    link = await SharedChat.objects.select_related("conversation__user").aget()
    await database_sync_to_async(link.renew)()
    worker().shares_changed(link.conversation_id)


async def test_an_open_tab_is_told_when_its_reader_leaves_the_group(
    ended_reply: Message, alice: User, bob: User, bobs: Client
) -> None:
    team = await Group.objects.acreate(name="team")
    await database_sync_to_async(team.user_set.add)(alice, bob)
    share = Share(ended_reply.conversation_id, Audience(groups=[team]))
    _, token = await database_sync_to_async(share.store)(alice)
    async with ReaderTab(bobs, token, head=ended_reply.pk, ending="complete") as reader:
        await wait_until_joined(reader)
        await database_sync_to_async(team.user_set.remove)(bob)
        worker().recheck_access([bob.pk])
        assert await reader.until_closed() == CloseCode.NOT_SHARED


async def share_publicly(author: User, ended_reply: Message) -> str:
    """Share the chat with everyone who has the link, whose token is returned."""
    await Installation.objects.aupdate_or_create(pk=1, defaults={"allows_public_links": True})
    share = Share(ended_reply.conversation_id, Audience(is_public=True))
    token: str
    _, token = await database_sync_to_async(share.store)(author)
    return token


async def test_people_who_are_not_signed_in_are_told_when_public_links_are_forbidden(
    tab: Tab, ended_reply: Message, alice: User, upstream: FakeUpstream
) -> None:
    token = await share_publicly(alice, ended_reply)
    async with ReaderTab(Client(), token, head=ended_reply.pk, ending="complete") as reader:
        await wait_until_joined(reader)
        await tab.ask("And red?", **after(ended_reply))
        await reader.until('data-ending="complete"')
        await Installation.objects.aupdate(allows_public_links=False)
        worker().recheck_access(None)
        assert await reader.until_closed() == CloseCode.NOT_SHARED


async def test_links_that_are_forbidden_past_the_form_close_at_the_next_check(
    ended_reply: Message, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "POLL_SECONDS", 0.01)
    token = await share_publicly(alice, ended_reply)
    async with ReaderTab(Client(), token, head=ended_reply.pk, ending="complete") as reader:
        await wait_until_joined(reader)
        checks = asyncio.create_task(worker().readers.run())
        await Installation.objects.aupdate(allows_public_links=False)
        assert await reader.until_closed() == CloseCode.NOT_SHARED
        checks.cancel()


@pytest.mark.parametrize(
    "end", [revoke, trash, expire, deactivate_reader, deactivate_author, renew]
)
async def test_an_open_tab_is_told_at_once_when_it_may_no_longer_read(
    reader: ReaderTab, ended_reply: Message, alice: User, bob: User, end: Any
) -> None:
    await end(ended_reply, alice, bob)
    assert await reader.until_closed() == CloseCode.NOT_SHARED


async def test_a_reader_who_sends_anything_is_closed(reader: ReaderTab) -> None:
    await reader.send(action="prompt", message="Mine")
    assert await reader.until_closed() == CloseCode.FLOOD


async def test_sockets_of_links_that_are_not_open_get_one_answer(
    ended_reply: Message, alice: User, bob: User, bobs: Client, olives: Client
) -> None:
    for client, token in ((olives, await share_reply(alice, ended_reply, bob)), (bobs, "unknown")):
        reader = ReaderTab(client, token)
        await reader.connect()
        assert await reader.until_closed() == CloseCode.NOT_SHARED


async def test_an_address_without_an_account_has_a_bounded_number_of_readers(
    ended_reply: Message, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "MAX_OF_NETWORK", 1)
    token = await share_publicly(alice, ended_reply)
    async with ReaderTab(Client(), token, address="192.0.2.1") as first:
        await wait_until_joined(first)
        second = ReaderTab(Client(), token, address="192.0.2.1")
        await second.connect()
        assert await second.until_closed() == CloseCode.TOO_MANY_TABS
        async with ReaderTab(Client(), token, address="192.0.2.2") as elsewhere:
            await wait_until_joined(elsewhere, 2)


async def test_a_page_of_another_site_gets_no_socket(
    ended_reply: Message, alice: User, bob: User, bobs: Client
) -> None:
    token = await share_reply(alice, ended_reply, bob)
    reader = ReaderTab(bobs, token, origin="http://evil.example")
    assert not await reader.connect()


async def test_deleted_messages_vanish_from_an_open_page(
    tab: Tab, reader: ReaderTab, ended_reply: Message
) -> None:
    await tab.send(
        action="delete", message=str(ended_reply.pk), conversation=str(ended_reply.conversation_id)
    )
    frame = await reader.until("innerHTML target:#messages")
    assert str(ended_reply.pk) not in frame


async def test_a_reader_who_leaves_while_the_first_one_joins_cuts_nobody_off(
    ended_reply: Message, alice: User, bobs: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await share_reply(alice, ended_reply)
    subscribing, is_subscribed = asyncio.Event(), asyncio.Event()

    async def subscribe(_: int) -> None:
        subscribing.set()
        await is_subscribed.wait()

    monkeypatch.setattr(worker().cluster.bus, "subscribe", subscribe)
    first, second = (
        ReaderTab(bobs, token, head=ended_reply.pk, ending="complete") for _ in range(2)
    )
    await first.connect()
    await subscribing.wait()
    await second.connect()
    await second.until("title")
    await second.close()
    is_subscribed.set()
    await first.until("title")
    await first.close()
    assert len(worker().readers) == 0
    assert not worker().viewers.showing(ended_reply.conversation_id).followers


async def test_many_readers_are_served_by_one_view(
    tab: Tab, ended_reply: Message, alice: User, bobs: Client, upstream: FakeUpstream
) -> None:
    token = await share_reply(alice, ended_reply)
    readers = [ReaderTab(bobs, token, head=ended_reply.pk, ending="complete") for _ in range(5)]
    for number, tab_of_reader in enumerate(readers):
        await tab_of_reader.connect()
        await wait_until_joined(tab_of_reader, number + 1)
    await tab.ask("And red?", **after(ended_reply))
    for tab_of_reader in readers:
        await tab_of_reader.until('data-ending="complete"')
        await tab_of_reader.close()
    assert len(worker().readers) == 0
    assert not worker().viewers.showing(ended_reply.conversation_id).followers
