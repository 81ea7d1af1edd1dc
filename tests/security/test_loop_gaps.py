"""No text from a model or a person delays everybody else.

The measure is the CPU time of the event loop's thread in one callback, so that a busy machine
changes nothing. The bound is far above what was measured (some 20 ms) and far below what a bomb
took before there were any budgets (seconds to minutes); `python -m bench bombs` measures the
milliseconds.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from django.test import Client

from bench.bombs import REPLIES, TEXTS
from chatapp.models import Conversation, Message, ThreadPage
from chatapp.realtime.generation.flush_rate import FlushRate
from chatapp.realtime.generation.frame_scheduler import FrameScheduler
from chatapp.realtime.viewers import Audience
from chatapp.rendering.fragments import LiveReply, ThreadParts, snapshot_fragment
from tests.support.counting import seconds_to_count, without_old_garbage
from tests.support.fake_upstream import FakeUpstream, choice, delta, done, finish, role
from tests.support.live import Site
from tests.support.page import Page
from tests.support.present import present
from tests.support.profile import sample_params
from tests.support.tab import Tab
from tests.support.visitor import visit

# The bound of one callback of the loop: the CPU time of counting this far. Before there were
# budgets it was up to 1,600 million. The benchmarks measure how short it is now (`python -m bench
# bombs`), on an otherwise idle machine.
MAX_LENGTH = 35_000_000
AT_ONCE = [
    "C# fence, 16 KB",
    "200 KB of formulas",
    "table with short rows",
    "definition bomb, 200 KB",
    "late definition",
    "deep quotes",
    "short blocks",
    "endless newlines in a list",
    "autolinks in one word",
]


@pytest.fixture
def longest(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The CPU time of the loop's longest callback so far."""
    took = [0.0]
    run = asyncio.Handle._run  # noqa: SLF001 - asyncio's debug mode also wraps just this

    def time_callback(handle: asyncio.Handle) -> None:
        began_at = time.thread_time()
        run(handle)
        took[0] = max(took[0], time.thread_time() - began_at)

    monkeypatch.setattr(asyncio.Handle, "_run", time_callback)
    with without_old_garbage():
        yield took


@pytest.mark.django_db
@pytest.mark.parametrize("name", sample_params(AT_ONCE, 2))
async def test_a_models_text_blocks_the_loop_only_for_moments(
    tab: Tab, upstream: FakeUpstream, longest: list[float], name: str
) -> None:
    text = TEXTS[name](0.5)
    deltas = [delta(text[start : start + 20_000]) for start in range(0, len(text), 20_000)]
    upstream.script(role(), *deltas, finish(), done())
    await tab.ask()
    await tab.until_ended()
    assert longest[0] < seconds_to_count(MAX_LENGTH)


@pytest.mark.django_db
@pytest.mark.parametrize("name", sample_params(AT_ONCE, 2))
async def test_a_persons_text_blocks_the_loop_only_for_moments(
    tab: Tab, longest: list[float], name: str
) -> None:
    await tab.ask(TEXTS[name](0.5)[:100_000])
    await tab.until_ended()
    assert longest[0] < seconds_to_count(MAX_LENGTH)


@pytest.mark.thorough
@pytest.mark.django_db
async def test_reasoning_found_in_an_answer_is_not_rendered_again(
    tab: Tab, upstream: FakeUpstream, longest: list[float]
) -> None:
    paragraph = "Let me *think*, step by step.\n\n" * 200
    upstream.script(role(), *[delta(paragraph)] * 100, delta("</think>So."), finish(), done())
    await tab.ask()
    await tab.until_ended()
    assert longest[0] < seconds_to_count(MAX_LENGTH)


