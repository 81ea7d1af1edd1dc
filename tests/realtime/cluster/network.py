"""An in-memory bus that loses, repeats and reorders messages as a test wants.

Nothing moves by itself: posted messages stay in transit until the test delivers them, and time
stops until the test lets it pass, so that no test waits.
"""

from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from uuid import UUID, uuid4

from chatapp.realtime.cluster import Bus
from chatapp.realtime.cluster.bus import BusRecovered, MessageReceived
from chatapp.realtime.cluster.messages import Batch, Message, decode, encode


@dataclass(frozen=True)
class PostedMessage:
    to: UUID
    sender: UUID
    message: Message


class Network:
    """Creates buses and carries messages between them."""

    def __init__(self) -> None:
        self.on_their_way: deque[PostedMessage] = deque()
        self.clock = 1000.0
        self.buses: dict[UUID, MemoryBus] = {}

    def bus(self) -> "MemoryBus":
        bus = MemoryBus(self)
        self.buses[bus.worker] = bus
        return bus

    def lose(self, kind: type[Message] | None = None) -> None:
        """Lose all messages in transit, or those of one kind."""
        remaining_messages = [
            posted for posted in self.on_their_way if kind and not isinstance(posted.message, kind)
        ]
        self.on_their_way = deque(remaining_messages)

    def kinds(self) -> list[str]:
        return [type(posted.message).__name__ for posted in self.on_their_way]

    def carry(self, sender: UUID, takes: Callable[["MemoryBus"], bool], message: Message) -> None:
        batch, problems = decode(encode(Batch(sender, [message])))
        assert not problems
        for worker, bus in self.buses.items():
            if takes(bus):
                self.on_their_way.append(PostedMessage(worker, sender, batch.messages[0]))


class MemoryBus(Bus):
    has_others = True
    answers = True
    answers_since = 0.0

    def __init__(self, network: Network) -> None:
        self.worker = uuid4()
        self.users: list[int] = []
        self._network = network

    def now(self) -> float:
        return self._network.clock

    def post(self, worker: UUID, message: Message) -> None:
        self._network.carry(self.worker, lambda bus: bus.worker == worker, message)

    def post_to_all(self, message: Message) -> None:
        self._network.carry(self.worker, lambda bus: True, message)

    def post_to_user(self, user: int, message: Message) -> None:
        self._network.carry(self.worker, lambda bus: user in bus.users, message)

    async def subscribe(self, user: int) -> None:
        self.users.append(user)

    def unsubscribe(self, user: int) -> None:
        self.users.remove(user)

    async def receive_messages(self) -> AsyncGenerator[MessageReceived | BusRecovered, None]:
        """Yield the messages in transit to this worker now, and none that are posted later."""
        while posted := next(
            (candidate for candidate in self._network.on_their_way if candidate.to == self.worker),
            None,
        ):
            self._network.on_their_way.remove(posted)
            yield MessageReceived(posted.sender, posted.message)

    async def run(self) -> None: ...

    async def until_sent(self) -> None: ...
