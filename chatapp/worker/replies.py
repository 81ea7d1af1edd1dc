"""What streams in this worker.

The replies of one asking run in a conversation at a time, in whatever worker: the database sees to
that.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context
from uuid import UUID

from chatapp import metrics
from chatapp.cluster import Beating
from chatapp.generation import Generation, Pace
from chatapp.upstream.wire.reply import Ending
from chatapp.worker.checkpoints import Checkpoints
from chatapp.worker.tasks import Tasks


class Replies:
    """`add` a reply, then `run` it. Their pace and checkpoints are kept while any of them runs."""

    def __init__(self, heartbeat: Beating) -> None:
        self.pace = Pace()
        self._checkpoints = Checkpoints(self, heartbeat)
        self._running: dict[UUID, Generation] = {}
        self.begun = 0  # so far
        self._prompts = 0  # that are being stored
        self._strays: frozenset[UUID] = frozenset()  # at the last look
        self._unstored: frozenset[UUID] = frozenset()
        self._upkeep = Tasks()
        metrics.replies_running.set_function(self.__len__)

    def __len__(self) -> int:
        return len(self._running)

    def __iter__(self) -> Iterator[Generation]:
        return iter(list(self._running.values()))

    def get(self, reply: UUID) -> Generation | None:
        return self._running.get(reply)

    def of(self, conversation: UUID | None) -> list[Generation]:
        """Those that run in the conversation, in the order in which they were asked for."""
        return [one for one in self if one.message.conversation_id == conversation]

    def conversations(self) -> set[UUID]:
        return {one.message.conversation_id for one in self}

    @contextmanager
    def taking_prompt(self) -> Iterator[None]:
        """While a turn is stored and started: a drain waits for it."""
        self._prompts += 1
        try:
            yield
        finally:
            self._prompts -= 1

    @property
    def is_taking_prompts(self) -> bool:
        return bool(self._prompts)

    def add(self, generation: Generation) -> None:
        """It is found here from now on."""
        message = generation.message
        for one in self.of(message.conversation_id):
            if not one.message.is_beside(message):  # given up while this worker was taken for dead
                one.stop(Ending.INTERRUPTED)
        self._running[message.pk] = generation
        self.begun += 1
        if not self._upkeep:
            own = Context()  # not that of the request that happens to be the first
            self._upkeep.start(self.pace.watch(), own)
            self._upkeep.start(self._checkpoints.run(), own)

    async def run(self, generation: Generation) -> None:
        """Returns when it has ended, is saved and shown, and is found no more."""
        try:
            await generation.run()
        finally:
            del self._running[generation.message.pk]
            if not self._running:
                self._upkeep.cancel()

    def lost(self, stored: frozenset[UUID]) -> frozenset[UUID]:
        """Of those that are stored as streaming here: the ones that were so at the last look, too,
        and do not run. One that was stored just now may be about to begin."""
        running = {generation.message.pk for generation in self}
        strays = frozenset() if self._prompts else stored - running
        lost = strays & self._strays
        self._strays = strays - lost
        return lost

    def unstored(self, stored: frozenset[UUID]) -> frozenset[UUID]:
        """Those that run and were not stored as streaming here at two looks: ones that were
        deleted, or taken for lost, or are being shown their end."""
        before = self._unstored
        self._unstored = frozenset(generation.message.pk for generation in self) - stored
        return self._unstored & before
