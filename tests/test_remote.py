"""A reply's frames on their way to another process, whatever the layer does to them."""

import asyncio
from collections import deque
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatapp.frames import LiveReply, snapshot_frame, thread_html
from chatapp.generation.audience import Audience
from chatapp.generation.mail import Letter
from chatapp.generation.remote import SILENT, Follower, RemoteReply
from chatapp.generation.tabs import Tabs
from chatapp.models import Message
from chatapp.rendering import rendered
from chatapp.upstream.reply import Ending
from tests.page import Page

WORDS = ["Rayleigh ", "scattering ", "makes ", "it.\n\n", "**blue** ", "`sky` "]


class Layer:
    """Stands in for a process's mail: keeps letters until the test lets them through."""

    answers = True

    def __init__(self) -> None:
        self.letters: deque[Letter] = deque()

    def post(self, _process: object, *letter: object) -> None:
        self.letters.append(letter)


class Tab:
    user_id = 1
    session_key = ""

    def __init__(self, html: str) -> None:
        self.page = Page(html)

    async def show(self, frame: str) -> None:
        self.page.swap(frame)

    async def catch_up(self, conversation: object) -> None: ...

    async def close(self, code: int) -> None: ...


class Pair:
    """A reply, its owner, and another process with tabs of it, with a layer between them."""

    def __init__(self) -> None:
        self.text = ""
        self.message = Message(role="assistant", ending=Message.STREAMING, model="m")
        self.live = LiveReply(self.message)
        self.there = Layer()  # from the owner
        self.back = Layer()  # to the owner
        self.is_abandoned = False
        self.audience = Audience(Tabs().showing(uuid4()), self._abandon)
        self.follower = Follower(uuid4(), self.message.pk, self.audience, self.there)
        self.tabs = Tabs()
        self.conversation = uuid4()
        showing = self.tabs.showing(self.conversation)
        self.remote = RemoteReply(self.message.pk, self.conversation, uuid4(), showing, self.back)

    def open_tab(self) -> Tab:
        message = Message(id=self.message.pk, role="assistant", ending="streaming")
        tab = Tab(f'<div id="messages">{thread_html([message], rendered([]))}</div>')
        self.tabs.add(tab)
        self.tabs.show(tab, self.conversation)
        self.remote.join(tab)
        return tab

    async def write(self, word: str) -> None:
        self.text += word
        self.live.append("answer", word)
        await self._flush()

    async def take_back(self) -> None:
        """The owner reads what was asked of it."""
        while self.back.letters:
            kind, *_ = self.back.letters.popleft()
            if kind == "watch":
                self.audience.follow(self.follower)
                await self._flush()
                self.follower.post_snapshot(snapshot_frame(self.live.view()))

    async def take(self, letter: Letter) -> None:
        kind, _, sequence, html = letter
        if kind == "frame":
            await self.remote.take_frame(sequence, html)
        else:
            await self.remote.take_snapshot(sequence, html)

    async def settle(self) -> None:
        """Nothing gets lost any more, and the owner says how far it is."""
        while True:
            self.remote.take_sequence(self.follower.sequence)
            await self.remote.notice_silence()
            await self.take_back()
            if not self.there.letters:
                return
            while self.there.letters:
                await self.take(self.there.letters.popleft())

    async def _flush(self) -> None:
        if frame := self.live.changes():
            await self.audience.show(frame)

    def _abandon(self) -> None:
        self.is_abandoned = True


def plain(markdown: str) -> str:
    for mark in ("**", "`", "\n", " "):
        markdown = markdown.replace(mark, "")
    return markdown


def shown(tab: Tab) -> str:
    return "".join(tab.page.region("answer").split())


FATES = st.sampled_from(["arrives", "arrives", "arrives", "lost", "twice", "late", "read back"])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(WORDS), FATES, st.booleans()), max_size=15))
def test_whatever_is_lost_repeated_or_late_no_character_is(
    steps: list[tuple[str, str, bool]],
) -> None:
    asyncio.run(a_reply_on_a_bad_layer(steps))


