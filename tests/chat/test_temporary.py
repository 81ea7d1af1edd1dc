"""Temporary chats: in no list, deleted with their last tab, kept by a button."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient, Client
from pytest_django import Settings

from chatapp.models import Conversation, Installation, Message, Process, Upstream, Usage, User
from chatapp.models.conversations.chats import temporary as rows
from chatapp.realtime.worker import shut_down, temporaries, worker
from tests.support.fake_upstream import FakeUpstream, Stall, delta, done, finish, role
from tests.support.tab import WAIT_SECONDS, Tab

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
async def short_grace(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, saved_upstream: Upstream
) -> AsyncIterator[None]:
    """A very short grace period for closed tabs, and a long one for lost connections."""
    monkeypatch.setattr(temporaries, "MIN_SECONDS", 0.05)
    settings.CHATAPP_CLOSE_GRACE, settings.CHATAPP_DROP_GRACE = 0.0, 30.0
    yield
    await shut_down(0)


async def temporary_chat(tab: Tab, upstream: FakeUpstream) -> Conversation:
    """Return a temporary chat with its first reply."""
    upstream.script(role(), delta("Scattering."), finish(), done())
    await tab.ask(temporary="on")
    await tab.until_ended()
    await worker().until_saved()
    return await Conversation.objects.aget()


async def until_gone(conversation: UUID) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while await Conversation.objects.filter(pk=conversation).aexists():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    assert not await Message.objects.aexists()


async def test_a_temporary_chat_ends_with_its_tab_but_its_cost_is_kept(
    alices: Client, alice: User, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    await Installation(pk=1, title_upstream=saved_upstream, title_model="small").asave()
    async with Tab(alices) as tab:
        conversation = await temporary_chat(tab, upstream)
        assert (conversation.title, conversation.is_temporary) == ("Temporary chat", True)
        assert "#nav-" not in "".join(tab.frames)
    await until_gone(conversation.pk)
    booked = await Usage.objects.aget()
    assert (booked.user_id, booked.kind) == (alice.pk, "reply")
    assert len(upstream.chat_requests) == 1


async def test_a_temporary_chat_is_deleted_while_its_reply_is_running(
    alices: Client, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("Half of"), Stall())
    async with Tab(alices) as tab:
        await tab.ask(temporary="on")
        await tab.until("Half of")
        request = await upstream.until_requested()
    assert (await request.until_closed()).was_streaming
    await worker().until_saved()
    await until_gone(
        (await Conversation.objects.values_list("pk", flat=True).afirst()) or UUID(int=0)
    )
    assert await Usage.objects.acount() == 1


async def test_another_tab_of_the_same_person_keeps_the_chat(
    alices: Client, upstream: FakeUpstream
) -> None:
    async with Tab(alices) as tab:
        conversation = await temporary_chat(tab, upstream)
        head = await conversation.messages.alast()
        assert head
        async with Tab(alices, conversation=conversation.pk, head=head.pk) as other:
            async with asyncio.timeout(WAIT_SECONDS):
                while len(worker().temporaries.opened[conversation.pk]) < 2:  # noqa: ASYNC110 - nothing signals it
                    await asyncio.sleep(0.01)
            await tab.close()
            await asyncio.sleep(0.2)
            assert await Conversation.objects.aexists()
            await other.send(action="watch")  # it moves to another chat, and may return
            await asyncio.sleep(0.2)
            assert await Conversation.objects.aexists()
        await until_gone(conversation.pk)


async def test_a_lost_connection_gets_a_grace_period(
    alices: Client, upstream: FakeUpstream
) -> None:
    async with Tab(alices) as tab:
        conversation = await temporary_chat(tab, upstream)
        await tab.close(1006)
    await asyncio.sleep(0.2)
    assert await Conversation.objects.filter(pk=conversation.pk).aexists()


async def test_a_tab_in_another_process_keeps_the_chat(
    alices: Client, upstream: FakeUpstream
) -> None:
    async with Tab(alices) as tab:
        conversation = await temporary_chat(tab, upstream)
        there = await Process.objects.acreate(pid=1, place="there", is_alone=False)
        await sync_to_async(rows.add_hold)(conversation.pk, there.pk)
    await asyncio.sleep(0.2)
    await worker().temporaries.until_done()
    assert await Conversation.objects.filter(pk=conversation.pk).aexists()
    assert await sync_to_async(rows.release_hold)(conversation.pk, there.pk)


async def test_a_page_being_loaded_keeps_the_chat(
    alices: Client, alice: User, upstream: FakeUpstream, connections_close: None
) -> None:
    """A reload opens its socket after the old one was closed and its grace period is over."""
    browser = AsyncClient(headers={"host": "localhost"})
    await browser.aforce_login(alice)
    async with Tab(alices) as tab:
        conversation = await temporary_chat(tab, upstream)
        page = await browser.get(conversation.get_absolute_url())
        assert "data-temporary" in page.content.decode()
        await tab.close()
    await asyncio.sleep(0.2)
    head = await conversation.messages.alast()
    assert head
    async with Tab(alices, conversation=conversation.pk, head=head.pk, ending=head.ending):
        pass
    await until_gone(conversation.pk)


async def test_a_stopping_worker_leaves_the_chat_for_its_tabs_next_worker(
    alices: Client, upstream: FakeUpstream
) -> None:
    async with Tab(alices) as tab:
        conversation = await temporary_chat(tab, upstream)
        await shut_down(0)
    assert await Conversation.objects.filter(pk=conversation.pk).aexists()


async def test_the_chats_of_a_dead_worker_are_deleted_and_their_tabs_updated(
    alices: Client, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Tab(alices) as tab, Tab(alices) as other:
        conversation = await temporary_chat(tab, upstream)
        monkeypatch.setattr(worker().temporaries, "opened", {})
        await Conversation.objects.aupdate(updated_at="2026-01-01T00:00Z")
        await worker().temporaries.sweep()
        await until_gone(conversation.pk)
        await tab.until("was deleted")
        assert "was deleted" not in "".join(other.frames)


# Lists


async def test_a_temporary_chat_is_in_no_list(
    alices: Client, alice: User, olive: User, upstream: FakeUpstream, connections_close: None
) -> None:
    async with Tab(alices) as tab:
        conversation = await temporary_chat(tab, upstream)
        for person, path in (
            (alice, "/conversations/"),
            (alice, "/"),
            (olive, "/review/"),
        ):
            browser = AsyncClient(headers={"host": "localhost"})
            await browser.aforce_login(person)
            page = await browser.get(path)
            assert page.status_code == 200, path
            assert str(conversation.pk) not in page.content.decode(), path


# Keeping


def keep(client: Client, conversation: UUID) -> int:
    return client.post(f"/c/{conversation}/keep/", headers={"HX-Request": "true"}).status_code


async def test_a_kept_chat_stays_and_every_tab_is_updated(
    alices: Client, upstream: FakeUpstream
) -> None:
    async with Tab(alices) as tab:
        conversation = await temporary_chat(tab, upstream)
        assert await sync_to_async(keep)(alices, conversation.pk) == 204
        frame = await tab.until("#title[data-conversation=")
        assert "Why is the sky blue?" in frame
        assert "data-temporary" not in frame
    await asyncio.sleep(0.2)
    await worker().temporaries.until_done()
    kept_chat = await Conversation.objects.aget()
    assert (kept_chat.title, kept_chat.is_temporary) == ("Why is the sky blue?", False)


def test_bob_cannot_keep_alices_chat(alice: User, bobs: Client) -> None:
    hers = alice.conversations.create(title="Temporary chat", is_temporary=True)
    assert keep(bobs, hers.pk) == 404
    hers.refresh_from_db()
    assert hers.is_temporary
