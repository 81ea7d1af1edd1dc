"""All that streams in this process: which conversation has a running reply, and who shows it."""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from channels.db import database_sync_to_async
from django.db import DatabaseError

from chatapp.catalogue import Catalogue
from chatapp.generation.audience import Tab
from chatapp.generation.flushes import Uncoloured
from chatapp.generation.generation import Generation
from chatapp.generation.writer import Toolless
from chatapp.models import Message
from chatapp.pace import Pace
from chatapp.tools import close_shared_toolbox
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.dialects import ChatMessage
from chatapp.upstream.reply import Ending

logger = logging.getLogger(__name__)

CHECKPOINT_SECONDS = 1.0


class Generations:
    """All that streams in this process, and which tab shows which conversation.

    One reply runs in a conversation at a time; `claim` keeps its place while it is being stored.
    """

    def __init__(self) -> None:
        self.client = UpstreamClient()
        self.catalogue = Catalogue(self.client)
        self.is_draining = False
        self._pace = Pace()
        self._toolless: Toolless = set()
        self._uncoloured: Uncoloured = asyncio.Queue()
        self._running: dict[UUID, Generation] = {}
        self._claimed: set[UUID] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._showing: defaultdict[UUID, set[Tab]] = defaultdict(set)
        self._shown: dict[Tab, UUID] = {}
        self._upkeep: list[asyncio.Task[None]] = []

    @property
    def layer_answers(self) -> bool:
        return True

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
        showing = self._showing[conversation]
        generation = Generation(
            message, history, self.client, self._pace, self._toolless, showing, self._uncoloured
        )
        generation.audience.join(tab)
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
                generation.audience.join(tab)

    def leave(self, tab: Tab, grace: float) -> None:
        """`tab` is gone: replies that only it waited for end in `grace` seconds."""
        self.show(tab, None)
        for generation in list(self._running.values()):
            generation.audience.leave(tab, grace)

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
        await close_shared_toolbox()

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
                if generation.writer.is_dirty and now - generation.saved_at >= CHECKPOINT_SECONDS
            ]
            for generation in due:
                generation.saved_at = now
                generation.writer.update_message()
            if due:
                await self._save_partial([generation.message for generation in due])

    async def _save_partial(self, replies: list[Message]) -> None:
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