async def a_reply_on_a_bad_layer(steps: list[tuple[str, str, bool]]) -> None:
    pair = Pair()
    tabs = [pair.open_tab()]
    await pair.take_back()
    for word, fate, opens in steps:
        await pair.write(word)
        if opens and len(tabs) < 4:
            tabs.append(pair.open_tab())
        letters = pair.there.letters
        if fate == "lost" and letters:
            letters.popleft()
        elif fate == "late":
            letters.rotate(1)
        elif fate == "read back":
            await pair.take_back()
        elif letters:
            letter = letters.popleft()
            for _ in range(2 if fate == "twice" else 1):
                await pair.take(letter)
        for tab in tabs:
            assert plain(pair.text).startswith(shown(tab))
    pair.remote._asked_at = 0.0
    await pair.settle()
    for tab in tabs:
        assert shown(tab) == plain(pair.text)


async def test_a_gap_costs_one_snapshot_for_all_tabs() -> None:
    pair = Pair()
    tabs = [pair.open_tab(), pair.open_tab()]
    await pair.settle()
    await pair.write("One ")
    pair.there.letters.clear()
    for word in ("two ", "three"):
        await pair.write(word)
    pair.remote._asked_at = 0.0
    for letter in list(pair.there.letters):
        await pair.take(letter)
    assert [kind for kind, *_ in pair.back.letters] == ["watch"]
    pair.there.letters.clear()
    await pair.settle()
    assert [tab.page.region("answer") for tab in tabs] == ["One two three"] * 2


async def test_a_tab_that_joins_again_and_again_costs_one_snapshot_at_a_time() -> None:
    pair = Pair()
    tab = pair.open_tab()
    for _ in range(100):
        pair.remote.join(tab)
    assert [kind for kind, *_ in pair.back.letters] == ["watch"]
    await pair.write("All of it")
    await pair.settle()
    assert shown(tab) == "Allofit"
    pair.remote.join(tab)
    assert [kind for kind, *_ in pair.back.letters] == ["watch"]


async def test_silence_is_told_once_and_ends_with_the_snapshot() -> None:
    pair = Pair()
    tab = pair.open_tab()
    await pair.settle()
    pair.back.answers = False
    await pair.remote.notice_silence()
    await pair.write("Meanwhile")
    pair.there.letters.clear()
    assert SILENT in tab.page.reply().text
    pair.back.answers = True
    pair.remote._asked_at = 0.0
    await pair.settle()
    assert SILENT not in tab.page.reply().text
    assert shown(tab) == "Meanwhile"


async def test_the_owner_hears_of_the_last_tabs_leaving_alone() -> None:
    pair = Pair()
    tabs = [pair.open_tab(), pair.open_tab()]
    await pair.settle()
    pair.remote.leave(tabs[0], 0.0)
    assert not pair.back.letters
    pair.remote.leave(tabs[1], 0.0)
    assert pair.back.letters.pop() == ("leave", pair.message.pk.hex, 0.0)


@pytest.mark.parametrize("behind", [False, True])
async def test_at_the_end_whoever_missed_something_is_named(behind: bool) -> None:
    pair = Pair()
    tab = pair.open_tab()
    await pair.settle()
    await pair.write("All of it")
    if not behind:
        await pair.settle()
    assert pair.remote.take_ended(pair.follower.sequence) == ({tab} if behind else set())


async def test_stop_and_decisions_go_to_the_owner() -> None:
    pair = Pair()
    pair.remote.stop(Ending.STOPPED)
    pair.remote.decide(0, 1, True)
    about = (pair.message.pk.hex, pair.conversation.hex)
    wishes = [("stop", *about, "stopped"), ("decide", *about, 0, 1, True)]
    assert list(pair.back.letters) == wishes
    pair.back.letters.clear()  # they are lost
    pair.remote.repeat_wishes()
    assert list(pair.back.letters) == wishes
