"""A reply that another worker writes, its owner, as far as the viewers here have it.

Frames are numbered. Who sees a gap asks for a snapshot, which has the number of the last frame that
it holds; so whatever the bus loses, repeats or puts in another order, a viewer's page is always
what some prefix of the frames makes of it.
"""

from uuid import UUID

from chatapp import metrics
from chatapp.cluster.bus import Bus
from chatapp.cluster.messages import Command, Decide, Leave, Stop, Watch
from chatapp.frames import delay_frame
from chatapp.upstream.wire.reply import Ending
from chatapp.viewers import Showing, Viewer, show_to

SILENT = (
    "The server that writes this reply can't be heard at the moment. "
    "This page catches up by itself."
)
SILENCE_SECONDS = 3.0  # of an owner, who is asked once a second whether the reply still runs
ASK_AGAIN_SECONDS = 1.0
MOST_COMMANDS = 20  # that are repeated


class RemoteReply:
    """Seen from here: frames come in, and what its viewers want goes out."""

    def __init__(
        self, reply: UUID, conversation: UUID, owner: UUID, showing: Showing, bus: Bus
    ) -> None:
        self.reply = reply
        self.conversation = conversation
        self.owner = owner
        self.is_over = False  # the owner has it no more, as far as is known
        self._showing = showing
        self._waiting: set[Viewer] = set()
        self._behind: set[Viewer] = set()  # those that a snapshot must come for first
        self._sequence = 0
        self._bus = bus
        self._heard_at = bus.now()
        self._asked_at: float | None = None  # for a snapshot that has not come
        self._commands: list[Command] = []
        self._told: set[Viewer] = set()  # those that show that the owner can't be heard

    # For viewers

    @property
    def has_viewers(self) -> bool:
        return bool(self._waiting)

    def is_awaited_by(self, viewer: Viewer) -> bool:
        return viewer in self._waiting

    def join(self, viewer: Viewer) -> None:
        """`viewer` shows and awaits the reply from now on; a snapshot comes for it."""
        metrics.snapshots.labels("join").inc()
        self._waiting.add(viewer)
        self._behind.add(viewer)
        if self._may_ask:
            self._ask()

    def leave(self, viewer: Viewer, grace: float) -> None:
        """`viewer` is gone; the owner hears of the last one's leaving."""
        if viewer in self._waiting:
            self.forget(viewer)
            if not self._waiting:
                self._bus.post(self.owner, Leave(self.reply, grace))

    def forget(self, viewer: Viewer) -> None:
        """`viewer` awaits it no more, as far as is known: no reply is ended for that."""
        for viewers in (self._waiting, self._behind, self._told):
            viewers.discard(viewer)

    def stop(self, ending: Ending) -> None:
        self._command(Stop(self.reply, self.conversation, ending))

    def decide(self, round: int, call: int, allowed: bool) -> None:
        """A person allows or denies a tool call."""
        self._command(Decide(self.reply, self.conversation, round, call, allowed))

    # From the owner

    async def take_frame(self, sequence: int, frame: str) -> None:
        self._heard_at = self._bus.now()
        if sequence == self._sequence + 1:
            self._sequence = sequence
            await show_to((self._waiting & self._showing) - self._behind, frame)
        elif sequence > self._sequence:
            self._catch_up_all()

    async def take_snapshot(self, sequence: int, html: str) -> None:
        self._heard_at = self._bus.now()
        if sequence < self._sequence:
            self._ask()
            return
        viewers = self._waiting if sequence > self._sequence else self._behind
        self._sequence, self._behind, self._asked_at = sequence, set(), None
        self._told = set()
        await show_to(viewers & self._showing, html)

    def take_sequence(self, sequence: int | None) -> None:
        """How far the owner is; None where it does not know that it is followed from here."""
        if sequence is None:
            self._ask()
            return
        self._heard_at = self._bus.now()
        if sequence > self._sequence:
            self._catch_up_all()

    def take_ended(self, sequence: int) -> set[Viewer]:
        """The reply has ended and is saved; returns the viewers that have not seen all of it."""
        self.is_over = True
        is_whole = sequence == self._sequence
        return self._waiting - self._showing | self._behind if is_whole else set(self._waiting)

    # Upkeep

    def repeat_commands(self) -> None:
        """One may be lost; the owner takes no harm from one that it has had."""
        for command in self._commands[-MOST_COMMANDS:]:
            self._bus.post(self.owner, command)

    async def notice_silence(self) -> None:
        """Tells the viewers where the owner was not heard for long; asks again what it missed."""
        if self._bus.now() - self._heard_at >= SILENCE_SECONDS or not self._bus.answers:
            untold = (self._waiting & self._showing) - self._told
            self._told |= untold
            if untold:
                await show_to(untold, delay_frame(self.reply, SILENT))
            self._behind = set(self._waiting)
        if self._behind and self._may_ask:
            self._ask()

    def _ask(self) -> None:
        """Follows the reply, by a request for a snapshot."""
        self._asked_at = self._bus.now()
        self._bus.post(self.owner, Watch(self.reply, self.conversation))

    @property
    def _may_ask(self) -> bool:
        """Whether no snapshot is on its way."""
        return self._asked_at is None or self._bus.now() - self._asked_at >= ASK_AGAIN_SECONDS

    def _catch_up_all(self) -> None:
        self._behind = set(self._waiting)
        if self._may_ask:
            metrics.snapshots.labels("gap").inc()
            self._ask()

    def _command(self, command: Command) -> None:
        self._bus.post(self.owner, command)
        if command not in self._commands:
            self._commands.append(command)
