"""One reply: first without a worker, then as its tab sees it."""

import asyncio
import time
from html import unescape

import pytest
from django.db import DatabaseError, OperationalError, transaction
from pytest_django import Settings

from chatapp.models import Conversation, Message, Upstream, Usage
from chatapp.realtime.generation import Generation, generation, retries
from chatapp.realtime.journal import Segment
from chatapp.upstream.wire.reply import Ending
from tests.realtime.generation.conftest import Desk
from tests.realtime.viewers.doubles import Recorder
from tests.support.fake_upstream import (
    Abort,
    Close,
    FakeUpstream,
    Pause,
    Stall,
    delta,
    done,
    error,
    finish,
    reasoning,
    role,
    usage,
)
from tests.support.stored import load_reply
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db


async def until_shown(viewer: Recorder, text: str) -> None:
    async with asyncio.timeout(10):
        while text not in "".join(viewer.frames):  # noqa: ASYNC110 - waits for frames
            await asyncio.sleep(0.001)


async def running(
    desk: Desk, upstream: FakeUpstream
) -> tuple[Generation, Recorder, asyncio.Task[None]]:
    """Start a reply and wait until the first half of its text is shown."""
    upstream.script(role(), delta("Half of it"), Stall())
    reply, viewer = await desk.generation()
    task = asyncio.create_task(reply.run())
    await until_shown(viewer, "Half of it")
    return reply, viewer, task


async def test_a_whole_reply_is_shown_and_saved(desk: Desk, upstream: FakeUpstream) -> None:
    upstream.script(role(), delta("All of it"), finish(), usage(3, 4), done())
    reply, viewer = await desk.generation()
    await reply.run()
    message = await load_reply(reply.message.pk)
    assert (message.ending, message.content) == ("complete", "All of it")
    assert message.usage.total_tokens == 7
    assert "All of it" in "".join(viewer.frames)
    assert 'data-ending="complete"' in viewer.frames[-1]


@pytest.mark.parametrize("ending", [Ending.STOPPED, Ending.INTERRUPTED])
async def test_stopping_a_reply_closes_the_upstream_and_keeps_its_text(
    desk: Desk, upstream: FakeUpstream, ending: Ending
) -> None:
    reply, _, task = await running(desk, upstream)
    reply.stop(ending)
    reply.stop(Ending.ABANDONED)  # only the first stop counts
    await task
    request = await upstream.until_requested()
    await request.until_closed()
    message = await load_reply(reply.message.pk)
    assert (message.ending, message.content) == (ending, "Half of it")
    reply.stop(ending)  # after the end, stop has no effect


async def test_a_reply_that_nobody_watches_is_abandoned(desk: Desk, upstream: FakeUpstream) -> None:
    reply, viewer, task = await running(desk, upstream)
    reply.audience.leave(viewer, 0.0)
    await task
    assert (await load_reply(reply.message.pk)).ending == "abandoned"


async def test_leaving_before_the_reply_starts_abandons_it_too(
    desk: Desk, upstream: FakeUpstream
) -> None:
    upstream.script(Stall())
    reply, viewer = await desk.generation()
    task = asyncio.create_task(reply.run())
    reply.audience.leave(viewer, 0.0)
    async with asyncio.timeout(10):
        await task
    assert (await load_reply(reply.message.pk)).ending == "abandoned"


async def test_leaving_after_the_end_changes_nothing(desk: Desk, upstream: FakeUpstream) -> None:
    reply, viewer = await desk.generation()
    await reply.run()
    reply.audience.leave(viewer, 0.0)
    await asyncio.sleep(0)
    assert (await load_reply(reply.message.pk)).ending == "complete"
    assert len(asyncio.all_tasks()) == 1


async def test_a_snapshot_holds_all_text_that_has_arrived(
    desk: Desk, upstream: FakeUpstream
) -> None:
    reply, _, task = await running(desk, upstream)
    await reply.flush()
    snapshot = reply.snapshot()
    assert "Half of it" in snapshot
    assert str(reply.message.pk) in snapshot
    reply.stop(Ending.STOPPED)
    await task


