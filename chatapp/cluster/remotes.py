"""The replies of other workers that viewers of this one await."""

import logging
from collections import defaultdict
from collections.abc import Collection
from uuid import UUID

from chatapp.cluster.bus import Bus
from chatapp.cluster.messages import Renew
from chatapp.cluster.remote import RemoteReply
from chatapp.viewers import Viewer, Viewers

logger = logging.getLogger(__name__)


class Remotes:
    def __init__(self, bus: Bus, viewers: Viewers) -> None:
        self._bus = bus
        self._viewers = viewers
        self._remotes: dict[UUID, RemoteReply] = {}

    def get(self, reply: UUID) -> RemoteReply | None:
        return self._remotes.get(reply)

    def conversations(self) -> set[UUID]:
        """Those that they run in; may be asked from any thread."""
        return {remote.conversation for remote in list(self._remotes.values())}

    def awaited_by(self, viewer: Viewer, conversation: UUID | None) -> list[RemoteReply]:
        """Those that run in the conversation and that `viewer` awaits."""
        return [
            remote
            for remote in self._remotes.values()
            if remote.conversation == conversation and remote.is_awaited_by(viewer)
        ]

    def watch(self, viewer: Viewer, conversation: UUID, reply: UUID, owner: UUID) -> None:
        """`viewer` awaits a reply that `owner` writes; its snapshot comes, then what follows."""
        if reply not in self._remotes:
            showing = self._viewers.showing(conversation)
            self._remotes[reply] = RemoteReply(reply, conversation, owner, showing, self._bus)
        self._remotes[reply].join(viewer)

    def leave(self, viewer: Viewer, grace: float) -> None:
        """`viewer` is gone."""
        for remote in list(self._remotes.values()):
            remote.leave(viewer, grace)
            if not remote.has_viewers:
                self.drop(remote)

    def drawn(self, viewer: Viewer, conversation: UUID, streaming: Collection[UUID]) -> None:
        """`viewer` shows the conversation as it is stored, where `streaming` alone are not whole:
        frames of other replies that come late are part of what it shows."""
        for remote in list(self._remotes.values()):
            if remote.conversation == conversation and remote.reply not in streaming:
                remote.forget(viewer)
                if not remote.has_viewers:
                    self.drop(remote)

    def drop(self, remote: RemoteReply) -> None:
        self._remotes.pop(remote.reply, None)

    def drop_ended(self, streaming: Collection[UUID]) -> list[UUID]:
        """Drops those that did not stream twice in a row; returns their conversations.

        The last frames of one that has just ended may be on their way.
        """
        ended = []
        for remote in list(self._remotes.values()):
            if remote.reply in streaming:
                remote.is_over = False
            elif remote.is_over:
                self.drop(remote)
                ended.append(remote.conversation)
            else:
                remote.is_over = True
        return ended

    def renew(self) -> None:
        """Renews the leases on all of them, and repeats commands that may have been lost."""
        held: defaultdict[UUID, set[UUID]] = defaultdict(set)
        for remote in list(self._remotes.values()):
            held[remote.owner].add(remote.reply)
            remote.repeat_commands()
        for owner, replies in held.items():
            self._bus.post(owner, Renew(frozenset(replies)))

    async def notice_silence(self) -> None:
        """Tells viewers soon why a reply that is written elsewhere stands still."""
        for remote in list(self._remotes.values()):
            try:
                await remote.notice_silence()
            except Exception:  # whatever is wrong with one reply, others are looked after
                logger.exception("A silence could not be told")
