"""Handling of events from other workers and of heartbeat reports."""

import asyncio
from uuid import UUID, uuid4

import pytest
from channels.db import database_sync_to_async

from chatapp.close_codes import CloseCode
from chatapp.models import Conversation, Message, Upstream, Usage, User
from chatapp.realtime.cluster import HeartbeatReport, StreamingReply, messages
from chatapp.realtime.cluster.messages import Decide, Gone, PeopleChanged, Stop, TurnBegan, Watch
from chatapp.realtime.journal import CompletedReply
from chatapp.realtime.worker import Worker, worker
from chatapp.upstream.wire.reply import Ending
from tests.realtime.viewers.doubles import Recorder
from tests.realtime.worker.conftest import Company, Reader, load_ending
from tests.support.fake_upstream import FakeUpstream, Pause, Stall, delta, done, finish, role
from tests.support.stored import load_reply
from tests.support.tab import Tab

WAIT = 10


async def wait_for_text(company: Company, reader: Reader, text: str) -> None:
    async with asyncio.timeout(WAIT):
        while text not in reader.frames_text:
            await company.deliver()
            await asyncio.sleep(0.001)


def on_their_way(company: Company, to: Worker) -> list[messages.Message]:
    return [posted.message for posted in company.network.on_their_way if posted.to == to.id]


async def test_a_reply_can_be_watched_in_another_worker_to_its_end(
    company: Company, upstream: FakeUpstream
) -> None:
    first, second = company.workers
    pause = Pause()
    upstream.script(role(), delta("One "), pause, delta("two"), finish(), done())
    reply, _ = await company.begin(first)
    reader = await company.open(second, reply.conversation_id)
    await wait_for_text(company, reader, "One")
    pause.release()
    await wait_for_text(company, reader, "two")
    await first.until_saved()
    await company.deliver()
    assert 'data-ending="complete"' in reader.frames_text
    assert second.cluster.remotes.for_viewer(reader, reply.conversation_id) == []


async def test_closing_the_last_tab_in_another_worker_ends_the_reply(
    company: Company, upstream: FakeUpstream
) -> None:
    first, second = company.workers
    upstream.script(role(), delta("One "), Stall())
    reply, asker = await company.begin(first)
    reader = await company.open(second, reply.conversation_id)
    await wait_for_text(company, reader, "One")
    first.leave(asker, 0.0)
    request = await upstream.until_requested()
    assert request.closed is None
    second.leave(reader, 0.0)
    await company.deliver()
    await request.until_closed()
    await first.until_saved()
    assert await load_ending(reply) == "abandoned"


async def test_stop_pressed_in_another_worker_ends_the_reply(
    company: Company, upstream: FakeUpstream
) -> None:
    first, second = company.workers
    upstream.script(role(), delta("One "), Stall())
    reply, _ = await company.begin(first)
    reader = await company.open(second, reply.conversation_id)
    await wait_for_text(company, reader, "One")
    [remote] = second.cluster.remotes.for_viewer(reader, reply.conversation_id)
    remote.stop(Ending.STOPPED)
    await company.deliver()
    await first.until_saved()
    assert await load_ending(reply) == "stopped"


async def test_each_of_several_replies_can_be_watched_and_stopped_from_another_worker(
    company: Company, upstream: FakeUpstream
) -> None:
    first, second = company.workers
    for _ in range(2):
        upstream.script(role(), delta("One "), Stall())
    replies, _ = await company.begin_several(first, "m", "n")
    conversation = replies[0].conversation_id
    reader = await company.open(second, conversation)
    for reply in replies:
        await wait_for_text(company, reader, f"ans{reply.pk.hex[:8]}")
    remotes = second.cluster.remotes.for_viewer(reader, conversation)
    assert {remote.reply for remote in remotes} == {reply.pk for reply in replies}
    [stopped] = [remote for remote in remotes if remote.reply == replies[1].pk]
    stopped.stop(Ending.STOPPED)
    await wait_for_text(company, reader, 'data-ending="stopped"')
    assert await load_ending(replies[0]) == "streaming"
    assert first.replies.for_conversation(conversation) == [first.replies.get(replies[0].pk)]
    second.leave(reader, 0.0)
    for viewer in list(first.viewers):
        first.leave(viewer, 0.0)
    await company.deliver()
    await first.until_saved()
    assert [await load_ending(reply) for reply in replies] == ["abandoned", "stopped"]


async def test_a_turn_with_several_replies_is_announced_once(
    company: Company, upstream: FakeUpstream
) -> None:
    first, second = company.workers
    for _ in range(2):
        upstream.script(role(), delta("One "), Stall())
    await second.welcome(Reader(company.alice, second))
    await company.begin_several(first, "m", "n")
    announced = [
        posted for posted in on_their_way(company, second) if isinstance(posted, messages.TurnBegan)
    ]
    assert len(announced) == 1


async def test_commands_to_a_reply_that_is_not_running_do_nothing(company: Company) -> None:
    dispatcher = company.workers[0].dispatcher
    await dispatcher.act(Stop(uuid4(), uuid4(), Ending.STOPPED))
    await dispatcher.act(Decide(uuid4(), uuid4(), 0, 0, True))


async def test_watching_a_reply_that_is_not_running_is_answered_with_gone(company: Company) -> None:
    first, second = company.workers
    reply = uuid4()
    second.cluster.bus.post(first.id, Watch(reply, uuid4()))
    async for event in first.cluster.events():
        await first.dispatcher.act(event)
    assert on_their_way(company, second) == [Gone(reply)]


