"""The other workers that watch replies of this one, each for as long as it renews its lease."""

from collections.abc import Collection
from uuid import UUID

from django.conf import settings

from chatapp.realtime.cluster.bus import Bus
from chatapp.realtime.cluster.messages import Ended, Frame, Running, Snapshot
from chatapp.realtime.viewers import Audience, Watcher

RENEW_SECONDS = 1.0  # between a worker's renewals of its leases
# Another worker's lease on a reply of this one. Longer than a heartbeat's expiry, so that the
# database reports a dead worker first, and a lease expires only for a living, unreachable one.
LEASE_SECONDS = 5.0


class Follower(Watcher):
    """Another worker watching one reply."""

    write = None

    def __init__(self, worker: UUID, reply: UUID, audience: Audience, bus: Bus) -> None:
        self.worker = worker
        self.reply = reply
        self.renewed_at = 0.0
        self._audience = audience
        self._bus = bus

    @property
    def sequence(self) -> int:
        """The number of the last frame that was posted."""
        return self._audience.sequence

    async def show(self, frame: str) -> None:
        self._bus.post(self.worker, Frame(self.reply, self.sequence, frame))

    def post_snapshot(self, html: str, shared: str = "") -> None:
        """Answer a request; `html` holds all frames so far, `shared` those for readers."""
        self._bus.post(self.worker, Snapshot(self.reply, self.sequence, html, shared))

    def post_ended(self) -> None:
        self._bus.post(self.worker, Ended(self.reply, self.sequence))

    def leave(self, grace: float) -> None:
        self._audience.leave(self, grace)


class Followers:
    """The followers of all replies of this worker."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._followers: dict[tuple[UUID, UUID], Follower] = {}

    def follow(
        self, worker: UUID, reply: UUID, audience: Audience, *, waits: bool = True
    ) -> Follower:
        """Add `worker` to the reply's audience; the caller then posts it a snapshot."""
        follower = self._followers.get((worker, reply))
        if follower is None:
            follower = self._followers[worker, reply] = Follower(worker, reply, audience, self._bus)
        follower.renewed_at = self._bus.now()
        audience.follow(follower, waits=waits)
        return follower

    def renew(self, worker: UUID, leased_replies: Collection[UUID]) -> None:
        """Renew the leases of `worker`, which holds leases on these replies only."""
        sequences: dict[UUID, int | None] = {}
        for reply in leased_replies:
            follower = self._followers.get((worker, reply))
            sequences[reply] = follower.sequence if follower else None
            if follower:
                follower.renewed_at = self._bus.now()
        self._bus.post(worker, Running(sequences))
        # Two renewals without a reply mean that the `Leave` message for it was lost.
        two_renewals_ago = self._bus.now() - 1.5 * RENEW_SECONDS
        for follower in list(self._followers.values()):
            is_left = follower.worker == worker and follower.reply not in leased_replies
            if is_left and follower.renewed_at < two_renewals_ago:
                self._remove(follower, settings.CHATAPP_CLOSE_GRACE)

    def leave(self, worker: UUID, reply: UUID, grace: float) -> None:
        """Remove `worker`, whose last viewer of the reply has left."""
        if follower := self._followers.get((worker, reply)):
            self._remove(follower, grace)

    def remove_dead_workers(self, alive: Collection[UUID]) -> None:
        """Remove workers that the database no longer lists."""
        for follower in list(self._followers.values()):
            if follower.worker not in alive:
                self._remove(follower, settings.CHATAPP_DROP_GRACE)

    def end_leases(self) -> None:
        """Remove followers that did not renew their lease although the bus was working."""
        if not self._bus.answers:
            return
        since = self._bus.now() - LEASE_SECONDS
        for follower in list(self._followers.values()):
            if max(follower.renewed_at, self._bus.answers_since) < since:
                self._remove(follower, settings.CHATAPP_DROP_GRACE)

    def end(self, reply: UUID) -> None:
        """Tell the reply's followers that it is saved and shown, and remove them."""
        for follower in list(self._followers.values()):
            if follower.reply == reply:
                follower.post_ended()
                del self._followers[follower.worker, reply]

    def _remove(self, follower: Follower, grace: float) -> None:
        del self._followers[follower.worker, follower.reply]
        follower.leave(grace)
