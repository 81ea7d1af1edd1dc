"""The replies that are streaming in this worker.

The database ensures that a conversation runs the replies to only one prompt at a time, across all
workers.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context
from uuid import UUID

from chatapp import metrics
from chatapp.realtime.cluster import HeartbeatSource
from chatapp.realtime.generation import FlushRate, Generation
from chatapp.realtime.worker.checkpoints import Checkpoints
from chatapp.realtime.worker.tasks import Tasks
from chatapp.upstream.wire.reply import Ending


class Replies:
    """Call `add` when a reply begins, and `remove` when it has ended.

    Pacing and checkpoints work while any is running.
    """

    def __init__(self, heartbeat: HeartbeatSource) -> None:
        self.pace = FlushRate()
        self._checkpoints = Checkpoints(self, heartbeat)
        self._running: dict[UUID, Generation] = {}
        self.begun = 0  # replies started so far
        self._prompts = 0  # prompts being stored
        self._strays: frozenset[UUID] = frozenset()  # at the previous check
        self._unstored: frozenset[UUID] = frozenset()
        self._upkeep = Tasks()
        metrics.replies_running.set_function(self.__len__)

    def __len__(self) -> int:
        return len(self._running)

    def __iter__(self) -> Iterator[Generation]:
        return iter(list(self._running.values()))

    def get(self, reply: UUID) -> Generation | None:
        return self._running.get(reply)

    def for_conversation(self, conversation: UUID | None) -> list[Generation]:
        """Return the replies running in the conversation, in the order they were requested."""
        return [
            generation for generation in self if generation.message.conversation_id == conversation
        ]

    def conversations(self) -> set[UUID]:
        return {generation.message.conversation_id for generation in self}

    @contextmanager
    def taking_prompt(self) -> Iterator[None]:
        """Mark that a turn is being stored and started, so that a drain waits for it."""
        self._prompts += 1
        try:
            yield
        finally:
            self._prompts -= 1

    @property
    def is_taking_prompts(self) -> bool:
        return bool(self._prompts)

    def add(self, generation: Generation) -> None:
        """Register a reply; stop a running one of the same conversation that it replaces."""
        message = generation.message
        for other in self.for_conversation(message.conversation_id):
            # Marked as interrupted in the database while this worker was presumed dead.
            if not other.message.is_beside(message):
                other.stop(Ending.INTERRUPTED)
        self._running[message.pk] = generation
        self.begun += 1
        if not self._upkeep:
            own = Context()  # not the context of the request that happens to come first
            self._upkeep.start(self.pace.watch(), own)
            self._upkeep.start(self._checkpoints.run(), own)

    def remove(self, generation: Generation) -> None:
        """Unregister a reply that has ended and been saved."""
        del self._running[generation.message.pk]
        if not self._running:
            self._upkeep.cancel()

    def find_lost(self, stored_ids: frozenset[UUID]) -> frozenset[UUID]:
        """Return the replies that are stored as streaming here but not running.

        A reply counts only if the previous check found it too, because one that was stored just
        now may be about to start.
        """
        running_ids = {generation.message.pk for generation in self}
        strays = frozenset() if self._prompts else stored_ids - running_ids
        lost_ids = strays & self._strays
        self._strays = strays - lost_ids
        return lost_ids

    def find_unstored(self, stored_ids: frozenset[UUID]) -> frozenset[UUID]:
        """Return the running replies that two checks did not find stored as streaming here.

        They were deleted or declared lost, or are just being finished.
        """
        before = self._unstored
        self._unstored = frozenset(generation.message.pk for generation in self) - stored_ids
        return self._unstored & before
