"""Runs replies: one `Generation` a reply, in a task of its own, and `Generations` for the process.

A generation opens the upstream stream, folds its events, hands frames to the tabs that show its
conversation, and ends by its stream's end, by `stop`, or because nobody waits for it any more. It
closes the upstream first and saves afterwards; nothing that arrived is lost, whatever the ending.
"""

import asyncio
import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol
from uuid import UUID

from channels.db import database_sync_to_async
from django.db import DatabaseError

from chatapp.catalogue import Catalogue, endpoint_of
from chatapp.frames import LiveReply, sidebar_frame, snapshot_frame
from chatapp.models import Message, Usage
from chatapp.pace import Pace
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.dialects import ChatMessage
from chatapp.upstream.events import AnswerDelta, Event, ReasoningDelta, RefusalDelta
from chatapp.upstream.reply import Ending, Reply

logger = logging.getLogger(__name__)

CHECKPOINT_SECONDS = 1.0


class Tab(Protocol):
    """A browser tab on its socket."""

    async def show(self, frame: str) -> None: ...


class Generation:
    """One running reply, the tabs that wait for it and the tabs that show it."""

    def __init__(
        self,
        message: Message,
        history: list[ChatMessage],
        client: UpstreamClient,
        pace: Pace,
        shown_by: set[Tab],
        uncoloured: "asyncio.Queue[Generation]",
    ) -> None:
        self.message = message
        self.reply = Reply()
        self.live = LiveReply(message)
        self.is_dirty = False
        self.saved_at = time.monotonic()
        self._history = history
        self._client = client
        self._pace = pace
        self._shown_by = shown_by
        self._uncoloured = uncoloured
        self._waiting: set[Tab] = set()
        self._wait_until = 0.0
        self._giving_up: asyncio.TimerHandle | None = None
        self._stopped_as: Ending | None = None
        self._started_at = time.monotonic()
        self._thinking_since: float | None = None
        self._flushed_at = 0.0
        self._flush_interval = 0.0
        self._rendering = 0.0  # seconds a flush, smoothed: one block of code is no reason to wait
        self._next_flush: asyncio.TimerHandle | None = None
        self._flushing: asyncio.Task[None] | None = None
        self._stream: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Streams the reply to its end and saves it; returns when it is saved and shown."""
        self._stream = asyncio.create_task(self._read_stream())
        await asyncio.wait([self._stream])
        self._cancel_timers()
        self._end_thinking()
        self.message.duration = time.monotonic() - self._started_at
        try:
            await self._flush(self.live.finish)
        finally:
            await self._save(self._ending())
        frame = self.live.ended_frame() + sidebar_frame(self.message.conversation, running=False)
        for tab in self._shown_by | self._waiting:
            await tab.show(frame)

    async def snapshot(self) -> str:
        """The frame that draws the reply as far as every tab that shows it has it."""
        await self._flush(self.live.changes)
        return snapshot_frame(self.live.view())

    async def colour(self) -> None:
        """Colours the code of one finished block."""
        await self._show_everywhere(self.live.colour())
        if not self.live.is_coloured:
            self._uncoloured.put_nowait(self)

    def stop(self, ending: Ending) -> None:
        """Closes the upstream now; the reply is saved with this ending."""
        if self._stream and not self._stream.done() and not self._stopped_as:
            self._stopped_as = ending
            self._stream.cancel()

    def join(self, tab: Tab) -> None:
        """`tab` waits for this reply: the upstream stays open for it."""
        self._waiting.add(tab)
        if self._giving_up:
            self._giving_up.cancel()
            self._giving_up = None

    def leave(self, tab: Tab, grace: float) -> None:
        """`tab` is gone; where it was the last, the reply ends `grace` seconds from now."""
        if tab not in self._waiting:
            return
        self._waiting.discard(tab)
        loop = asyncio.get_running_loop()
        self._wait_until = max(self._wait_until, loop.time() + grace)
        if self._waiting or math.isinf(self._wait_until):
            return
        if self._wait_until <= loop.time():
            self.stop(Ending.ABANDONED)
        else:
            self._giving_up = loop.call_at(self._wait_until, self.stop, Ending.ABANDONED)

    async def _read_stream(self) -> None:
        assert self.message.upstream
        endpoint = endpoint_of(self.message.upstream)
        async with self._client.stream(endpoint, self.message.model, self._history) as batches:
            async for events in batches:
                for event in events:
                    self._apply(event)
                self.is_dirty = True
                await self._flush_in_time()

    def _apply(self, event: Event) -> None:
        self.reply.apply(event)
        match event:
            case ReasoningDelta(text):
                self._thinking_since = self._thinking_since or time.monotonic()
                self._show("reasoning", text)
            case AnswerDelta(text):
                self._end_thinking()
                self._show("answer", text)
            case RefusalDelta(text):
                self._end_thinking()
                self._show("refusal", text)

    def _show(self, region: str, text: str) -> None:
        if self.message.time_to_first_token is None:
            self.message.time_to_first_token = time.monotonic() - self._started_at
        self.live.append(region, text)

    def _end_thinking(self) -> None:
        if self._thinking_since and self.message.reasoning_duration is None:
            self.message.reasoning_duration = time.monotonic() - self._thinking_since

    async def _flush_in_time(self) -> None:
        """Flushes now, or as soon as the last flush is old enough."""
        if self._next_flush or not self._shown_by:
            return
        early = self._flushed_at + self._flush_interval - time.monotonic()
        if early <= 0:
            await self._flush(self.live.changes)
        else:
            loop = asyncio.get_running_loop()
            self._next_flush = loop.call_later(early, self._flush_now)

    def _flush_now(self) -> None:
        self._next_flush = None
        self._flushing = asyncio.create_task(self._flush(self.live.changes))

    async def _flush(self, changes: Callable[[], str]) -> None:
        self._flushed_at = time.monotonic()
        frame = changes()
        self._rendering += 0.2 * (time.monotonic() - self._flushed_at - self._rendering)
        self._flush_interval = self._pace.interval(self._rendering)
        await self._show_everywhere(frame)
        if not self.live.is_coloured:
            self._uncoloured.put_nowait(self)

    async def _show_everywhere(self, frame: str) -> None:
        if frame:
            for tab in list(self._shown_by):
                await tab.show(frame)

    def _ending(self) -> Ending:
        assert self._stream
        error = None if self._stream.cancelled() else self._stream.exception()
        if error:
            logger.error("Reply %s failed", self.message.pk, exc_info=error)
            return Ending.FAILED
        if self._stopped_as and not self.reply.finish_reason:
            return self._stopped_as
        return self.reply.ending

    async def _save(self, ending: Ending) -> None:
        try:
            await database_sync_to_async(self.message.finish)(
                self.reply, ending, self._usage(ending)
            )
        except DatabaseError:
            logger.exception("Reply %s could not be saved", self.message.pk)

    def _usage(self, ending: Ending) -> Usage:
        if self.reply.usage:
            return Usage.counted(Usage.Provenance.REPORTED, self.reply.usage)
        was_cut_short = ending not in (Ending.COMPLETE, Ending.LENGTH, Ending.CONTENT_FILTER)
        has_arrived = self.message.time_to_first_token is not None
        if was_cut_short and (has_arrived or not self.reply.error):
            estimate = self.reply.estimated_usage(self._history)
            return Usage.counted(Usage.Provenance.ESTIMATED, estimate)
        return Usage.counted(Usage.Provenance.UNKNOWN, None)

    def _cancel_timers(self) -> None:
        for timer in (self._giving_up, self._next_flush):
            if timer:
                timer.cancel()


class Generations:
    """All that streams in this process, and which tab shows which conversation.

    One reply runs in a conversation at a time; `claim` keeps its place while it is being stored.
    """

    def __init__(self) -> None:
        self.client = UpstreamClient()
        self.catalogue = Catalogue(self.client)
        self.is_draining = False
        self._pace = Pace()
        self._running: dict[UUID, Generation] = {}
        self._claimed: set[UUID] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._showing: defaultdict[UUID, set[Tab]] = defaultdict(set)
        self._shown: dict[Tab, UUID] = {}
        self._uncoloured: asyncio.Queue[Generation] = asyncio.Queue()
        self._upkeep: list[asyncio.Task[None]] = []

    def running(self, conversation: UUID | None) -> Generation | None:
        return self._running.get(conversation) if conversation else None

    def running_conversations(self) -> set[UUID]:
        return set(self._running)

    @contextmanager
    def claim(self, conversation: UUID) -> Iterator[bool]:
        """Whether a reply may be started in the conversation; nobody else may meanwhile."""
        is_free = conversation not in self._running and conversation not in self._claimed
        if is_free:
            self._claimed.add(conversation)
        try:
            yield is_free
        finally:
            if is_free:
                self._claimed.discard(conversation)

    def start(self, message: Message, history: list[ChatMessage], tab: Tab) -> Generation:
        """Streams the reply that `message` is to become; `tab` waits for it."""
        conversation = message.conversation_id
        generation = Generation(
            message,
            history,
            self.client,
            self._pace,
            self._showing[conversation],
            self._uncoloured,
        )
        generation.join(tab)
        self._running[conversation] = generation
        task = asyncio.create_task(self._run(generation))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if not self._upkeep:
            self._upkeep = [
                asyncio.create_task(self._pace.watch()),
                asyncio.create_task(self._checkpoint()),
                asyncio.create_task(self._colour()),
            ]
        return generation

    def tabs_showing(self, conversation: UUID) -> list[Tab]:
        return list(self._showing[conversation])

    def show(self, tab: Tab, conversation: UUID | None) -> None:
        """`tab` shows this conversation now, and waits for the reply that runs in it."""
        before = self._shown.pop(tab, None)
        if before:
            self._showing[before].discard(tab)
            if not self._showing[before] and before not in self._running:
                del self._showing[before]
        if conversation:
            self._shown[tab] = conversation
            self._showing[conversation].add(tab)
            if generation := self._running.get(conversation):
                generation.join(tab)

    def leave(self, tab: Tab, grace: float) -> None:
        """`tab` is gone: replies that only it waited for end in `grace` seconds."""
        self.show(tab, None)
        for generation in list(self._running.values()):
            generation.leave(tab, grace)

    async def drain(self, seconds: float) -> None:
        """Takes no more prompts, gives what runs this long to end, and saves the rest."""
        self.is_draining = True
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for generation in list(self._running.values()):
            generation.stop(Ending.INTERRUPTED)
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self.client.aclose()

    async def _run(self, generation: Generation) -> None:
        conversation = generation.message.conversation_id
        try:
            await generation.run()
        finally:
            del self._running[conversation]
            if not self._showing[conversation]:
                del self._showing[conversation]
            if not self._running:
                for task in self._upkeep:
                    task.cancel()
                self._upkeep = []

    async def _colour(self) -> None:
        """Colours finished code, one block a turn of the loop, so that tokens go first."""
        while True:
            await (await self._uncoloured.get()).colour()
            await asyncio.sleep(0)

    async def _checkpoint(self) -> None:
        """Saves what has arrived, each reply about once a second, a few at a time."""
        while True:
            await asyncio.sleep(CHECKPOINT_SECONDS / 10)
            now = time.monotonic()
            due = [
                generation
                for generation in self._running.values()
                if generation.is_dirty and now - generation.saved_at >= CHECKPOINT_SECONDS
            ]
            for generation in due:
                generation.is_dirty, generation.saved_at = False, now
            if due:
                await self._save_partial([(one.message, one.reply) for one in due])

    async def _save_partial(self, replies: list[tuple[Message, Reply]]) -> None:
        try:
            await database_sync_to_async(Message.objects.checkpoint)(replies)
        except DatabaseError as error:
            logger.warning("A checkpoint failed, the next one saves its text: %s", error)


_generations: Generations | None = None


def generations() -> Generations:
    """The one `Generations` of this process, made on the event loop that asks first."""
    global _generations
    if _generations is None:
        _generations = Generations()
    return _generations


async def shut_down(seconds: float) -> None:
    """Drains and forgets the process's `Generations`."""
    global _generations
    if _generations is not None:
        await _generations.drain(seconds)
        _generations = None
