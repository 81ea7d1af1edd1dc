"""The bus over Channels' layer, which is Redis.

Messages to one address go out together, as many as have gathered while the last ones were on their
way, in the order in which they were posted. A worker posts to itself, too, to know whether the
layer carries anything.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

import msgspec
from channels.layers import get_channel_layer
from redis.exceptions import RedisError

from chatapp.cluster.bus import Bus, Heard, HeardAgain
from chatapp.cluster.messages import Batch, Echo, Frame, Message, decode, encode

logger = logging.getLogger(__name__)

ECHO_SECONDS = 0.4  # how often a worker posts to itself, to know whether the layer is there
MOST_UNANSWERED = 3  # echoes in a row: the layer is away, which so is known within 2 s
SEND_SECONDS = 2.0  # patience with one batch
# Messages that wait for one address. More are of no use: who misses one asks for a snapshot.
MOST_WAITING = 2_000

# Groups of the channel layer: this, and what `_worker_group` and `_user_group` name. Those of
# versions before 0.4, whose messages are of another form, have other names.
EVERYBODY = "workers"

LAYER_ERRORS = (RedisError, OSError, TimeoutError, RuntimeError)


class LayerBus(Bus):
    """Of a worker, for as long as it runs."""

    def __init__(self, worker: UUID) -> None:
        self.worker = worker
        self._answers_since = time.monotonic()
        self._layer = get_channel_layer()
        self._channel = ""
        self._users: Counter[int] = Counter()  # those whose viewers are here, with how many
        self._unjoined: set[str] = set()  # groups that are still to be joined, and to be left
        self._unleft: set[str] = set()
        self._waiting: dict[str, list[Message]] = {}
        self._has_waiting = asyncio.Event()
        self._is_idle = asyncio.Event()
        self._hears_itself = False  # since the last echo was posted
        self._unanswered = 0  # echoes in a row
        self._is_away = False  # as the log was told
        self._unread: set[UUID] = set()  # whose messages could not be read, as the log was told

    @property
    def has_others(self) -> bool:
        return True

    @property
    def answers(self) -> bool:
        return self._unanswered < MOST_UNANSWERED

    @property
    def answers_since(self) -> float:
        return self._answers_since

    def now(self) -> float:
        return time.monotonic()

    def post(self, worker: UUID, message: Message) -> None:
        self._post(_worker_group(worker), message)

    def post_to_all(self, message: Message) -> None:
        self._post(EVERYBODY, message)

    def post_to_user(self, user: int, message: Message) -> None:
        self._post(_user_group(user), message)

    async def subscribe(self, user: int) -> None:
        self._users[user] += 1
        if self._users[user] == 1:
            self._unleft.discard(_user_group(user))
            self._unjoined.add(_user_group(user))
            if self.answers:
                await self._settle_groups()

    def unsubscribe(self, user: int) -> None:
        self._users[user] -= 1
        if self._users[user] <= 0:
            del self._users[user]
            self._unjoined.discard(_user_group(user))
            self._unleft.add(_user_group(user))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._send())
            tasks.create_task(self._listen_for_itself())

    async def received(self) -> AsyncGenerator[Heard | HeardAgain, None]:
        while not _is_to_end():
            try:
                self._channel = await self._layer.new_channel("bus")
                self._unjoined = self._groups()
                await self._settle_groups()
                while not _is_to_end():
                    for one in self._opened(await self._layer.receive(self._channel)):
                        yield one
            except LAYER_ERRORS:
                await asyncio.sleep(ECHO_SECONDS)
            except Exception:  # of what came; the next may be right
                logger.exception("What came over the channel layer could not be read")
                await asyncio.sleep(ECHO_SECONDS)

    async def until_sent(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(SEND_SECONDS):
                await self._is_idle.wait()

    # Out

    def _post(self, group: str, message: Message) -> None:
        messages = self._waiting.setdefault(group, [])
        if len(messages) >= MOST_WAITING:
            messages = [one for one in messages if not isinstance(one, Frame)]
            self._waiting[group] = messages
            if len(messages) >= MOST_WAITING:
                return
        messages.append(message)
        self._is_idle.clear()
        self._has_waiting.set()

    async def _send(self) -> None:
        while not _is_to_end():
            await self._has_waiting.wait()
            self._has_waiting.clear()
            waiting, self._waiting = self._waiting, {}
            await asyncio.gather(*(self._send_to(*one) for one in waiting.items()))
            if not self._waiting:
                self._is_idle.set()

    async def _send_to(self, group: str, messages: list[Message]) -> None:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._layer.group_send(group, _carried(self.worker, messages))
        except LAYER_ERRORS:
            pass  # told once, by `_listen_for_itself`
        except Exception:  # whatever is wrong with one message, the others are sent
            if len(messages) == 1:
                logger.exception("A message could not be sent: %s", type(messages[0]).__name__)
                return
            for message in messages:
                await self._send_to(group, [message])

    # In

    def _opened(self, carried: dict[str, Any]) -> list[Heard | HeardAgain]:
        try:
            batch, problems = decode(carried["batch"])
        except msgspec.DecodeError as error:
            logger.warning("A batch of messages could not be read: %s", error)
            return []
        if problems and batch.sender not in self._unread:
            self._unread.add(batch.sender)
            logger.warning("Another version's messages are skipped, for example: %s", problems[0])
        heard: list[Heard | HeardAgain] = []
        for message in batch.messages:
            if not isinstance(message, Echo):
                heard.append(Heard(batch.sender, message))
            elif self._take_echo():
                heard.append(HeardAgain())
        return heard

    def _take_echo(self) -> bool:
        """Whether it says that the layer is back."""
        self._hears_itself, self._unanswered = True, 0
        if not self._is_away:
            return False
        self._is_away = False
        self._answers_since = time.monotonic()
        self._unjoined = self._groups()
        logger.warning("Redis is back: processes hear each other again")
        return True

    async def _listen_for_itself(self) -> None:
        while not _is_to_end():
            self._hears_itself = False
            self.post(self.worker, Echo())
            posted_at = time.monotonic()
            await asyncio.sleep(ECHO_SECONDS)
            # A loop that is late says nothing of the layer, whose answer may wait here.
            is_late = time.monotonic() - posted_at > 2 * ECHO_SECONDS
            if not self._hears_itself and not is_late:
                self._unanswered += 1
            await self._settle_groups()
            if not (self.answers or self._is_away):
                self._is_away = True
                logger.error(
                    "Redis can't be reached: processes do not hear each other. Replies go on for "
                    "tabs of the process that writes them, others catch up when it is back"
                )

    # Groups

    def _groups(self) -> set[str]:
        return {_worker_group(self.worker), EVERYBODY, *map(_user_group, self._users)}

    async def _settle_groups(self) -> None:
        """Joins and leaves what is still to be joined and left, as far as the layer lets it."""
        if not self._channel:
            return
        with suppress(*LAYER_ERRORS):
            async with asyncio.timeout(SEND_SECONDS):
                for group in list(self._unjoined):
                    await self._layer.group_add(group, self._channel)
                    self._unjoined.discard(group)
                for group in list(self._unleft):
                    await self._layer.group_discard(group, self._channel)
                    self._unleft.discard(group)


def _is_to_end() -> bool:
    """Whether this task was cancelled: Redis's client swallows that while it connects."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def post_from_outside(message: Message) -> None:
    """Posts to every worker, from a program that is none of them; a hint, as all messages."""
    layer = get_channel_layer()
    with suppress(*LAYER_ERRORS):
        async with asyncio.timeout(SEND_SECONDS):
            await layer.group_send(EVERYBODY, _carried(uuid4(), [message]))


def _carried(sender: UUID, messages: list[Message]) -> dict[str, object]:
    return {"type": "bus", "batch": encode(Batch(sender, messages))}


def _worker_group(worker: UUID) -> str:
    return f"worker.{worker.hex}"


def _user_group(user: int) -> str:
    return f"viewers.{user}"
