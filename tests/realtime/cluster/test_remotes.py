"""Replies of other workers and the viewers here that watch them."""

from uuid import UUID, uuid4

import pytest

from chatapp.realtime.cluster.messages import Leave, Message, Renew, Stop, Watch
from chatapp.realtime.cluster.remote import SILENCE_SECONDS, SILENT, RemoteReply
from chatapp.realtime.cluster.remotes import Remotes
from chatapp.realtime.viewers import Viewers
from chatapp.upstream.wire.reply import Ending
from tests.realtime.cluster.network import Network
from tests.realtime.viewers.doubles import Recorder

SKY, SEA = uuid4(), uuid4()


class Here:
    """A worker with viewers that watch replies of another."""

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


def test_a_reply_is_requested_once_for_all_viewers(here: Here) -> None:
    reply = uuid4()
    one, other = here.watch(SKY, reply), here.watch(SKY, reply)
    assert here.posted() == [Watch(reply, SKY)]
    remote = here.remotes.get(reply)
    assert remote
    for viewer in (one, other):
        assert here.remotes.awaited_by(viewer, SKY) == [remote]
        assert here.remotes.awaited_by(viewer, SEA) == []
    assert here.remotes.conversations() == {SKY}


async def test_late_frames_of_a_reply_that_is_drawn_whole_are_not_shown(
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
    assert here.posted() == []  # no `Leave`: a late page load must not end a newer reply


def test_a_reply_is_dropped_with_its_last_viewer(here: Here) -> None:
    reply = uuid4()
    viewers = [here.watch(SKY, reply), here.watch(SKY, reply)]
    here.posted()
    here.remotes.leave(viewers[0], 1.5)
    assert here.remotes.conversations() == {SKY}
    here.remotes.leave(viewers[1], 1.5)
    assert here.remotes.conversations() == set()
    assert here.posted() == [Leave(reply, 1.5)]


def test_a_reply_not_streaming_at_two_checks_has_ended(here: Here) -> None:
    ends, goes_on = uuid4(), uuid4()
    here.watch(SKY, ends)
    here.watch(SEA, goes_on)
    assert here.remotes.drop_ended({goes_on}) == []
    assert here.remotes.drop_ended({ends, goes_on}) == []  # the check was just too early
    assert here.remotes.drop_ended({goes_on}) == []
    assert here.remotes.drop_ended({goes_on}) == [SKY]
    assert here.remotes.conversations() == {SEA}


def test_an_owners_replies_are_renewed_together_and_commands_repeated(here: Here) -> None:
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


async def test_a_reply_whose_viewers_cannot_be_told_does_not_block_others(
    here: Here, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken, silent = uuid4(), uuid4()
    here.watch(SKY, broken)
    viewer = here.watch(SEA, silent)
    notice_silence = RemoteReply.notice_silence

    async def fail_for_one(remote: RemoteReply) -> None:
        if remote.reply == broken:
            raise ArithmeticError
        await notice_silence(remote)

    monkeypatch.setattr(RemoteReply, "notice_silence", fail_for_one)
    here.network.clock += SILENCE_SECONDS
    await here.remotes.notice_silence()
    assert "Could not tell viewers" in caplog.text
    assert SILENT.partition("'")[0] in viewer.frames[0]


async def test_a_follower_asks_without_waiting_and_gets_the_snapshot_for_readers(
    here: Here,
) -> None:
    reply, follower = uuid4(), Recorder()
    here.remotes.follow(follower, SKY, reply, here.owner)
    assert here.posted() == [Watch(reply, SKY, waits=False, is_shared=True)]
    remote = here.remotes.get(reply)
    assert remote
    await remote.take_frame(1, "too early")
    await remote.take_snapshot(1, "for tabs", "for readers")
    await remote.take_frame(2, "next")
    assert follower.frames == ["for readers", "next"]
    here.remotes.unfollow(follower)
    assert here.posted() == [Leave(reply, 0)]
    assert here.remotes.get(reply) is None


async def test_when_the_last_tab_leaves_followers_ask_again_without_waiting(here: Here) -> None:
    reply, follower = uuid4(), Recorder()
    tab = here.watch(SKY, reply)
    here.remotes.follow(follower, SKY, reply, here.owner)
    here.posted()
    here.remotes.leave(tab, 5)
    assert here.posted() == [Leave(reply, 5), Watch(reply, SKY, waits=False, is_shared=True)]
    assert here.remotes.get(reply)


async def test_a_gap_asks_for_a_snapshot_for_followers(here: Here) -> None:
    reply, follower = uuid4(), Recorder()
    here.remotes.follow(follower, SKY, reply, here.owner)
    remote = here.remotes.get(reply)
    assert remote
    await remote.take_snapshot(1, "", "whole")
    here.posted()
    await remote.take_frame(3, "after a gap")
    assert here.posted() == [Watch(reply, SKY, waits=False, is_shared=True)]
    await remote.take_snapshot(3, "", "whole again")
    assert follower.frames == ["whole", "whole again"]
