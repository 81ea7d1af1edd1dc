"""How messages get from one worker to others: hints, of which any may be lost.

Posting never waits. Any may come late, twice, or before one that was posted earlier.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from chatapp.cluster.messages import Message


@dataclass(frozen=True)
class Heard:
    sender: UUID
    message: Message


@dataclass(frozen=True)
class HeardAgain:
    """The bus was away and is back: nobody was told of what happened meanwhile."""


class Bus(Protocol):
    """One worker's. `run` it in a task, and read `received` in another."""

    worker: UUID

    @property
    def has_others(self) -> bool:
        """Whether there may be anybody at all to hear this worker."""

    @property
    def answers(self) -> bool:
        """Whether it carries messages, as far as is known."""

    @property
    def answers_since(self) -> float:
        """When it last began to, by `now`."""

    def now(self) -> float:
        """A monotonic clock, by which leases and silences are measured."""

    def post(self, worker: UUID, message: Message) -> None: ...

    def post_to_all(self, message: Message) -> None:
        """To every worker, this one too."""

    def post_to_user(self, user: int, message: Message) -> None:
        """To every worker that subscribes to the person, this one too."""

    async def subscribe(self, user: int) -> None:
        """Hears what concerns a person who has one more viewer here."""

    def unsubscribe(self, user: int) -> None: ...

    def received(self) -> AsyncGenerator[Heard | HeardAgain, None]:
        """What comes, until whoever reads it is cancelled, whatever becomes of the layer."""

    async def run(self) -> None:
        """Sends until cancelled."""

    async def until_sent(self) -> None:
        """Waits until nothing waits to be sent, or for a while where the layer is away."""
