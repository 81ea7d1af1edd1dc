"""The interface by which a worker posts messages to others.

Posting never waits. Messages are hints: any may be lost, late, duplicated or out of order.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from chatapp.realtime.cluster.messages import Message


@dataclass(frozen=True)
class MessageReceived:
    sender: UUID
    message: Message


@dataclass(frozen=True)
class BusRecovered:
    """The bus works again after an outage, during which messages were lost."""


class Bus(Protocol):
    """One worker's access to the others. One task runs `run`; another reads `receive_messages`."""

    worker: UUID

    @property
    def has_others(self) -> bool:
        """Whether there may be other workers at all."""

    @property
    def answers(self) -> bool:
        """Whether the bus seems to be working."""

    @property
    def answers_since(self) -> float:
        """When it last started working, on the clock of `now`."""

    def now(self) -> float:
        """Return the monotonic time by which leases and silences are measured, in seconds."""

    def post(self, worker: UUID, message: Message) -> None: ...

    def post_to_all(self, message: Message) -> None:
        """Post to every worker, including this one."""

    def post_to_user(self, user: int, message: Message) -> None:
        """Post to every worker that is subscribed to the person, including this one."""

    async def subscribe(self, user: int) -> None:
        """Count one more viewer of the person here; receive the person's messages."""

    def unsubscribe(self, user: int) -> None: ...

    def receive_messages(self) -> AsyncGenerator[MessageReceived | BusRecovered, None]:
        """Yield what arrives until the reading task is cancelled, through outages of the layer."""

    async def run(self) -> None:
        """Send posted messages until cancelled."""

    async def until_sent(self) -> None:
        """Wait until everything posted is sent, or for a short time if the layer is down."""
