"""Leases of other workers on replies of this one."""

from uuid import uuid4

import pytest
from pytest_django import Settings

from chatapp.realtime.cluster.followers import LEASE_SECONDS, RENEW_SECONDS, Followers
from chatapp.realtime.cluster.messages import Ended, Frame, Message, Running, Snapshot
from chatapp.realtime.viewers import Audience
from tests.realtime.cluster.network import Network

REPLY, OTHER_REPLY = uuid4(), uuid4()


class Owner:
    """A worker with a reply, and another that may follow it."""

    def __init__(self) -> None:
        self.network = Network()
        self.bus = self.network.bus()
        self.other = self.network.bus().worker
        self.followers = Followers(self.bus)
        self.audience = Audience([])

    def pop_posted(self) -> list[Message]:
        messages = [
            posted_message.message
            for posted_message in self.network.on_their_way
            if posted_message.to == self.other
        ]
        self.network.lose()
        return messages

    def pass_seconds(self, seconds: float) -> None:
        self.network.clock += seconds

    @property
    def is_followed(self) -> bool:
        return self.audience.is_watching


@pytest.fixture
def owner(settings: Settings) -> Owner:
    settings.CHATAPP_CLOSE_GRACE = settings.CHATAPP_DROP_GRACE = 0.0
    return Owner()


async def test_a_follower_gets_numbered_frames_and_the_end(owner: Owner) -> None:
    await owner.audience.show("before")
    follower = owner.followers.follow(owner.other, REPLY, owner.audience)
    follower.post_snapshot("all")
    await owner.audience.show("more")
    owner.followers.end(REPLY)
    owner.followers.end(REPLY)
    assert owner.pop_posted() == [
        Snapshot(REPLY, 1, "all"),
        Frame(REPLY, 2, "more"),
        Ended(REPLY, 2),
    ]


async def test_following_twice_adds_one_follower(owner: Owner) -> None:
    first = owner.followers.follow(owner.other, REPLY, owner.audience)
    assert owner.followers.follow(owner.other, REPLY, owner.audience) is first
    await owner.audience.show("once")
    assert len(owner.pop_posted()) == 1


async def test_a_worker_that_left_gets_no_more_frames(owner: Owner) -> None:
    owner.followers.follow(owner.other, REPLY, owner.audience)
    for _ in range(2):
        owner.followers.leave(owner.other, REPLY, 0.0)
    assert not owner.is_followed
    assert owner.audience.is_gone.is_set()
    owner.followers.end(REPLY)
    assert owner.pop_posted() == []


async def test_a_renewal_is_answered_with_each_replys_sequence(owner: Owner) -> None:
    owner.followers.follow(owner.other, REPLY, owner.audience)
    await owner.audience.show("one")
    owner.pop_posted()
    owner.followers.renew(owner.other, {REPLY, OTHER_REPLY})
    assert owner.pop_posted() == [Running({REPLY: 1, OTHER_REPLY: None})]


@pytest.mark.parametrize(("leased_replies", "stays"), [({REPLY}, True), (set(), False)])
async def test_a_reply_missing_from_two_renewals_was_left(
    owner: Owner, leased_replies: set[object], stays: bool
) -> None:
    owner.followers.follow(owner.other, REPLY, owner.audience)
    for _ in range(2):
        assert owner.is_followed
        owner.pass_seconds(RENEW_SECONDS)
        owner.followers.renew(owner.other, leased_replies)  # type: ignore[arg-type]
    assert owner.is_followed is stays


@pytest.mark.parametrize(("renews", "stays"), [(True, True), (False, False)])
async def test_a_lease_expires_if_it_is_not_renewed(
    owner: Owner, renews: bool, stays: bool
) -> None:
    owner.followers.follow(owner.other, REPLY, owner.audience)
    owner.pass_seconds(LEASE_SECONDS)
    owner.followers.end_leases()
    assert owner.is_followed
    if renews:
        owner.followers.renew(owner.other, {REPLY})
    owner.pass_seconds(0.1)
    owner.followers.end_leases()
    assert owner.is_followed is stays


async def test_no_lease_expires_during_a_bus_outage(owner: Owner) -> None:
    owner.followers.follow(owner.other, REPLY, owner.audience)
    owner.bus.answers = False
    owner.pass_seconds(2 * LEASE_SECONDS)
    owner.followers.end_leases()
    assert owner.is_followed
    owner.bus.answers, owner.bus.answers_since = True, owner.bus.now()
    owner.pass_seconds(LEASE_SECONDS)
    owner.followers.end_leases()
    assert owner.is_followed


async def test_workers_the_database_no_longer_lists_are_removed(owner: Owner) -> None:
    owner.followers.follow(owner.other, REPLY, owner.audience)
    owner.followers.remove_dead_workers({owner.other})
    assert owner.is_followed
    owner.followers.remove_dead_workers({owner.bus.worker})
    assert not owner.is_followed
