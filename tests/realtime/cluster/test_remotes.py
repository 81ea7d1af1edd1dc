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


class RemotesHarness:
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

    def pop_posted(self) -> list[Message]:
        messages = [
            posted_message.message
            for posted_message in self.network.on_their_way
            if posted_message.to == self.owner
        ]
        self.network.lose()
        return messages


@pytest.fixture
def harness() -> RemotesHarness:
    return RemotesHarness()


def test_a_reply_is_requested_once_for_all_viewers(harness: RemotesHarness) -> None:
    reply = uuid4()
    first, other = harness.watch(SKY, reply), harness.watch(SKY, reply)
    assert harness.pop_posted() == [Watch(reply, SKY)]
    remote = harness.remotes.get(reply)
    assert remote
    for viewer in (first, other):
        assert harness.remotes.for_viewer(viewer, SKY) == [remote]
        assert harness.remotes.for_viewer(viewer, SEA) == []
    assert harness.remotes.conversations() == {SKY}


async def test_late_frames_of_a_reply_that_is_drawn_whole_are_not_shown(
    harness: RemotesHarness,
) -> None:
    ended, next_one = uuid4(), uuid4()
    viewer = harness.watch(SKY, ended)
    remote = harness.remotes.get(ended)
    assert remote
    await remote.apply_snapshot(1, "snapshot")
    harness.remotes.watch(viewer, SKY, next_one, harness.owner)
    harness.pop_posted()
    harness.remotes.forget_finished(viewer, SKY, {next_one})
    await remote.apply_frame(2, "its last words")
    assert viewer.frames == ["snapshot"]
    assert harness.remotes.get(ended) is None
    assert harness.remotes.for_viewer(viewer, SKY) == [harness.remotes.get(next_one)]
    assert harness.pop_posted() == []  # no `Leave`: a late page load must not end a newer reply


def test_a_reply_is_dropped_with_its_last_viewer(harness: RemotesHarness) -> None:
    reply = uuid4()
    viewers = [harness.watch(SKY, reply), harness.watch(SKY, reply)]
    harness.pop_posted()
    harness.remotes.leave(viewers[0], 1.5)
    assert harness.remotes.conversations() == {SKY}
    harness.remotes.leave(viewers[1], 1.5)
    assert harness.remotes.conversations() == set()
    assert harness.pop_posted() == [Leave(reply, 1.5)]


def test_a_reply_not_streaming_at_two_checks_has_ended(harness: RemotesHarness) -> None:
    ends, goes_on = uuid4(), uuid4()
    harness.watch(SKY, ends)
    harness.watch(SEA, goes_on)
    assert harness.remotes.remove_ended({goes_on}) == []
    assert harness.remotes.remove_ended({ends, goes_on}) == []  # the check was just too early
    assert harness.remotes.remove_ended({goes_on}) == []
    assert harness.remotes.remove_ended({goes_on}) == [SKY]
    assert harness.remotes.conversations() == {SEA}


def test_an_owners_replies_are_renewed_together_and_commands_repeated(
    harness: RemotesHarness,
) -> None:
    replies = {uuid4(), uuid4()}
    for reply in replies:
        harness.watch(SKY, reply)
    stopped = harness.remotes.get(next(iter(replies)))
    assert stopped
    stopped.stop(Ending.STOPPED)
    harness.pop_posted()
    harness.remotes.renew()
    command = Stop(stopped.reply, SKY, Ending.STOPPED)
    assert harness.pop_posted() == [command, Renew(frozenset(replies))]


async def test_a_reply_whose_viewers_cannot_be_told_does_not_block_others(
    harness: RemotesHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken, silent = uuid4(), uuid4()
    harness.watch(SKY, broken)
    viewer = harness.watch(SEA, silent)
    notice_silence = RemoteReply.notice_silence

    async def fail_for_one(remote: RemoteReply) -> None:
        if remote.reply == broken:
            raise ArithmeticError
        await notice_silence(remote)

    monkeypatch.setattr(RemoteReply, "notice_silence", fail_for_one)
    harness.network.clock += SILENCE_SECONDS
    await harness.remotes.notice_silence()
    assert "Could not tell viewers" in caplog.text
    assert SILENT.partition("'")[0] in viewer.frames[0]


async def test_a_follower_asks_without_waiting_and_gets_the_snapshot_for_readers(
    harness: RemotesHarness,
) -> None:
    reply, follower = uuid4(), Recorder()
    harness.remotes.follow(follower, SKY, reply, harness.owner)
    assert harness.pop_posted() == [Watch(reply, SKY, waits=False, is_shared=True)]
    remote = harness.remotes.get(reply)
    assert remote
    await remote.apply_frame(1, "too early")
    await remote.apply_snapshot(1, "for tabs", "for readers")
    await remote.apply_frame(2, "next")
    assert follower.frames == ["for readers", "next"]
    harness.remotes.unfollow(follower)
    assert harness.pop_posted() == [Leave(reply, 0)]
    assert harness.remotes.get(reply) is None


async def test_when_the_last_tab_leaves_followers_ask_again_without_waiting(
    harness: RemotesHarness,
) -> None:
    reply, follower = uuid4(), Recorder()
    tab = harness.watch(SKY, reply)
    harness.remotes.follow(follower, SKY, reply, harness.owner)
    harness.pop_posted()
    harness.remotes.leave(tab, 5)
    assert harness.pop_posted() == [Leave(reply, 5), Watch(reply, SKY, waits=False, is_shared=True)]
    assert harness.remotes.get(reply)


async def test_a_gap_asks_for_a_snapshot_for_followers(harness: RemotesHarness) -> None:
    reply, follower = uuid4(), Recorder()
    harness.remotes.follow(follower, SKY, reply, harness.owner)
    remote = harness.remotes.get(reply)
    assert remote
    await remote.apply_snapshot(1, "", "whole")
    harness.pop_posted()
    await remote.apply_frame(3, "after a gap")
    assert harness.pop_posted() == [Watch(reply, SKY, waits=False, is_shared=True)]
    await remote.apply_snapshot(3, "", "whole again")
    assert follower.frames == ["whole", "whole again"]
