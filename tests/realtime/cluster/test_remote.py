"""A reply's frames reach another worker, whatever the bus does to them."""

import asyncio
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatapp.models import Conversation, Message, ThreadPage
from chatapp.realtime.cluster.bus import MessageReceived
from chatapp.realtime.cluster.followers import Follower
from chatapp.realtime.cluster.messages import Decide, Frame, Leave, Snapshot, Stop, Watch
from chatapp.realtime.cluster.remote import ASK_AGAIN_SECONDS, SILENT, RemoteReply
from chatapp.realtime.viewers import Audience, Viewers
from chatapp.rendering.fragments import LiveReply, snapshot_fragment, thread_html
from chatapp.rendering.pool import render_texts
from chatapp.upstream.wire.reply import Ending
from tests.realtime.cluster.network import Network
from tests.realtime.viewers.doubles import Reader
from tests.support.profile import choose_size

WORDS = ["Rayleigh ", "scattering ", "makes ", "it.\n\n", "**blue** ", "`sky` "]


class Pair:
    """A reply, its owner, and another worker with viewers of it, connected by a network."""

    def __init__(self) -> None:
        self.text = ""
        self.message = Message(role="assistant", ending=Message.STREAMING, model="m")
        self.live = LiveReply(self.message)
        self.network = Network()
        self.owner, self.other = self.network.bus(), self.network.bus()
        self.audience = Audience(Viewers().showing(uuid4()))
        reply = self.message.pk
        self.follower = Follower(self.other.worker, reply, self.audience, self.owner)
        self.viewers = Viewers()
        self.conversation = uuid4()
        self.remote = RemoteReply(
            reply,
            self.conversation,
            self.owner.worker,
            self.viewers.showing(self.conversation),
            self.other,
        )

    def open_tab(self) -> Reader:
        message = Message(id=self.message.pk, role="assistant", ending="streaming")
        view = ThreadPage(Conversation(pk=self.conversation), [message])
        tab = Reader(f'<div id="messages">{thread_html(view, render_texts([]))}</div>')
        self.viewers.add(tab)
        self.viewers.show(tab, self.conversation)
        self.remote.join(tab)
        return tab

    async def write(self, word: str) -> None:
        self.text += word
        self.live.append("answer", word)
        await self._flush()

    async def deliver_to_owner(self) -> None:
        """Let the owner read its messages."""
        async for arrival in self.owner.receive_messages():
            if isinstance(arrival, MessageReceived) and isinstance(arrival.message, Watch):
                self.audience.follow(self.follower)
                await self._flush()
                self.follower.post_snapshot(snapshot_fragment(self.live.view()))

    async def deliver(self, times: int = 1) -> None:
        """Let the other worker read the next message, perhaps more than once."""
        async for arrival in self.other.receive_messages():
            for _ in range(times):
                match arrival:
                    case MessageReceived(message=Frame(_, sequence, html)):
                        await self.remote.apply_frame(sequence, html)
                    case MessageReceived(message=Snapshot(_, sequence, html)):
                        await self.remote.apply_snapshot(sequence, html)
            return

    @property
    def requests(self) -> list[object]:
        """The messages in transit to the owner."""
        return [
            posted.message for posted in self.network.on_their_way if posted.to == self.owner.worker
        ]

    @property
    def coming(self) -> int:
        """The number of messages in transit from the owner."""
        return len(self.network.on_their_way) - len(self.requests)

    def pass_time(self) -> None:
        self.network.clock += ASK_AGAIN_SECONDS

    async def settle(self) -> None:
        """Deliver everything from now on, including the owner's sequence."""
        while True:
            self.remote.apply_sequence(self.follower.sequence)
            await self.remote.notice_silence()
            await self.deliver_to_owner()
            if not self.coming:
                return
            while self.coming:
                await self.deliver()

    async def _flush(self) -> None:
        if frame := self.live.changes():
            await self.audience.show(frame)


def plain(markdown: str) -> str:
    for mark in ("**", "`", "\n", " "):
        markdown = markdown.replace(mark, "")
    return markdown


def read_answer(tab: Reader) -> str:
    return "".join(tab.page.region("answer").split())


