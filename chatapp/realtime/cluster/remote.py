"""A reply that another worker, its owner, runs, as far as the viewers here have received it.

Frames are numbered. On a gap the worker asks for a snapshot, which carries the number of the last
frame it includes. So whatever the bus loses, repeats or reorders, a viewer's page always shows
exactly some prefix of the frames.
"""

from uuid import UUID

from chatapp import metrics
from chatapp.realtime.cluster.bus import Bus
from chatapp.realtime.cluster.messages import Command, Decide, Leave, Stop, Watch
from chatapp.realtime.viewers import Showing, Viewer, Watcher, show_to
from chatapp.rendering.fragments import delay_fragment
from chatapp.upstream.wire.reply import Ending

SILENT = (
    "The server running this reply can't be reached right now. "
    "This page will catch up automatically."
)
SILENCE_SECONDS = 3.0  # after which viewers are told; an owner is polled once a second
ASK_AGAIN_SECONDS = 1.0
MAX_COMMANDS = 20  # how many are repeated


class RemoteReply:
    """The local proxy of a remote reply: takes its frames and sends its viewers' commands."""

    def __init__(
        self, reply: UUID, conversation: UUID, owner: UUID, showing: Showing, bus: Bus
    ) -> None:
        self.reply = reply
        self.conversation = conversation
        self.owner = owner
        self.is_over = False  # the owner no longer seems to run it
        self._showing = showing
        self._waiting: set[Viewer] = set()
        self._behind: set[Viewer] = set()  # those that need a snapshot first
        self._sequence = 0
        self._bus = bus
        self._heard_at = bus.now()
        self._asked_at: float | None = None  # when a pending snapshot was requested
        self._commands: list[Command] = []
        self._informed: set[Viewer] = set()  # those that show the message `SILENT`
        self._followers: set[Watcher] = set()
        self._are_followers_behind = False

    # For viewers

    @property
    def has_viewers(self) -> bool:
        return bool(self._waiting or self._followers)

    @property
    def has_followers(self) -> bool:
        return bool(self._followers)

    def is_followed_by(self, follower: Watcher) -> bool:
        return follower in self._followers

    def follow(self, follower: Watcher) -> None:
        """Show the reply to readers of a shared chat, beginning with a snapshot."""
        self._followers.add(follower)
        self._are_followers_behind = True
        if self._may_request:
            self._request_snapshot()

    def unfollow(self, follower: Watcher) -> None:
        if follower in self._followers:
            self._followers.discard(follower)
            if not self.has_viewers:
                self._bus.post(self.owner, Leave(self.reply, 0))

    def is_awaited_by(self, viewer: Viewer) -> bool:
        return viewer in self._waiting

    def join(self, viewer: Viewer) -> None:
        """Let `viewer` watch the reply from now on, beginning with a snapshot."""
        metrics.snapshots.labels("join").inc()
        self._waiting.add(viewer)
        self._behind.add(viewer)
        if self._may_request:
            self._request_snapshot()

    def leave(self, viewer: Viewer, grace: float) -> None:
        """Remove a viewer that was closed; tell the owner if it was the last."""
        if viewer in self._waiting:
            self.forget(viewer)
            if not self._waiting:
                self._bus.post(self.owner, Leave(self.reply, grace))
                if self._followers:  # they still get its frames, without keeping it alive
                    self._are_followers_behind = True
                    self._request_snapshot()

    def forget(self, viewer: Viewer) -> None:
        """Remove a viewer that no longer watches the reply, without telling the owner."""
        for viewers in (self._waiting, self._behind, self._informed):
            viewers.discard(viewer)

    def stop(self, ending: Ending) -> None:
        self._command(Stop(self.reply, self.conversation, ending))

    def decide(self, round: int, call: int, allowed: bool, always: bool = False) -> None:
        """Allow or deny a tool call; see `ToolRuns.decide`."""
        self._command(Decide(self.reply, self.conversation, round, call, allowed, always))

    # From the owner

    async def apply_frame(self, sequence: int, frame: str) -> None:
        self._heard_at = self._bus.now()
        if sequence == self._sequence + 1:
            self._sequence = sequence
            await show_to((self._waiting & self._showing) - self._behind, frame)
            if not self._are_followers_behind:
                await show_to(self._followers, frame)
        elif sequence > self._sequence:
            self._catch_up_all()

    async def apply_snapshot(self, sequence: int, html: str, shared: str = "") -> None:
        self._heard_at = self._bus.now()
        if sequence < self._sequence:
            self._request_snapshot()
            return
        viewers = self._waiting if sequence > self._sequence else self._behind
        self._sequence, self._behind, self._asked_at = sequence, set(), None
        self._informed = set()
        await show_to(viewers & self._showing, html)
        if shared:
            self._are_followers_behind = False
            await show_to(self._followers, shared)

    def apply_sequence(self, sequence: int | None) -> None:
        """Apply the owner's last frame number; None means the owner has no follower here."""
        if sequence is None:
            self._request_snapshot()
            return
        self._heard_at = self._bus.now()
        if sequence > self._sequence:
            self._catch_up_all()

    def mark_ended(self, sequence: int) -> set[Viewer]:
        """Note that the reply is saved; return the viewers that have not received all of it."""
        self.is_over = True
        is_whole = sequence == self._sequence
        return self._waiting - self._showing | self._behind if is_whole else set(self._waiting)

    # Upkeep

    def repeat_commands(self) -> None:
        """Send the commands again, since any may be lost; a repeated one has no effect."""
        for command in self._commands[-MAX_COMMANDS:]:
            self._bus.post(self.owner, command)

    async def notice_silence(self) -> None:
        """Tell the viewers if the owner has been silent for long; ask for missing snapshots."""
        if self._bus.now() - self._heard_at >= SILENCE_SECONDS or not self._bus.answers:
            uninformed = (self._waiting & self._showing) - self._informed
            self._informed |= uninformed
            if uninformed:
                await show_to(uninformed, delay_fragment(self.reply, SILENT))
            self._behind = set(self._waiting)
        if (self._behind or self._are_followers_behind) and self._may_request:
            self._request_snapshot()

    def _request_snapshot(self) -> None:
        """Follow the reply by requesting a snapshot."""
        self._asked_at = self._bus.now()
        waits, is_shared = bool(self._waiting), bool(self._followers)
        self._bus.post(self.owner, Watch(self.reply, self.conversation, waits, is_shared))

    @property
    def _may_request(self) -> bool:
        """Whether no requested snapshot is pending."""
        return self._asked_at is None or self._bus.now() - self._asked_at >= ASK_AGAIN_SECONDS

    def _catch_up_all(self) -> None:
        self._behind = set(self._waiting)
        self._are_followers_behind = bool(self._followers)
        if self._may_request:
            metrics.snapshots.labels("gap").inc()
            self._request_snapshot()

    def _command(self, command: Command) -> None:
        self._bus.post(self.owner, command)
        if command not in self._commands:
            self._commands.append(command)
