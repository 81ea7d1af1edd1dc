"""A summary shows in the tabs of all workers, and each of them can cancel it."""

import asyncio
from collections.abc import Callable

import pytest
from channels.db import database_sync_to_async

from chatapp.models import ContextCut, Conversation, ModelChoice, Refused, Summarise, Usage
from chatapp.realtime.cluster.messages import SummaryEnded
from chatapp.realtime.summarising import reports
from chatapp.realtime.worker import revocation
from chatapp.realtime.worker.tasks import Tasks
from tests.realtime.worker.conftest import Company, Reader
from tests.support.fake_upstream import (
    Abort,
    FakeUpstream,
    Pause,
    Request,
    Stall,
    answer,
    delta,
    role,
)
from tests.support.stored import store_turn

WAIT = 60
WRITING = "is writing a summary"
ENDED = "#summary-progress"


class Summary:
    """A chat of Alice's that the first of two workers summarises."""

    def __init__(self, company: Company, upstream: FakeUpstream, conversation: Conversation):
        self.company = company
        self.conversation = conversation.pk
        self.writer, self.other = company.workers
        self._upstream = upstream

    async def begin(self, **more: bool) -> tuple[Reader, Reader, Request]:
        """Return the tab that asked for it, one on the other worker, and the request."""
        tabs = [
            await self.company.open(worker, self.conversation) for worker in self.company.workers
        ]
        alice, model = self.company.alice, ModelChoice(self.company.upstream.pk, "m")
        summarise = Summarise(self.conversation, model, **more)  # type: ignore[arg-type]
        planned = await database_sync_to_async(summarise.begin)(alice, self.writer.id)
        self.writer.summaries.start(planned, alice, tabs[0], self.show_stored)
        return tabs[0], tabs[1], await self._upstream.until_requested()

    async def show_stored(self, _: Conversation) -> str:
        self.writer.thread_changed(self.company.alice.pk, self.conversation)
        return ""

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(WAIT):
            while not condition():
                await self.company.deliver()
                await asyncio.sleep(0.005)

    async def until_written(self) -> None:
        await self.writer.summaries.until_written()
        await self.company.deliver()

    async def load_usage(self) -> Usage:
        return await Usage.objects.aget(kind=Usage.Kind.SUMMARY)


@pytest.fixture
async def summary(company: Company, upstream: FakeUpstream) -> Summary:
    conversation = await company.alice.conversations.acreate(title="Long")

    def talk() -> None:
        last = None
        for number in range(3):
            _, last = store_turn(conversation, company.upstream, f"{number}", last)

    await database_sync_to_async(talk)()
    return Summary(company, upstream, conversation)


def last_frame(tab: Reader) -> str:
    """Return the last frame about a summary."""
    return [frame for frame in tab.frames if ENDED in frame][-1]


async def test_tabs_of_both_workers_see_a_summary_being_written_and_stored(
    summary: Summary, upstream: FakeUpstream
) -> None:
    pause = Pause()
    upstream.script(role(), delta("We spoke about"), pause, *answer(" larks")[1:])
    asker, other, _ = await summary.begin()
    await summary.until(
        lambda: "(3 words)" in asker.frames_text and "(3 words)" in other.frames_text
    )
    late = await summary.company.open(summary.other, summary.conversation)
    await summary.until(lambda: WRITING in late.frames_text)  # the next report
    assert WRITING in summary.other.summaries.reports.render_progress(summary.conversation)
    pause.release()
    await summary.until_written()
    await summary.until(lambda: all(tab.redrawn for tab in (asker, other, late)))
    for tab in (asker, other, late):
        assert WRITING not in last_frame(tab)
        assert 'id="problem"' not in last_frame(tab)
    assert not summary.other.summaries.reports.render_progress(summary.conversation)
    assert await ContextCut.objects.aexists()


async def test_a_tab_of_another_worker_cancels_a_summary(
    summary: Summary, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("We spoke"), Stall())
    asker, other, request = await summary.begin()
    await summary.until(lambda: WRITING in other.frames_text)
    alice = summary.company.alice.pk
    summary.other.summaries.stop(alice + 1, summary.conversation)
    await summary.company.deliver()
    assert len(summary.writer.summaries) == 1  # somebody else's command
    summary.other.summaries.stop(alice, summary.conversation)
    await summary.company.deliver()
    await request.until_closed()
    await summary.until_written()
    for tab in (asker, other):
        assert WRITING not in last_frame(tab)
        assert 'id="problem"' not in last_frame(tab)
    assert not await ContextCut.objects.aexists()
    assert (await summary.load_usage()).provenance == "estimated"