@pytest.mark.django_db
async def test_a_long_thread_is_not_rendered_for_a_short_prompt(
    tab: Tab, alices: Client, longest: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight tabs on the same branch receive only the new turn."""
    await tab.ask(TEXTS["200 KB of formulas"](0.2))
    await tab.until_ended()
    conversation = await Conversation.objects.aget()
    head = present(await conversation.messages.alast())
    tabs = [
        Tab(alices, conversation=conversation.pk, head=head.pk, ending=head.ending)
        for _ in range(8)
    ]
    for each_tab in tabs:
        assert await each_tab.connect()
        await each_tab.send(
            action="watch", conversation=str(conversation.pk), head=str(head.pk), ending=head.ending
        )
    drawn: list[Message] = []
    draw = ThreadParts.of

    def count_draws(view: ThreadPage, *how: Any) -> ThreadParts:
        drawn.extend(view.thread)
        return draw(view, *how)

    monkeypatch.setattr(ThreadParts, "of", count_draws)
    longest[0] = 0.0
    await tab.ask("A prompt", conversation=str(conversation.pk), parent=str(head.pk))
    for each_tab in [tab, *tabs]:
        await each_tab.until_ended()
        assert not any("innerHTML target:#messages" in frame for frame in each_tab.frames[-3:])
    assert drawn == []
    assert longest[0] < seconds_to_count(MAX_LENGTH)
    for each_tab in tabs:
        await each_tab.close()


@pytest.mark.django_db
async def test_a_tab_on_another_branch_gets_the_new_one(tab: Tab, alices: Client) -> None:
    first = await tab.ask("One")
    await tab.until_ended()
    conversation = str((await Conversation.objects.aget()).pk)
    await tab.send(action="retry", reply=str(first))
    second = await tab.next_reply()
    await tab.until_ended()
    async with Tab(alices, conversation=conversation, head=first, ending="complete") as other:
        await other.ask("Two", conversation=conversation, parent=str(second))
        frame = await tab.until("Two")
        assert "innerHTML target:#messages" not in frame  # it shows that branch
        await other.until_ended()
        await tab.until_ended()
        # Now it moves to the other branch, as a person does by pressing an arrow.
        await tab.send(
            action="watch", conversation=conversation, head=str(first), ending="complete"
        )
        await tab.send(action="no such action")
        await tab.until("out of date")
        third = present(await Message.objects.filter(role="assistant").alast()).pk
        await other.ask("Three", conversation=conversation, parent=str(third))
        frame = await tab.until("Three")
        assert "innerHTML target:#messages" in frame


@pytest.mark.django_db
async def test_megabytes_of_arguments_are_shown_in_part_and_stored_whole(
    tab: Tab, upstream: FakeUpstream, longest: list[float]
) -> None:
    pieces = list(REPLIES["2 MB of arguments in tiny deltas"].deltas(0.05))
    upstream.script(role(), *[choice(piece) for piece in pieces], finish("length"), done())
    reply = await tab.ask()
    await tab.until_ended()
    assert sum(len(frame) for frame in tab.frames) < 100_000
    assert "more characters are saved but not shown here" in "".join(tab.frames)
    message = await Message.objects.aget(pk=reply)
    assert len(message.rounds[0].tool_runs[0].arguments) > 100_000
    assert longest[0] < seconds_to_count(MAX_LENGTH)


class Watching:
    """A tab that takes frames slowly, so that a later one could overtake."""

    write = None

    def __init__(self, html: str, turns: int) -> None:
        self.page = Page(html)
        self._turns = turns

    async def show(self, frame: str) -> None:
        for _ in range(self._turns):
            await asyncio.sleep(0)
        self.page.swap(frame)


async def test_no_frame_overtakes_another_on_the_way_to_a_tab() -> None:
    message = Message(role="assistant", ending=Message.STREAMING, model="m")
    live, showing = LiveReply(message), set[Watching]()
    flushes = FrameScheduler(live, Audience(showing), FlushRate())
    template = f'<div id="messages"><div id="reply-{message.pk}"></div></div>'
    tabs = []
    for number in range(6):
        tabs.append(Watching(template, number % 3))
        tabs[-1].page.swap(snapshot_fragment(live.view()))
        showing.add(tabs[-1])
    for number in range(40):
        live.append("answer", f"Some *words* {number}, and\n\n```python\nx = {number}\n```\n\n")
        flushes.soon(time.monotonic())
        await flushes.now()
    await flushes.last()
    whole = Page(template)
    whole.swap(snapshot_fragment(live.view()))
    assert "Some words 39, and" in whole.region("answer")
    for tab in tabs:
        assert tab.page.region("answer") == whole.region("answer")


async def test_the_loop_runs_while_a_frame_goes_to_thousands() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    class Busy:
        write = None

        async def show(self, frame: str) -> None:
            until = time.thread_time() + 0.0002
            while time.thread_time() < until:
                pass

    showing = {Busy() for _ in range(1000)}
    counting = asyncio.create_task(count())
    await Audience(showing).show("")
    counting.cancel()
    assert turns > 20


@pytest.mark.thorough
async def test_the_server_answers_others_while_it_renders_a_page(
    site: Site, upstream: FakeUpstream
) -> None:
    """Through the whole app: slow code of a page is highlighted in another process."""
    upstream.script(role(), delta(TEXTS["C# fence, 16 KB"](1)), finish(), done())
    person = site.person()
    with site.server(OPENAI_BASE_URL=upstream.base_url, OPENAI_API_KEY="k") as server:
        async with visit(server, person) as visitor:
            await visitor.send("Show me C#")
            await visitor.until_ended()
            path = visitor.path
        async with httpx.AsyncClient(
            base_url=server.url, cookies=person.cookies, trust_env=False
        ) as client:
            page = asyncio.create_task(client.get(path, timeout=60))
            answers = 0
            while not page.done():
                assert (await client.get("/healthz", timeout=60)).status_code == 200
                answers += 1
            assert 'class="language-csharp"' in page.result().text
    assert answers >= 5
