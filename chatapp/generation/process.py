"""One process: what streams in it, its tabs, and its place among others."""

import asyncio
import logging
import random
import time
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import Context
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import Error, InterfaceError, OperationalError

from chatapp import metrics
from chatapp.allowance import Allowances
from chatapp.catalogue import Catalogue
from chatapp.close_codes import CloseCode
from chatapp.generation.audience import Tab
from chatapp.generation.exchange import Exchange
from chatapp.generation.generation import Generation
from chatapp.generation.mail import post_from_outside
from chatapp.generation.presence import Presence, Sighting
from chatapp.generation.revocation import Revocation
from chatapp.generation.storing import stored
from chatapp.generation.tabs import Tabs
from chatapp.generation.writer import Toolless
from chatapp.journal import Journal, Segment
from chatapp.models import Message
from chatapp.pace import OneAtATime, Pace
from chatapp.tools import close_shared_toolbox
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.dialects import ChatMessage
from chatapp.upstream.reply import Ending

logger = logging.getLogger(__name__)

CHECKPOINT_LOOK_SECONDS = 0.1
DRAIN_LOOK_SECONDS = 0.05
SAVE_SECONDS = 5.0  # that a drain waits for the database at its end
MOST_JITTER_SECONDS = 3.0
TABS_AT_WORK = 4  # that one person may use with all haste at once


