"""Renaming or deleting a conversation shows in every tab and ends replies running in it."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.db import OperationalError

from chatapp.models import ChatSettings, Conversation, Preset, ReviewPolicy
from chatapp.realtime.cluster import HeartbeatReport
from chatapp.realtime.cluster.messages import ConversationChanged
from chatapp.realtime.worker import changes
from tests.realtime.viewers.doubles import Recorder
from tests.realtime.worker.conftest import Company, Reader
from tests.support.fake_upstream import FakeUpstream, Stall, delta, role

WAIT = 10


async def until(company: Company, condition: Callable[[], object]) -> None:
    async with asyncio.timeout(WAIT):
        while not condition():
            await company.deliver()
            await asyncio.sleep(0.005)


async def create_conversation(company: Company, title: str = "Sky") -> Conversation:
    return await company.alice.conversations.acreate(title=title)


async def erase(conversation: Conversation) -> None:
    await database_sync_to_async(conversation.erase)()


async def test_a_new_title_shows_in_all_tabs(company: Company) -> None:
    conversation = await create_conversation(company)
    showing = [await company.open(worker, conversation.pk) for worker in company.workers]
    beside = await company.open(company.workers[1], uuid4())
    await database_sync_to_async(conversation.rename)("A <b> & c")
    company.workers[0].conversation_changed(company.alice.pk, conversation.pk)
    await until(company, lambda: all("#title" in reader.frames_text for reader in showing))
    for reader in (*showing, beside):
        assert f"nav-{conversation.pk}" in reader.frames_text
        assert "A &lt;b&gt; &amp; c" in reader.frames_text
        assert "<b>" not in reader.frames_text
    # A tab about to show the conversation applies this title once it does.
    assert f"#title[data-conversation='{conversation.pk}']" in beside.frames_text


async def test_another_preset_shows_in_all_tabs(company: Company) -> None:
    conversation = await create_conversation(company)
    settings = ChatSettings(conversation=conversation)
    preset = await database_sync_to_async(Preset.start)(company.alice, name="The <b>poet</b>")
    settings.preset_version = await database_sync_to_async(lambda: preset.newest)()
    await database_sync_to_async(settings.store)()
    showing = [await company.open(worker, conversation.pk) for worker in company.workers]
    company.workers[0].conversation_changed(company.alice.pk, conversation.pk)
    chip = f"#preset-chip[data-conversation='{conversation.pk}']"
    await until(company, lambda: all(chip in reader.frames_text for reader in showing))
    assert all("The &lt;b&gt;poet&lt;/b&gt;" in reader.frames_text for reader in showing)


async def test_deleting_a_conversation_shows_a_new_chat_and_removes_the_row(
    company: Company,
) -> None:
    conversation = await create_conversation(company)
    pk = conversation.pk
    showing = [await company.open(worker, pk) for worker in company.workers]
    beside = await company.open(company.workers[1], uuid4())
    await erase(conversation)
    company.workers[0].conversation_changed(company.alice.pk, pk)
    row = f"delete target:#nav-{pk}"
    await until(company, lambda: all(row in watcher.frames_text for watcher in (*showing, beside)))
    assert all(f'data-gone="{pk}"' in reader.frames_text for reader in showing)
    assert "data-gone" not in beside.frames_text
    assert not any(worker.viewers.showing(pk) for worker in company.workers)


async def test_other_people_see_no_change(company: Company) -> None:
    conversation = await create_conversation(company)
    pk = conversation.pk
    bobs = Recorder(company.alice.pk + 1)
    await company.workers[0].welcome(bobs)
    for change in (lambda: conversation.rename("Mine"), conversation.erase):
        await database_sync_to_async(change)()
        await company.workers[0].changes.refresh_conversation(company.alice.pk, pk)
    assert bobs.frames == []


@pytest.mark.parametrize("receiver", [0, 1])
async def test_deleting_a_conversation_closes_its_reply_in_any_worker(
    company: Company, upstream: FakeUpstream, receiver: int
) -> None:
    upstream.script(role(), delta("Half"), Stall())
    reply, asker = await company.begin(company.workers[0])
    request = await upstream.until_requested()
    await company.open(company.workers[1], reply.conversation_id)
    await until(company, lambda: "Half" in asker.frames_text)
    await erase(reply.conversation)
    company.workers[receiver].conversation_changed(company.alice.pk, reply.conversation_id)
    await until(company, lambda: not len(company.workers[0].replies))
    assert (await request.until_closed()).was_streaming
    assert 'data-ending="abandoned"' not in asker.frames_text  # it shows a new chat by then
    assert not await Conversation.objects.aexists()


async def test_a_deletion_without_an_event_is_found_in_the_database(
    company: Company, upstream: FakeUpstream
) -> None:
    worker = company.workers[0]
    upstream.script(role(), delta("Half"), Stall())
    reply, asker = await company.begin(worker)
    await until(company, lambda: "Half" in asker.frames_text)
    await erase(reply.conversation)
    await worker.dispatcher.apply_report(HeartbeatReport(frozenset()))
    assert len(worker.replies)
    await worker.dispatcher.apply_report(HeartbeatReport(frozenset()))
    await until(company, lambda: not len(worker.replies))


async def test_a_reply_wrongly_presumed_lost_keeps_running(
    company: Company, upstream: FakeUpstream
) -> None:
    worker = company.workers[0]
    upstream.script(role(), delta("Half"), Stall())
    reply, _ = await company.begin(worker)
    await worker.changes.end_deleted(worker.replies.find_unstored(frozenset()) | {reply.pk})
    assert worker.replies.for_conversation(reply.conversation_id)


async def test_a_database_outage_does_not_end_the_worker(
    company: Company, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(_: object) -> Callable[..., Awaitable[None]]:
        async def fail(*_: object) -> None:
            raise OperationalError("away")

        return fail

    monkeypatch.setattr(changes, "database_sync_to_async", away)
    await company.workers[0].dispatcher.act(ConversationChanged(1, uuid4()))
    await until(company, lambda: "do not show a change yet: away" in caplog.text)


async def test_a_new_policy_shows_on_new_chat_pages_only(company: Company) -> None:
    conversation = await create_conversation(company)
    new = [Reader(company.alice, worker) for worker in company.workers]
    for worker, reader in zip(company.workers, new, strict=True):
        await worker.welcome(reader)
    existing_tab = await company.open(company.workers[1], conversation.pk)
    await ReviewPolicy.objects.acreate(scope="flagged")
    company.workers[0].policy_changed()
    note = "#policy-note[data-conversation='']"
    await until(company, lambda: all(note in reader.frames_text for reader in new))
    assert all("data-flags-open" in reader.frames_text for reader in new)
    assert "policy-note" not in existing_tab.frames_text


async def test_the_new_chat_after_a_deletion_shows_the_current_policy(company: Company) -> None:
    conversation = await create_conversation(company)
    showing = await company.open(company.workers[0], conversation.pk)
    await ReviewPolicy.objects.acreate(scope="nothing")
    pk = conversation.pk
    await erase(conversation)
    company.workers[0].conversation_changed(company.alice.pk, pk)
    await until(company, lambda: "Nobody reviews this chat." in showing.frames_text)


async def test_all_tabs_of_the_person_reload_a_changed_list(company: Company) -> None:
    tabs = [await company.open(worker, uuid4()) for worker in company.workers]
    bobs = Recorder(company.alice.pk + 1)
    await company.workers[0].welcome(bobs)
    company.workers[0].list_changed(company.alice.pk)
    await until(company, lambda: all("#list-state" in tab.frames_text for tab in tabs))
    assert bobs.frames == []


async def test_trashing_a_conversation_removes_it_from_tabs_that_show_it(
    company: Company,
) -> None:
    conversation, other = (
        await create_conversation(company),
        await create_conversation(company, "Other"),
    )
    showing = [await company.open(worker, conversation.pk) for worker in company.workers]
    beside = await company.open(company.workers[1], other.pk)
    await database_sync_to_async(Conversation.objects.filter(pk=conversation.pk).trash)()
    company.workers[0].list_changed(company.alice.pk)
    gone = f'data-gone="{conversation.pk}"'
    await until(company, lambda: all(gone in watcher.frames_text for watcher in showing))
    await until(company, lambda: "#list-state" in beside.frames_text)
    assert "data-gone" not in beside.frames_text


async def test_a_conversation_shown_by_another_workers_tab_is_marked_read(company: Company) -> None:
    conversation = await create_conversation(company)
    await company.open(company.workers[0], uuid4())
    await company.open(company.workers[1], conversation.pk)
    await database_sync_to_async(conversation.mark_unread)()
    company.workers[0].list_changed(company.alice.pk)
    async with asyncio.timeout(WAIT):
        while await Conversation.objects.filter(is_unread=True).aexists():
            await company.deliver()
            await asyncio.sleep(0.005)
