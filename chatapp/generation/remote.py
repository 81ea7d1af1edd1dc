"""A reply whose tabs are in another process than the one that writes it.

The process that writes it, its owner, has one `Follower` for each process that shows it; that
process has one `RemoteReply`. Frames are numbered. Who sees a gap asks for a snapshot, which has
the number of the last frame that it holds; so whatever the layer loses, repeats or puts in another
order, a tab's page is always what some prefix of the frames makes of it.
"""

import time
from uuid import UUID

from chatapp import metrics
from chatapp.frames import delay_frame
from chatapp.generation.audience import Audience, Tab, Watcher
from chatapp.generation.mail import Letter, Mail
from chatapp.generation.tabs import Showing
from chatapp.upstream.reply import Ending

SILENT = (
    "The server that writes this reply can't be heard at the moment. "
    "This page catches up by itself."
)
SILENCE_SECONDS = 3.0  # of an owner, who is asked once a second whether the reply still runs
ASK_AGAIN_SECONDS = 1.0
MOST_WISHES = 20  # that are repeated


class Follower(Watcher):
    """Another process that shows a reply of this one, for as long as it renews its lease."""

    def __init__(self, process: UUID, reply: UUID, audience: Audience, mail: Mail) -> None:
        self.process = process
        self.renewed_at = time.monotonic()
        self._reply = reply
        self._audience = audience
        self._mail = mail

    @property
    def sequence(self) -> int:
        """Of the last frame that was posted."""
        return self._audience.sequence

    async def show(self, frame: str) -> None:
        self._post("frame", frame)

    def post_snapshot(self, html: str) -> None:
        """Answers a request; `html` holds all frames until now."""
        self._post("snapshot", html)

    def post_ended(self) -> None:
        """No frame comes after those until now."""
        self._post("ended", "")

    def _post(self, kind: str, html: str) -> None:
        self._mail.post(self.process, kind, self._reply.hex, self.sequence, html)


class RemoteReply:
    """A reply that another process writes, as far as the tabs here have it."""

    def __init__(
        self, reply: UUID, conversation: UUID, owner: UUID, showing: Showing, mail: Mail
    ) -> None:
        self.reply = reply
        self.conversation = conversation
        self.owner = owner
        self.is_over = False  # the owner has it no more, as far as is known
        self._showing = showing
        self._waiting: set[Tab] = set()
        self._behind: set[Tab] = set()  # those that a snapshot must come for first
        self._sequence = 0
        self._mail = mail
        self._heard_at = time.monotonic()
        self._asked_at = 0.0
        self._wishes: list[Letter] = []
        self._told: set[Tab] = set()  # those that show that the owner can't be heard

    @property
    def has_tabs(self) -> bool:
        return bool(self._waiting)

    def is_awaited_by(self, tab: Tab) -> bool:
        return tab in self._waiting

    def join(self, tab: Tab) -> None:
        """`tab` shows and awaits the reply from now on; a snapshot comes for it."""
        metrics.snapshots.labels("join").inc()
        self._waiting.add(tab)
        self._behind.add(tab)
        if time.monotonic() - self._asked_at >= ASK_AGAIN_SECONDS:  # or one is on its way
            self.ask()

    def leave(self, tab: Tab, grace: float) -> None:
        """`tab` is gone; the owner hears of the last one's leaving."""
        if tab in self._waiting:
            for tabs in (self._waiting, self._behind, self._told):
                tabs.discard(tab)
            if not self._waiting:
                self._mail.post(self.owner, "leave", self.reply.hex, grace)

    def stop(self, ending: Ending) -> None:
        self._wish("stop", ending.value)

    def decide(self, round: int, call: int, allowed: bool) -> None:
        """A person allows or denies a tool call."""
        self._wish("decide", round, call, allowed)

    def repeat_wishes(self) -> None:
        """A letter may be lost; the owner takes no harm from one that it has had."""
        for wish in self._wishes[-MOST_WISHES:]:
            self._mail.post(self.owner, *wish)

    async def take_frame(self, sequence: int, frame: str) -> None:
        self._heard_at = time.monotonic()
        if sequence == self._sequence + 1:
            self._sequence = sequence
            await self._show(frame, (self._waiting & self._showing) - self._behind)
        elif sequence > self._sequence:
            self._catch_up_all()

    async def take_snapshot(self, sequence: int, html: str) -> None:
        self._heard_at = time.monotonic()
        if sequence < self._sequence:
            self.ask()
            return
        tabs = self._waiting if sequence > self._sequence else self._behind
        self._sequence, self._behind, self._asked_at = sequence, set(), 0.0
        self._told = set()
        await self._show(html, tabs & self._showing)

    def take_sequence(self, sequence: int) -> None:
        """How far the owner is, where it was asked whether the reply still runs."""
        self._heard_at = time.monotonic()
        if sequence > self._sequence:
            self._catch_up_all()

    def take_ended(self, sequence: int) -> set[Tab]:
        """The reply has ended and is saved; returns the tabs that have not seen all of it."""
        self.is_over = True
        is_whole = sequence == self._sequence
        return self._waiting - self._showing | self._behind if is_whole else set(self._waiting)

    async def notice_silence(self) -> None:
        """Tells the tabs where the owner was not heard for long; asks again what it missed."""
        now = time.monotonic()
        if now - self._heard_at >= SILENCE_SECONDS or not self._mail.answers:
            untold = (self._waiting & self._showing) - self._told
            self._told |= untold
            if untold:
                await self._show(delay_frame(self.reply, SILENT), untold)
            self._behind = set(self._waiting)
        if self._behind and now - self._asked_at >= ASK_AGAIN_SECONDS:
            self.ask()

    def ask(self) -> None:
        """Follows the reply, by a request for a snapshot."""
        self._asked_at = time.monotonic()
        self._mail.post(self.owner, "watch", self.reply.hex, self.conversation.hex)

    def _catch_up_all(self) -> None:
        self._behind = set(self._waiting)
        if time.monotonic() - self._asked_at >= ASK_AGAIN_SECONDS:
            metrics.snapshots.labels("gap").inc()
            self.ask()

    def _wish(self, kind: str, *what: object) -> None:
        wish = (kind, self.reply.hex, self.conversation.hex, *what)
        self._mail.post(self.owner, *wish)
        if wish not in self._wishes:
            self._wishes.append(wish)

    async def _show(self, frame: str, tabs: set[Tab]) -> None:
        for tab in list(tabs):
            await tab.show(frame)
