"""Other workers that show replies of this one, each for as long as it renews its lease."""

from collections.abc import Collection
from uuid import UUID

from django.conf import settings

from chatapp.cluster.bus import Bus
from chatapp.cluster.messages import Ended, Frame, Running, Snapshot
from chatapp.viewers import Audience, Watcher

RENEW_SECONDS = 1.0  # between a worker's renewals of its leases
# Of another worker on a reply of ours. Longer than the expiry of a heartbeat, so that one that died
# is known by the database's word, and a lease ends only for one that lives and is not heard.
LEASE_SECONDS = 5.0


class Follower(Watcher):
    """Another worker on one reply."""

    write = None

    def __init__(self, worker: UUID, reply: UUID, audience: Audience, bus: Bus) -> None:
        self.worker = worker
        self.reply = reply
        self.renewed_at = 0.0
        self._audience = audience
        self._bus = bus

    @property
    def sequence(self) -> int:
        """Of the last frame that was posted."""
        return self._audience.sequence

    async def show(self, frame: str) -> None:
        self._bus.post(self.worker, Frame(self.reply, self.sequence, frame))

    def post_snapshot(self, html: str) -> None:
        """Answers a request; `html` holds all frames until now."""
        self._bus.post(self.worker, Snapshot(self.reply, self.sequence, html))

    def post_ended(self) -> None:
        self._bus.post(self.worker, Ended(self.reply, self.sequence))

    def leave(self, grace: float) -> None:
        self._audience.leave(self, grace)


class Followers:
    """Of all replies of this worker."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._followers: dict[tuple[UUID, UUID], Follower] = {}

    def follow(self, worker: UUID, reply: UUID, audience: Audience) -> Follower:
        """Has the audience take `worker` in, which is to be posted a snapshot then."""
        follower = self._followers.get((worker, reply))
        if follower is None:
            follower = self._followers[worker, reply] = Follower(worker, reply, audience, self._bus)
        follower.renewed_at = self._bus.now()
        audience.follow(follower)
        return follower

    def renew(self, worker: UUID, held: Collection[UUID]) -> None:
        """`worker` holds leases on these replies alone."""
        sequences: dict[UUID, int | None] = {}
        for reply in held:
            follower = self._followers.get((worker, reply))
            sequences[reply] = follower.sequence if follower else None
            if follower:
                follower.renewed_at = self._bus.now()
        self._bus.post(worker, Running(sequences))
        # Whoever no longer holds a reply, and said so twice, left it by a message that was lost.
        twice = self._bus.now() - 1.5 * RENEW_SECONDS
        for follower in list(self._followers.values()):
            is_left = follower.worker == worker and follower.reply not in held
            if is_left and follower.renewed_at < twice:
                self._drop(follower, settings.CHATAPP_CLOSE_GRACE)

    def leave(self, worker: UUID, reply: UUID, grace: float) -> None:
        """The last viewer of the reply in `worker` is gone."""
        if follower := self._followers.get((worker, reply)):
            self._drop(follower, grace)

    def keep(self, alive: Collection[UUID]) -> None:
        """Lets workers go that the database no longer knows."""
        for follower in list(self._followers.values()):
            if follower.worker not in alive:
                self._drop(follower, settings.CHATAPP_DROP_GRACE)

    def end_leases(self) -> None:
        """Lets those go that did not renew theirs while the bus would have carried that."""
        if not self._bus.answers:
            return
        since = self._bus.now() - LEASE_SECONDS
        for follower in list(self._followers.values()):
            if max(follower.renewed_at, self._bus.answers_since) < since:
                self._drop(follower, settings.CHATAPP_DROP_GRACE)

    def end(self, reply: UUID) -> None:
        """The reply is saved and shown: tells those that follow it."""
        for follower in list(self._followers.values()):
            if follower.reply == reply:
                follower.post_ended()
                del self._followers[follower.worker, reply]

    def _drop(self, follower: Follower, grace: float) -> None:
        del self._followers[follower.worker, follower.reply]
        follower.leave(grace)
