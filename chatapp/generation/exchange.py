"""This process among others: their replies that its tabs await, and its own that they show.

The database is the truth, looked at about once a second: what streams in the conversations that are
shown here, and who lives. Letters make it quick. Three kinds of loss are met so: a letter that gets
lost (frames are numbered, see `remote`), a process that dies (the database forgets it), and the
layer itself being away (leases wait, the database still tells of what has ended).
"""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any
from uuid import UUID

from django.conf import settings

from chatapp.generation.audience import Tab
from chatapp.generation.generation import Generation
from chatapp.generation.mail import Letter, Mail
from chatapp.generation.presence import Sighting
from chatapp.generation.remote import Follower, RemoteReply
from chatapp.generation.tabs import Tabs
from chatapp.upstream.reply import Ending

logger = logging.getLogger(__name__)

RENEW_SECONDS = 1.0
LISTEN_SECONDS = 0.2  # between looks at whether others are still heard
LEASE_SECONDS = 5.0  # of another process on a reply of ours

FindGeneration = Callable[[UUID], Generation | None]  # by the conversation it runs in
LookAgain = Callable[[Iterable[int] | None], None]  # at these people, or at everybody


class Exchange:
    """`process` is this one's id; `running` finds what it writes.

    `look_again_at` is called where another process tells that something has changed about people.
    """

    def __init__(
        self, process: UUID, tabs: Tabs, running: FindGeneration, look_again_at: LookAgain
    ) -> None:
        # What changed while the layer was away was told to nobody.
        self.mail = Mail(process, self._take, when_back=lambda: look_again_at(None))
        self._look_again_at = look_again_at
        self._process = process
        self._tabs = tabs
        self._running = running
        self._remote: dict[UUID, RemoteReply] = {}
        self._followers: dict[tuple[UUID, UUID], tuple[Follower, Generation]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._kinds: dict[str, Callable[..., Awaitable[None]]] = {
            "watch": self._take_watch,
            "renew": self._take_renewal,
            "leave": self._take_leave,
            "stop": self._take_stop,
            "decide": self._take_decision,
            "frame": self._take_frame,
            "snapshot": self._take_snapshot,
            "ended": self._take_ended,
            "running": self._take_running,
            "gone": self._take_gone,
            "turn": self._take_turn,
            "people": self._take_people,
        }

    @property
    def conversations(self) -> set[UUID]:
        """What the database is to be asked about."""
        awaited = {remote.conversation for remote in list(self._remote.values())}
        return self._tabs.conversations() | awaited

    async def run(self) -> None:
        """Hears and is heard until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.mail.run())
            tasks.create_task(self._renew())
            tasks.create_task(self._notice_silence())

    # For the tabs of this process

    def remote(self, conversation: UUID | None, tab: Tab) -> RemoteReply | None:
        """The reply that another process writes in the conversation, where `tab` awaits it."""
        for remote in self._remote.values():
            if remote.conversation == conversation and remote.is_awaited_by(tab):
                return remote
        return None

    def watch(self, tab: Tab, conversation: UUID, reply: UUID, owner: UUID) -> None:
        """`tab` awaits a reply that `owner` writes; its snapshot comes, and then what follows."""
        if reply not in self._remote:
            showing = self._tabs.showing(conversation)
            self._remote[reply] = RemoteReply(reply, conversation, owner, showing, self.mail)
        self._remote[reply].join(tab)

    def leave(self, tab: Tab, grace: float) -> None:
        """`tab` is gone."""
        for remote in list(self._remote.values()):
            remote.leave(tab, grace)
            if not remote.has_tabs:
                self._drop(remote)

    def tell_of_turn(self, user: int, conversation: UUID) -> None:
        """A turn has begun here: other processes have tabs of it, perhaps."""
        self.mail.post_to_user(user, "turn", conversation.hex)

    def tell_of_people(self, people: Iterable[int] | None) -> None:
        """Something has changed about these people: other processes look at them, too."""
        self.mail.post_to_all("people", None if people is None else list(people))

    def see(self, sighting: Sighting) -> None:
        """Brings the tabs up to date with what the database says of the conversations they show."""
        streaming = {reply: (conversation, by) for conversation, reply, by in sighting.streaming}
        for remote in list(self._remote.values()):
            if remote.reply in streaming:
                remote.is_over = False
            elif remote.is_over:
                self._drop(remote)
                self._catch_up(remote.conversation)
            else:
                remote.is_over = True  # its last frames may be on their way, until the next look
        for conversation, by in streaming.values():
            here = self._running(conversation)
            if by and by != self._process and not here and not self._is_shown_right(conversation):
                self._catch_up(conversation)
        for (process, _), (follower, generation) in list(self._followers.items()):
            if process not in sighting.alive:
                self._drop_follower(follower, generation, settings.CHATAPP_DROP_GRACE)

    # For the replies of this process

    def end(self, generation: Generation) -> None:
        """The reply is saved and shown: tells the processes that follow it."""
        for (process, reply), (follower, followed) in list(self._followers.items()):
            if followed is generation:
                follower.post_ended()
                del self._followers[process, reply]

    # Letters

    async def _take(self, sender: UUID, letter: Letter) -> None:
        if sender == self._process:
            return  # what is told to everybody comes here too
        try:
            await self._kinds[letter[0]](sender, *letter[1:])
        except Exception:  # whatever is wrong with one letter, the next is read
            logger.exception("A letter could not be used: %s", letter[0])

    async def _take_watch(self, sender: UUID, reply: str, conversation: str) -> None:
        generation = self._running_reply(UUID(reply), UUID(conversation))
        if generation is None:
            self.mail.post(sender, "gone", reply)
            return
        follower = self._follower(sender, generation)
        follower.renewed_at = time.monotonic()
        generation.audience.follow(follower)
        follower.post_snapshot(await generation.snapshot())

    async def _take_renewal(self, sender: UUID, replies: list[str]) -> None:
        held = {UUID(reply) for reply in replies}
        answers: list[list[Any]] = []
        for reply in held:
            found = self._followers.get((sender, reply))
            answers.append([reply.hex, found[0].sequence if found else None])
            if found:
                found[0].renewed_at = time.monotonic()
        self.mail.post(sender, "running", answers)
        # Whoever no longer holds a reply, and said so twice, left it by a letter that was lost.
        twice = time.monotonic() - 1.5 * RENEW_SECONDS
        for (process, reply), (follower, generation) in list(self._followers.items()):
            if process == sender and reply not in held and follower.renewed_at < twice:
                self._drop_follower(follower, generation, settings.CHATAPP_CLOSE_GRACE)

    async def _take_leave(self, sender: UUID, reply: str, grace: float) -> None:
        if found := self._followers.get((sender, UUID(reply))):
            self._drop_follower(*found, grace)

    async def _take_stop(self, sender: UUID, reply: str, conversation: str, ending: str) -> None:
        if generation := self._running_reply(UUID(reply), UUID(conversation)):
            generation.stop(Ending(ending))

    async def _take_decision(
        self, sender: UUID, reply: str, conversation: str, round: int, call: int, allowed: bool
    ) -> None:
        if generation := self._running_reply(UUID(reply), UUID(conversation)):
            generation.decide(round, call, allowed)

    async def _take_frame(self, sender: UUID, reply: str, sequence: int, frame: str) -> None:
        if remote := self._remote.get(UUID(reply)):
            await remote.take_frame(sequence, frame)

    async def _take_snapshot(self, sender: UUID, reply: str, sequence: int, html: str) -> None:
        if remote := self._remote.get(UUID(reply)):
            await remote.take_snapshot(sequence, html)

    async def _take_ended(self, sender: UUID, reply: str, sequence: int, _: str) -> None:
        if remote := self._remote.get(UUID(reply)):
            behind = remote.take_ended(sequence)
            self._drop(remote)
            for tab in behind:
                self._start(tab.catch_up(remote.conversation))

    async def _take_running(self, sender: UUID, replies: list[tuple[str, int | None]]) -> None:
        for reply, sequence in replies:
            if not (remote := self._remote.get(UUID(reply))):
                continue
            if sequence is None:
                remote.ask()
            else:
                remote.take_sequence(sequence)

    async def _take_gone(self, sender: UUID, reply: str) -> None:
        if remote := self._remote.get(UUID(reply)):
            remote.is_over = True  # `see` asks the database

    async def _take_turn(self, sender: UUID, conversation: str) -> None:
        self._catch_up(UUID(conversation))

    async def _take_people(self, sender: UUID, people: list[int] | None) -> None:
        self._look_again_at(people)

    # Upkeep

    async def _renew(self) -> None:
        """Renews leases on replies elsewhere, ends those on ours that were not renewed."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                await self._renew_once()
            except Exception:  # whatever is wrong with one reply, the others stay open
                logger.exception("Leases could not be renewed")

    async def _renew_once(self) -> None:
        held: defaultdict[UUID, list[str]] = defaultdict(list)
        for remote in list(self._remote.values()):
            held[remote.owner].append(remote.reply.hex)
            remote.repeat_wishes()
        for owner, replies in held.items():
            self.mail.post(owner, "renew", replies)
        if self.mail.answers:
            self._end_leases(time.monotonic() - LEASE_SECONDS)

    async def _notice_silence(self) -> None:
        """Tells tabs soon why a reply that is written elsewhere stands still."""
        while True:
            await asyncio.sleep(LISTEN_SECONDS)
            for remote in list(self._remote.values()):
                try:
                    await remote.notice_silence()
                except Exception:  # whatever is wrong with one reply, others are looked after
                    logger.exception("A silence could not be told")

    def _end_leases(self, since: float) -> None:
        for follower, generation in list(self._followers.values()):
            if max(follower.renewed_at, self.mail.answers_since) < since:
                self._drop_follower(follower, generation, settings.CHATAPP_DROP_GRACE)

    def _follower(self, process: UUID, generation: Generation) -> Follower:
        reply = generation.message.pk
        if (process, reply) not in self._followers:
            follower = Follower(process, reply, generation.audience, self.mail)
            self._followers[process, reply] = follower, generation
        return self._followers[process, reply][0]

    def _drop_follower(self, follower: Follower, generation: Generation, grace: float) -> None:
        del self._followers[follower.process, generation.message.pk]
        generation.audience.leave(follower, grace)

    def _running_reply(self, reply: UUID, conversation: UUID) -> Generation | None:
        generation = self._running(conversation)
        return generation if generation and generation.message.pk == reply else None

    def _is_shown_right(self, conversation: UUID) -> bool:
        """Whether every tab that shows the conversation awaits what is written in it elsewhere."""
        showing = self._tabs.showing(conversation)
        return all(self.remote(conversation, tab) for tab in showing)

    def _catch_up(self, conversation: UUID) -> None:
        for tab in list(self._tabs.showing(conversation)):
            self._start(tab.catch_up(conversation))

    def _drop(self, remote: RemoteReply) -> None:
        self._remote.pop(remote.reply, None)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