async def test_another_worker_begins_no_second_summary_meanwhile(
    summary: Summary, upstream: FakeUpstream
) -> None:
    upstream.script(role(), Stall())
    _, other, _ = await summary.begin()
    await summary.until(lambda: WRITING in other.frames_text)
    for worker in summary.company.workers:
        with (
            pytest.raises(Refused, match="written already"),
            worker.summaries.beginning(summary.company.alice.pk),
        ):
            raise AssertionError
    with summary.other.summaries.beginning(summary.company.alice.pk + 1):
        pass


async def test_all_tabs_are_told_that_the_upstream_failed_in_the_middle(
    summary: Summary, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("We spoke"), Abort())
    asker, other, _ = await summary.begin()
    await summary.until_written()
    for tab in (asker, other):
        assert "Nothing was left out" in last_frame(tab)
    assert not await ContextCut.objects.aexists()
    assert (await summary.load_usage()).provenance == "estimated"


@pytest.mark.parametrize("is_lost", [True, False])
async def test_tabs_are_told_if_nothing_is_heard_of_a_summary_any_more(
    summary: Summary, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch, is_lost: bool
) -> None:
    """Its process was killed, or the message that it has ended was lost."""
    monkeypatch.setattr(reports, "SILENCE_SECONDS", 0.05)
    pause = Pause()
    upstream.script(role(), delta("We"), pause, *answer(" spoke")[1:])
    _, other, _ = await summary.begin()
    await summary.until(lambda: WRITING in other.frames_text)
    if is_lost:
        pause.release()
        await summary.writer.summaries.until_written()
        summary.company.network.lose(SummaryEnded)
        await summary.company.deliver()
    async with asyncio.timeout(WAIT):
        while "reached any more" not in last_frame(other):  # noqa: ASYNC110 - time passes
            await asyncio.sleep(0.005)
    assert other.redrawn[-1:] == [summary.conversation]
    pause.release()
    await summary.until_written()


async def test_a_returning_tab_is_told_of_a_summary_that_its_server_never_finished(
    summary: Summary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "SILENCE_SECONDS", 0.05)
    tab = await summary.company.open(summary.other, summary.conversation)
    summary.other.summaries.reports.expect(summary.conversation)
    async with asyncio.timeout(WAIT):
        while "reached any more" not in tab.frames_text:  # noqa: ASYNC110 - time passes
            await asyncio.sleep(0.005)


async def test_a_summary_is_cancelled_with_its_conversation(
    summary: Summary, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("We spoke"), Stall())
    _, _, request = await summary.begin()
    conversation = await Conversation.objects.aget(pk=summary.conversation)
    await database_sync_to_async(conversation.erase)()
    summary.other.conversation_changed(summary.company.alice.pk, summary.conversation)
    await summary.until(lambda: not summary.writer.summaries)
    await request.until_closed()
    booked = await summary.load_usage()
    assert (booked.conversation, booked.user_id) == (
        summary.conversation,
        summary.company.alice.pk,
    )


async def test_a_summary_of_somebody_who_is_erased_is_cancelled_and_booked_for_nobody(
    summary: Summary, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("We spoke"), Stall())
    _, _, request = await summary.begin()
    await database_sync_to_async(summary.company.alice.delete)()
    summary.writer.recheck_access(None)
    await summary.until(lambda: not summary.writer.summaries)
    await request.until_closed()
    assert (await summary.load_usage()).user_id is None


async def test_a_summary_ends_with_the_session_that_asked_for_it(
    summary: Summary, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revocation, "SETTLE_SECONDS", 0.01)
    upstream.script(role(), delta("We spoke"), Stall())
    _, other, request = await summary.begin()
    await summary.until(lambda: WRITING in other.frames_text)
    summary.writer.recheck_access([summary.company.alice.pk])  # no session has this key
    await summary.until(lambda: not summary.writer.summaries)
    await request.until_closed()
    await summary.company.deliver()
    assert "signed out" in last_frame(other)


@pytest.mark.parametrize("seconds", [0.0, 60.0])
async def test_a_draining_worker_gives_a_summary_time_and_says_if_it_is_not_finished(
    summary: Summary, upstream: FakeUpstream, seconds: float
) -> None:
    pause = Pause()
    upstream.script(role(), delta("We"), pause, *answer(" spoke")[1:])
    asker, other, _ = await summary.begin()
    await summary.until(lambda: WRITING in other.frames_text)
    draining = asyncio.create_task(summary.writer.draining.run(seconds, Tasks(), alone=False))
    if seconds:
        await asyncio.sleep(0)
        pause.release()
    await draining
    await summary.company.deliver()
    for tab in (asker, other):
        assert ("was restarted" in last_frame(tab)) is not bool(seconds)
    assert await ContextCut.objects.aexists() is bool(seconds)
