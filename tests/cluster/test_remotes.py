"""Replies of other workers, and who here awaits them."""

from uuid import UUID, uuid4

import pytest

from chatapp.cluster.messages import Leave, Message, Renew, Stop, Watch
from chatapp.cluster.remote import SILENCE_SECONDS, SILENT, RemoteReply
from chatapp.cluster.remotes import Remotes
from chatapp.upstream.wire.reply import Ending
from chatapp.viewers import Viewers
from tests.cluster.network import Network
from tests.viewers.doubles import Recorder

SKY, SEA = uuid4(), uuid4()


class Here:
    """A worker whose viewers await replies of another one."""

    def __init__(self) -> None:
        self.network = Network()
        self.bus = self.network.bus()
        self.owner = self.network.bus().worker
        self.viewers = Viewers()
        self.remotes = Remotes(self.bus, self.viewers)

    def watch(self, conversation: UUID, reply: UUID) -> Recorder:
        viewer = Recorder()
        self.viewers.add(viewer)
        self.viewers.show(viewer, conversation)
        self.remotes.watch(viewer, conversation, reply, self.owner)
        return viewer

    def posted(self) -> list[Message]:
        messages = [one.message for one in self.network.on_their_way if one.to == self.owner]
        self.network.lose()
        return messages


@pytest.fixture
def here() -> Here:
    return Here()


def test_one_reply_is_asked_for_once_for_all_viewers(here: Here) -> None:
    reply = uuid4()
    one, other = here.watch(SKY, reply), here.watch(SKY, reply)
    assert here.posted() == [Watch(reply, SKY)]
    remote = here.remotes.get(reply)
    assert remote
    for viewer in (one, other):
        assert here.remotes.awaited_by(viewer, SKY) == [remote]
        assert here.remotes.awaited_by(viewer, SEA) == []
    assert here.remotes.conversations() == {SKY}


async def test_frames_that_come_after_the_whole_reply_was_drawn_are_not_shown_again(
    here: Here,
) -> None:
    ended, next_one = uuid4(), uuid4()
    viewer = here.watch(SKY, ended)
    remote = here.remotes.get(ended)
    assert remote
    await remote.take_snapshot(1, "snapshot")
    here.remotes.watch(viewer, SKY, next_one, here.owner)
    here.posted()
    here.remotes.drawn(viewer, SKY, {next_one})
    await remote.take_frame(2, "its last words")
    assert viewer.frames == ["snapshot"]
    assert here.remotes.get(ended) is None
    assert here.remotes.awaited_by(viewer, SKY) == [here.remotes.get(next_one)]
    assert here.posted() == []  # or a look that came late would end what has begun since


def test_it_is_dropped_with_its_last_viewer(here: Here) -> None:
    reply = uuid4()
    viewers = [here.watch(SKY, reply), here.watch(SKY, reply)]
    here.posted()
    here.remotes.leave(viewers[0], 1.5)
    assert here.remotes.conversations() == {SKY}
    here.remotes.leave(viewers[1], 1.5)
    assert here.remotes.conversations() == set()
    assert here.posted() == [Leave(reply, 1.5)]


def test_what_does_not_stream_twice_in_a_row_has_ended(here: Here) -> None:
    ends, goes_on = uuid4(), uuid4()
    here.watch(SKY, ends)
    here.watch(SEA, goes_on)
    assert here.remotes.drop_ended({goes_on}) == []
    assert here.remotes.drop_ended({ends, goes_on}) == []  # it was only looked at too early
    assert here.remotes.drop_ended({goes_on}) == []
    assert here.remotes.drop_ended({goes_on}) == [SKY]
    assert here.remotes.conversations() == {SEA}


def test_all_replies_of_an_owner_are_renewed_at_once_and_commands_repeated(here: Here) -> None:
    replies = {uuid4(), uuid4()}
    for reply in replies:
        here.watch(SKY, reply)
    stopped = here.remotes.get(next(iter(replies)))
    assert stopped
    stopped.stop(Ending.STOPPED)
    here.posted()
    here.remotes.renew()
    command = Stop(stopped.reply, SKY, Ending.STOPPED)
    assert here.posted() == [command, Renew(frozenset(replies))]


async def test_a_silence_that_can_not_be_told_of_one_is_told_of_the_others(
    here: Here, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken, silent = uuid4(), uuid4()
    here.watch(SKY, broken)
    viewer = here.watch(SEA, silent)
    tell = RemoteReply.notice_silence

    async def fail_for_one(remote: RemoteReply) -> None:
        if remote.reply == broken:
            raise ArithmeticError
        await tell(remote)

    monkeypatch.setattr(RemoteReply, "notice_silence", fail_for_one)
    here.network.clock += SILENCE_SECONDS
    await here.remotes.notice_silence()
    assert "A silence could not be told" in caplog.text
    assert SILENT.partition("'")[0] in viewer.frames[0]