FATES = st.sampled_from(["arrives", "arrives", "arrives", "lost", "twice", "late", "read back"])


@settings(max_examples=choose_size(15, 80))
@given(st.lists(st.tuples(st.sampled_from(WORDS), FATES, st.booleans()), max_size=15))
def test_no_character_is_lost_whatever_happens_to_messages(
    steps: list[tuple[str, str, bool]],
) -> None:
    asyncio.run(a_reply_on_a_bad_bus(steps))


async def a_reply_on_a_bad_bus(steps: list[tuple[str, str, bool]]) -> None:
    pair = Pair()
    tabs = [pair.open_tab()]
    await pair.deliver_to_owner()
    for word, fate, opens in steps:
        await pair.write(word)
        if opens and len(tabs) < 4:
            tabs.append(pair.open_tab())
        if fate == "read back":
            await pair.deliver_to_owner()
        elif fate == "lost":
            await pair.deliver(times=0)
        elif fate == "late":
            pair.network.on_their_way.rotate(1)
        else:
            await pair.deliver(times=2 if fate == "twice" else 1)
        for tab in tabs:
            assert plain(pair.text).startswith(read_answer(tab))
    pair.pass_time()
    await pair.settle()
    for tab in tabs:
        assert read_answer(tab) == plain(pair.text)


async def test_a_gap_costs_one_snapshot_for_all_tabs() -> None:
    pair = Pair()
    tabs = [pair.open_tab(), pair.open_tab()]
    await pair.settle()
    await pair.write("One ")
    pair.network.lose()
    for word in ("two ", "three"):
        await pair.write(word)
    pair.pass_time()
    while pair.coming:
        await pair.deliver()
    assert pair.requests == [Watch(pair.message.pk, pair.conversation)]
    await pair.settle()
    assert [tab.page.region("answer") for tab in tabs] == ["One two three"] * 2


async def test_a_tab_that_joins_repeatedly_costs_one_snapshot_at_a_time() -> None:
    pair = Pair()
    tab = pair.open_tab()
    for _ in range(100):
        pair.remote.join(tab)
    assert pair.requests == [Watch(pair.message.pk, pair.conversation)]
    await pair.write("All of it")
    await pair.settle()
    assert read_answer(tab) == "Allofit"
    pair.remote.join(tab)
    assert pair.requests == [Watch(pair.message.pk, pair.conversation)]


async def test_silence_is_reported_once_and_ends_with_the_snapshot() -> None:
    pair = Pair()
    tab = pair.open_tab()
    await pair.settle()
    pair.other.answers = False
    await pair.remote.notice_silence()
    await pair.write("Meanwhile")
    pair.network.lose()
    assert SILENT in tab.page.reply().text
    pair.other.answers = True
    pair.pass_time()
    await pair.settle()
    assert SILENT not in tab.page.reply().text
    assert read_answer(tab) == "Meanwhile"


async def test_the_owner_is_told_only_when_the_last_tab_leaves() -> None:
    pair = Pair()
    tabs = [pair.open_tab(), pair.open_tab()]
    await pair.settle()
    pair.remote.leave(tabs[0], 0.0)
    assert pair.requests == []
    pair.remote.leave(tabs[1], 0.0)
    assert pair.requests == [Leave(pair.message.pk, 0.0)]


@pytest.mark.parametrize("behind", [False, True])
async def test_the_end_returns_the_viewers_that_missed_something(behind: bool) -> None:
    pair = Pair()
    tab = pair.open_tab()
    await pair.settle()
    await pair.write("All of it")
    if not behind:
        await pair.settle()
    named = pair.remote.mark_ended(pair.follower.sequence)
    assert list(named) == ([tab] if behind else [])


async def test_commands_go_to_the_owner_and_are_repeated() -> None:
    pair = Pair()
    pair.remote.stop(Ending.STOPPED)
    pair.remote.decide(0, 1, True)
    about = (pair.message.pk, pair.conversation)
    commands = [Stop(*about, Ending.STOPPED), Decide(*about, 0, 1, True)]
    assert pair.requests == commands
    pair.network.lose()
    pair.remote.repeat_commands()
    assert pair.requests == commands