async def test_a_reply_with_new_text_becomes_due_for_a_checkpoint(
    desk: Desk, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply, _, task = await running(desk, upstream)
    assert not reply.is_due
    monkeypatch.setattr(generation, "CHECKPOINT_SECONDS", 0.0)
    assert reply.is_due
    reply.writer.update_message()
    assert not reply.is_due
    assert reply.message.content == "Half of it"
    reply.stop(Ending.STOPPED)
    await task


async def test_with_a_journal_a_checkpoint_is_due_after_five_seconds(
    desk: Desk, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply, _, task = await running(desk, upstream)
    now = time.monotonic()
    with monkeypatch.context() as patched:
        patched.setattr(Segment, "is_on", True)
        reply.saved_at = now - 4.0
        assert not reply.is_due
        reply.saved_at = now - 5.0
        assert reply.is_due
    reply.stop(Ending.STOPPED)
    await task


async def test_the_save_waits_for_the_database_and_says_so_once(
    desk: Desk, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried, save = [], Message.save_reply

    def fail_twice(self: Message, *of: object) -> None:
        tried.append(self)
        if len(tried) < 3:
            raise OperationalError("away")
        save(self, *of)  # type: ignore[arg-type]

    monkeypatch.setattr(generation, "SAVE_AGAIN_SECONDS", 0.001)
    monkeypatch.setattr(Message, "save_reply", fail_twice)
    reply, viewer = await desk.generation()
    await reply.run()
    assert (await load_reply(reply.message.pk)).ending == "complete"
    assert unescape("".join(viewer.frames)).count("The database isn't responding") == 1


@pytest.mark.parametrize("is_deleted", [True, False])
async def test_a_reply_that_can_never_be_saved_still_ends(
    desk: Desk,
    upstream: FakeUpstream,
    is_deleted: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    save = Message.save_reply

    def fail(self: Message, *of: object) -> None:
        with transaction.atomic():
            save(self, *of)  # type: ignore[arg-type]
            raise DatabaseError("a value is out of range")

    caplog.set_level("INFO")
    reply, viewer = await desk.generation()
    if is_deleted:
        await Conversation.objects.all().adelete()
    else:
        monkeypatch.setattr(Message, "save_reply", fail)
    await reply.run()
    assert 'data-ending="complete"' in viewer.frames[-1]
    line = "was deleted while it was streaming" if is_deleted else "could not be saved"
    assert line in caplog.text


async def test_an_internal_error_ends_the_reply_as_failed(
    desk: Desk, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail() -> None:
        raise ArithmeticError

    reply, _ = await desk.generation()
    monkeypatch.setattr(reply.writer, "write", fail)
    await reply.run()
    assert (await load_reply(reply.message.pk)).ending == "failed"


async def test_a_decision_without_a_tool_call_has_no_effect(
    desk: Desk, upstream: FakeUpstream
) -> None:
    pause = Pause()
    upstream.script(role(), delta("One"), pause, finish(), done())
    reply, viewer = await desk.generation()
    task = asyncio.create_task(reply.run())
    await until_shown(viewer, "One")
    reply.decide(0, 0, True)
    pause.release()
    await task
    assert (await load_reply(reply.message.pk)).ending == "complete"


# As its tab sees it


async def test_deltas_reach_the_tab_before_the_reply_ends(tab: Tab, upstream: FakeUpstream) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    await tab.ask()
    await tab.until("Half of")
    pause.release()
    await tab.until_ended()


@pytest.fixture
def impatient(settings: Settings) -> None:
    settings.CHATAPP_USAGE_SECONDS = 0.05


async def test_missing_usage_is_waited_for_as_long_as_configured(
    impatient: None, tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("All of it"), finish(), Stall())
    await tab.ask("Hello")
    async with asyncio.timeout(10):  # less than the default
        await tab.until_ended()
    message = await Message.objects.select_related("usage").aget(role="assistant")
    assert (message.ending, message.usage.provenance) == ("complete", "estimated")


async def test_reasoning_and_answer_have_regions_of_their_own(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), reasoning("Hm."), delta("Well."), finish(), done())
    await tab.ask()
    await tab.until_ended()
    frames = "".join(tab.frames)
    assert frames.index('data-region="reasoning"') < frames.index("Hm.")
    assert frames.index('data-region="answer"') < frames.index("Well.")
    assert "Thought for" in frames


async def test_markup_in_a_prompt_and_in_a_reply_is_shown_as_text(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("<script>alert(1)</script>"), finish(), done())
    await tab.ask("<img src=x onerror=alert(1)>")
    await tab.until_ended()
    frames = "".join(tab.frames)
    assert "<script" not in frames
    assert "<img" not in frames
    assert "&lt;script&gt;" in frames


@pytest.mark.parametrize(
    ("status", "headers", "sentence"),
    [
        (401, {}, "refused the key"),
        (429, {"retry-after": "80"}, "Try again in 80 s"),
        (500, {}, "server failed"),
        (404, {}, "does not know this model"),
    ],
)
async def test_an_upstream_error_is_shown_as_a_sentence(
    tab: Tab, upstream: FakeUpstream, status: int, headers: dict[str, str], sentence: str
) -> None:
    for _ in range(retries.TRIES):
        upstream.fail(status, {"error": {"message": "its own words <b>"}}, headers)
    reply = await tab.ask()
    frame = await tab.until_ended()
    assert sentence in frame
    assert "its own words &lt;b&gt;" in frame
    message = await load_reply(reply)
    assert message.ending == "failed"
    assert message.usage.provenance == Usage.Provenance.UNKNOWN


@pytest.mark.parametrize(
    ("steps", "ending"),
    [
        ([error(), done()], "failed"),
        ([Close()], "cut_off"),
        ([Abort()], "cut_off"),
        ([finish("length"), done()], "length"),
        ([finish("content_filter"), done()], "content_filter"),
    ],
)
async def test_text_that_arrived_is_kept_whatever_the_ending(
    tab: Tab, upstream: FakeUpstream, steps: list[bytes], ending: str
) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half of it"), pause, *steps)
    reply = await tab.ask()
    await tab.until("Half of it")
    pause.release()
    frame = await tab.until_ended()
    assert f'data-ending="{ending}"' in frame
    message = await load_reply(reply)
    assert (message.ending, message.content) == (ending, "Half of it")


async def test_an_unreachable_upstream_is_reported(tab: Tab, saved_upstream: Upstream) -> None:
    saved_upstream.base_url = "http://127.0.0.1:1/v1"
    await saved_upstream.asave()
    await tab.ask(model=f"{saved_upstream.pk}/any")
    assert "can't be reached" in unescape(await tab.until_ended())