async def test_a_deactivated_persons_tabs_are_closed_in_every_worker(company: Company) -> None:
    first = company.workers[0]
    readers = [await company.open(worker, uuid4()) for worker in company.workers]
    company.alice.is_active = False
    await company.alice.asave()
    first.recheck_access([company.alice.pk])
    async with asyncio.timeout(WAIT):
        while not all(reader.closed for reader in readers):
            await company.deliver()
            await asyncio.sleep(0.01)
    assert [reader.closed for reader in readers] == [CloseCode.DEACTIVATED] * 2


async def test_a_reply_in_another_worker_is_found_in_the_database_without_an_event(
    company: Company, upstream: FakeUpstream
) -> None:
    first, second = company.workers
    upstream.script(role(), delta("One "), Stall())
    reply, _ = await company.begin(first)
    reader = Reader(company.alice, second)
    await second.welcome(reader)
    second.show(reader, reply.conversation_id)
    company.network.lose()
    streaming = StreamingReply(reply.conversation_id, reply.pk, first.id)
    seen = HeartbeatReport(frozenset(), frozenset({first.id, second.id}), (streaming,))
    for each in company.workers:
        await each.dispatcher.apply_report(seen)
    await wait_for_text(company, reader, "One")


async def test_a_reply_completed_from_a_journal_is_announced_to_all_tabs(company: Company) -> None:
    first, second = company.workers
    conversation = uuid4()
    readers = [await company.open(worker, conversation) for worker in company.workers]
    completed = CompletedReply(company.alice.pk, conversation)
    await first.dispatcher.apply_report(HeartbeatReport(frozenset(), completed=(completed,)))
    assert on_their_way(company, second) == [TurnBegan(conversation)]
    async with asyncio.timeout(WAIT):
        while [len(reader.caught_up) for reader in readers] != [2, 2]:
            await company.deliver()
            await asyncio.sleep(0.001)


async def test_a_reply_that_never_started_is_interrupted_at_the_second_report(
    company: Company,
) -> None:
    [worker, _] = company.workers
    reply = await company.ask(worker)
    reader = await company.open(worker, reply.conversation_id)
    seen = HeartbeatReport(frozenset({reply.pk}))
    await worker.dispatcher.apply_report(seen)
    assert await load_ending(reply) == "streaming"
    await worker.dispatcher.apply_report(seen)
    async with asyncio.timeout(WAIT):
        while len(reader.caught_up) < 2:  # noqa: ASYNC110 - in a thread
            await asyncio.sleep(0.01)
    assert await load_ending(reply) == "interrupted"


async def test_an_event_that_fails_does_not_block_the_next(
    company: Company, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    worker = company.workers[0]

    def fail(_: object) -> None:
        raise ArithmeticError

    reader, conversation, outside = Recorder(), uuid4(), company.network.bus()
    worker.viewers.add(reader)
    worker.viewers.show(reader, conversation)
    monkeypatch.setattr(worker.revocation, "recheck_access", fail)
    outside.post_to_all(PeopleChanged(None))
    outside.post(worker.id, TurnBegan(conversation))
    await worker.dispatcher.act_on_events()
    await asyncio.sleep(0)
    assert "Could not handle an event: PeopleChanged" in caplog.text
    assert reader.caught_up == [conversation]
    worker.viewers.remove(reader)


async def test_heartbeat_reports_are_handled_until_they_end(company: Company) -> None:
    await company.workers[0].dispatcher.apply_reports(company.hearts[0])


async def test_a_lost_reply_is_interrupted(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream, alice: User
) -> None:
    upstream.script(role(), delta("Hello"), Stall())
    running = await load_reply(await tab.ask())
    async with asyncio.timeout(5):
        while worker().replies.is_taking_prompts:  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.01)
    forgotten = await database_sync_to_async(store_unstarted_reply)(alice, saved_upstream)
    own = HeartbeatReport(frozenset([running.pk, forgotten]))
    await worker().dispatcher.apply_report(own)  # the reply may just be starting
    assert (await saved_ending(forgotten)) == "streaming"
    await worker().dispatcher.apply_report(own)
    async with asyncio.timeout(5):
        while await saved_ending(forgotten) != "interrupted":  # noqa: ASYNC110 - in a thread
            await asyncio.sleep(0.01)
    usage = await Usage.objects.aget(message=forgotten)
    assert (usage.provenance, usage.completion_tokens) == ("estimated", 0)
    assert await saved_ending(running.pk) == "streaming"


def store_unstarted_reply(user: User, upstream: Upstream) -> UUID:
    """Store a reply as streaming in this process without starting it."""
    conversation = Conversation(user=user, title="Forgotten")
    _, reply = conversation.ask(uuid4(), "Why?", None, upstream, "m", worker().id)
    return reply.pk


async def saved_ending(reply: UUID) -> str:
    return await Message.objects.values_list("ending", flat=True).aget(pk=reply)


async def test_deleted_or_restored_messages_are_redrawn_in_all_tabs(company: Company) -> None:
    conversation = uuid4()
    readers = [await company.open(worker, conversation) for worker in company.workers]
    company.workers[0].thread_changed(company.alice.pk, conversation)
    async with asyncio.timeout(WAIT):
        while [reader.redrawn for reader in readers] != [[conversation], [conversation]]:
            await company.deliver()
            await asyncio.sleep(0.001)