class Generations:
    """What streams in this process, its tabs, and its exchange with other processes.

    One reply runs in a conversation at a time, in whatever process: the database sees to that.
    """

    def __init__(self, process: UUID) -> None:
        self.process = process
        self.client = UpstreamClient(usage_seconds=settings.CHATAPP_USAGE_SECONDS)
        self.catalogue = Catalogue(self.client)
        self.tabs = Tabs()
        self.revocation = Revocation(self.tabs, lambda: list(self._running.values()))
        look_again_at = self.revocation.look_again_at
        actions = settings.CHATAPP_ACTIONS_PER_SECOND
        # A person may act in several tabs at once, and after a restart all of them come back.
        self.allowances = Allowances(TABS_AT_WORK * actions, 2 * settings.CHATAPP_TABS_PER_PERSON)
        self.exchange = Exchange(self.process, self.tabs, self.running, look_again_at)
        self.is_draining = False
        self._prompts = 0  # that are being stored
        self.one_prompt_at_a_time = OneAtATime()
        self._presence: Presence | None = None
        self._journal: Journal | None = None
        self._exchanging: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # there is one when somebody comes
        self._looking: asyncio.Task[None] | None = None
        self._pace = Pace()
        self._toolless: Toolless = set()
        self._running: dict[UUID, Generation] = {}
        metrics.replies_running.set_function(lambda: len(self._running))
        self._tasks: set[asyncio.Task[None]] = set()
        self._asides: set[asyncio.Task[None]] = set()
        self._strays: frozenset[UUID] = frozenset()  # stored as streaming here, and not running
        self._upkeep: list[asyncio.Task[None]] = []

    def begin(self, presence: Presence) -> None:
        """Is a process of the installation from now on: seen by others, and heard by them."""
        loop = self._loop = asyncio.get_running_loop()

        def see(sighting: Sighting) -> None:
            loop.call_soon_threadsafe(self._see, sighting)

        presence.attend(lambda: self.exchange.conversations, see)
        self._presence = presence
        self._journal = Journal(self.process)
        self._looking = asyncio.create_task(self.revocation.run())
        if not presence.process.is_alone:
            self._exchanging = asyncio.create_task(self.exchange.run())
            self._exchanging.add_done_callback(_log_failure)

    @property
    def database_answers(self) -> bool:
        """Whether the database could be reached about a second ago."""
        return self._presence is None or self._presence.database_answers

    @property
    def layer_answers(self) -> bool:
        """Whether other processes can be heard; true where there are none."""
        return self._exchanging is None or self.exchange.mail.answers

    def running(self, conversation: UUID | None) -> Generation | None:
        return self._running.get(conversation) if conversation else None

    def start(self, message: Message, history: list[ChatMessage], tab: Tab) -> Generation:
        """Streams what `message` is to become; `tab` and those that show it wait for it."""
        conversation = message.conversation_id
        showing = self.tabs.showing(conversation)
        generation = Generation(
            message,
            history,
            self.client,
            self._pace,
            self._toolless,
            showing,
            self._journal.open(message.pk) if self._journal else Segment.off(),
        )
        for watcher in {tab, *showing}:
            generation.audience.join(watcher)
        if given_up := self._running.get(conversation):  # while this process was taken for dead
            given_up.stop(Ending.INTERRUPTED)
        self._running[conversation] = generation
        task = asyncio.create_task(self._run(generation))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if not self._upkeep:
            own = Context()  # not that of the request that happens to be the first
            self._upkeep = [
                asyncio.create_task(self._pace.watch(), context=own),
                asyncio.create_task(self._checkpoint(), context=own),
            ]
        self.exchange.tell_of_turn(message.conversation.user_id, conversation)
        return generation

    @contextmanager
    def taking_prompt(self) -> Iterator[None]:
        """While a turn is stored and started: a drain waits for it."""
        self._prompts += 1
        try:
            yield
        finally:
            self._prompts -= 1

    @property
    def sends_tabs_away(self) -> bool:
        """Whether tabs are better off in another process, since this one stops."""
        return self.is_draining and self._exchanging is not None

    async def welcome(self, tab: Tab) -> None:
        self._loop = asyncio.get_running_loop()
        metrics.viewers.inc()
        self.tabs.add(tab)
        await self.exchange.mail.follow(tab.user_id)
        if self.sends_tabs_away:  # since it was let in
            self._send_away(tab)

    def show(self, tab: Tab, conversation: UUID | None) -> None:
        """`tab` shows this conversation now, and waits for the reply that runs in it."""
        self.tabs.show(tab, conversation)
        if generation := self.running(conversation):
            generation.audience.join(tab)

    def leave(self, tab: Tab, grace: float) -> None:
        """`tab` is gone: replies that only it waited for end in `grace` seconds."""
        if tab in self.tabs:
            self.tabs.remove(tab)
            metrics.viewers.dec()
            self.exchange.mail.unfollow(tab.user_id)
        for generation in list(self._running.values()):
            generation.audience.leave(tab, grace)
        self.exchange.leave(tab, grace)

    def look_again_at(self, people: Iterable[int] | None) -> None:
        """Something has changed about these people, or about anybody: told from any thread."""

        def look() -> None:
            self.exchange.tell_of_people(people)
            self.revocation.look_again_at(people)

        if self._loop:
            with suppress(RuntimeError):  # it is closed: nobody has a tab here any more
                self._loop.call_soon_threadsafe(look)

    async def drain(self, seconds: float) -> None:
        """Takes no more prompts, gives what runs this long to end, and saves the rest.

        Where there are other processes, the tabs are sent to them at once, not all together.
        """
        self.is_draining = True
        if self._exchanging:
            self._send_tabs_away(within=min(MOST_JITTER_SECONDS, seconds / 4))
        give_up_at = time.monotonic() + seconds
        while self._is_busy and time.monotonic() < give_up_at:  # noqa: ASYNC110 - of three things
            await asyncio.sleep(DRAIN_LOOK_SECONDS)
        for generation in list(self._running.values()):
            generation.stop(Ending.INTERRUPTED)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=SAVE_SECONDS)
        for generation in list(self._running.values()):
            logger.error("Reply %s is saved only in part", generation.message.pk)
        for tab in self.tabs:
            await tab.close(CloseCode.RESTARTING)
        self.revocation.close()
        if self._looking:
            self._looking.cancel()
        await self._end_exchange()
        await self.catalogue.aclose()
        await self.client.aclose()
        await close_shared_toolbox()
        if self._journal:
            self._journal.close()

    @property
    def _is_busy(self) -> bool:
        """Whether replies run or begin, or tabs are still being sent away."""
        return bool(self._prompts or self._tasks or (self._exchanging and list(self.tabs)))

    def _send_tabs_away(self, within: float) -> None:
        loop = asyncio.get_running_loop()
        for tab in self.tabs:
            seconds = random.uniform(0, within)  # noqa: S311 - so that they don't come all at once
            loop.call_later(seconds, self._send_away, tab)

    def _send_away(self, tab: Tab) -> None:
        self._start(tab.close(CloseCode.RESTARTING))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)

    async def _end_exchange(self) -> None:
        if self._exchanging:
            await self.exchange.mail.until_sent()
            self._exchanging.cancel()
            await asyncio.wait([self._exchanging])
        if self._presence:
            await asyncio.to_thread(self._presence.stop)

    def _see(self, sighting: Sighting) -> None:
        if not self._presence or not self._presence.process.is_alone:
            self.exchange.see(sighting)
        for one in sighting.completed:
            self.exchange.tell_of_turn(one.user, one.conversation)
            for tab in list(self.tabs.showing(one.conversation)):
                self._start(tab.catch_up(one.conversation))
        running = {generation.message.pk for generation in self._running.values()}
        strays = frozenset() if self._prompts else sighting.own - running
        if lost := strays & self._strays:
            self._start(self._interrupt(lost))
        self._strays = strays - lost

    async def _interrupt(self, replies: frozenset[UUID]) -> None:
        """Ends replies that were stored and never begun, or that ended and could not be saved."""
        lost = Message.objects.streaming().filter(pk__in=replies)
        try:
            conversations = [one async for one in lost.values_list("conversation_id", flat=True)]
            await stored(lost.interrupt)
        except Error as error:
            logger.warning("Replies that nobody writes could not be interrupted yet: %s", error)
            return
        logger.error("Replies that nobody was writing were interrupted: %d", len(conversations))
        for conversation in conversations:
            for tab in list(self.tabs.showing(conversation)):
                await tab.catch_up(conversation)

    async def _run(self, generation: Generation) -> None:
        conversation = generation.message.conversation_id
        try:
            await generation.run()
        finally:
            if self._running.get(conversation) is generation:
                del self._running[conversation]
            if not self._running:
                for task in self._upkeep:
                    task.cancel()
                self._upkeep = []
            self.exchange.end(generation)
            if self._presence and self._presence.was_given_up(since=generation.began_at):
                # Other tabs may show that it was interrupted; what is saved now is the truth.
                self.exchange.tell_of_turn(generation.message.conversation.user_id, conversation)

    async def _checkpoint(self) -> None:
        """Saves what has arrived, each reply every few seconds, a few at a time."""
        while True:
            await asyncio.sleep(CHECKPOINT_LOOK_SECONDS)
            if not self.database_answers:
                continue
            if due := [generation for generation in self._running.values() if generation.is_due]:
                await self._save_partial(due, time.monotonic())

    async def _save_partial(self, due: list[Generation], now: float) -> None:
        """Together where that can be, so that one that can't be saved holds up no other."""
        try:
            for generation in due:
                generation.saved_at = now
                generation.writer.update_message()
            replies = [generation.message for generation in due]
            await stored(partial(Message.objects.checkpoint, replies))
        except (OperationalError, InterfaceError) as error:
            logger.warning("A checkpoint failed, the next one saves its text: %s", error)
            for generation in due:
                generation.writer.is_dirty = True
        except Exception:  # of one reply, which is found by saving each alone
            if len(due) == 1:
                logger.exception("Reply %s could not be saved for now", due[0].message.pk)
            else:
                for generation in due:
                    await self._save_partial([generation], now)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        logger.critical("Other processes are not heard any more; restart this one", exc_info=error)


_generations: Generations | None = None


def generations() -> Generations:
    """The one `Generations` of this process, made on the event loop that asks first."""
    global _generations
    if _generations is None:
        _generations = Generations(uuid4())
    return _generations


def begin_as(presence: Presence) -> None:
    """Makes the process's `Generations` known to others, as the database knows the process."""
    global _generations
    _generations = Generations(presence.process.pk)
    _generations.begin(presence)


def look_again_at(people: Iterable[int] | None) -> None:
    """Tells every process that something has changed about these people, or about anybody.

    May be called in any thread, and in a program that serves nobody.
    """
    if _generations is not None:
        _generations.look_again_at(people)
    elif settings.REDIS_URL and not _is_in_event_loop():
        async_to_sync(post_from_outside)("people", None if people is None else list(people))


def _is_in_event_loop() -> bool:
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        return True
    return False


async def shut_down(seconds: float) -> None:
    """Drains and forgets the process's `Generations`."""
    global _generations
    if _generations is not None:
        await _generations.drain(seconds)
        _generations = None
