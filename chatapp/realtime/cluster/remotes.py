"""The replies of other workers that viewers of this one watch."""

import logging
from collections import defaultdict
from collections.abc import Collection
from uuid import UUID

from chatapp.realtime.cluster.bus import Bus
from chatapp.realtime.cluster.messages import Renew
from chatapp.realtime.cluster.remote import RemoteReply
from chatapp.realtime.viewers import Viewer, Viewers, Watcher

logger = logging.getLogger(__name__)


class Remotes:
    def __init__(self, bus: Bus, viewers: Viewers) -> None:
        self._bus = bus
        self._viewers = viewers
        self._remotes: dict[UUID, RemoteReply] = {}

    def get(self, reply: UUID) -> RemoteReply | None:
        return self._remotes.get(reply)

    def conversations(self) -> set[UUID]:
        """Return the conversations that the replies run in. Thread-safe."""
        return {remote.conversation for remote in list(self._remotes.values())}

    def for_viewer(self, viewer: Viewer, conversation: UUID | None) -> list[RemoteReply]:
        """Return the replies of the conversation that `viewer` watches."""
        return [
            remote
            for remote in self._remotes.values()
            if remote.conversation == conversation and remote.is_awaited_by(viewer)
        ]

    def watch(self, viewer: Viewer, conversation: UUID, reply: UUID, owner: UUID) -> None:
        """Let `viewer` watch a reply run by `owner`: first a snapshot, then the frames after it."""
        self._get_or_create(conversation, reply, owner).join(viewer)

    def follow(self, follower: Watcher, conversation: UUID, reply: UUID, owner: UUID) -> None:
        """Show a reply run by `owner` to readers of a shared chat, without keeping it alive."""
        self._get_or_create(conversation, reply, owner).follow(follower)

    def unfollow(self, follower: Watcher) -> None:
        for remote in list(self._remotes.values()):
            remote.unfollow(follower)
            if not remote.has_viewers:
                self.remove(remote)

    def _get_or_create(self, conversation: UUID, reply: UUID, owner: UUID) -> RemoteReply:
        if reply not in self._remotes:
            showing = self._viewers.showing(conversation)
            self._remotes[reply] = RemoteReply(reply, conversation, owner, showing, self._bus)
        return self._remotes[reply]

    def leave(self, viewer: Viewer, grace: float) -> None:
        """Remove a viewer that was closed."""
        for remote in list(self._remotes.values()):
            remote.leave(viewer, grace)
            if not remote.has_viewers:
                self.remove(remote)

    def forget_finished(
        self, viewer: Viewer, conversation: UUID, streaming: Collection[UUID]
    ) -> None:
        """Note that `viewer` shows the stored conversation, with only `streaming` unfinished.

        It needs no late frames of the other replies: they are part of what it shows.
        """
        for remote in list(self._remotes.values()):
            if remote.conversation == conversation and remote.reply not in streaming:
                remote.forget(viewer)
                if not remote.has_viewers:
                    self.remove(remote)

    def remove(self, remote: RemoteReply) -> None:
        self._remotes.pop(remote.reply, None)

    def remove_ended(self, streaming: Collection[UUID]) -> list[UUID]:
        """Drop replies that were not streaming at two checks in a row; return their conversations.

        The last frames of a reply that has just ended may still be on their way.
        """
        ended = []
        for remote in list(self._remotes.values()):
            if remote.reply in streaming:
                remote.is_over = False
            elif remote.is_over:
                self.remove(remote)
                ended.append(remote.conversation)
            else:
                remote.is_over = True
        return ended

    def renew(self) -> None:
        """Renew the leases on all replies, and repeat commands that may have been lost."""
        replies_by_owner: defaultdict[UUID, set[UUID]] = defaultdict(set)
        for remote in list(self._remotes.values()):
            replies_by_owner[remote.owner].add(remote.reply)
            remote.repeat_commands()
        for owner, replies in replies_by_owner.items():
            self._bus.post(owner, Renew(frozenset(replies)))

    async def notice_silence(self) -> None:
        """Tell viewers why a remote reply is stalled if its owner is silent."""
        for remote in list(self._remotes.values()):
            try:
                await remote.notice_silence()
            except Exception:  # a failing reply must not hold up the others
                logger.exception("Could not tell viewers that an owner is silent")
