"""The bus over Channels' layer, which is Redis.

Messages to one address that gather while a send is in progress go out together, in the order in
which they were posted. A worker also posts to itself to find out whether the layer works.
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

from chatapp.realtime.cluster.bus import Bus, BusRecovered, MessageReceived
from chatapp.realtime.cluster.messages import Batch, Echo, Frame, Message, decode, encode

logger = logging.getLogger(__name__)

ECHO_SECONDS = 0.4  # how often a worker posts to itself to check the layer
MAX_UNANSWERED = 3  # echoes in a row; an outage is detected within 2 s
SEND_SECONDS = 2.0  # time limit for one batch
# Messages queued for one address. More are useless: a worker that misses one asks for a snapshot.
MAX_WAITING = 2_000

# The groups of the channel layer are this one and those named by `_worker_group` and `_user_group`.
# Versions before 0.4 used other names, because their messages have another form.
EVERYBODY = "workers"

LAYER_ERRORS = (RedisError, OSError, TimeoutError, RuntimeError)


class LayerBus(Bus):
    """The bus of a worker, for as long as it runs."""

    def __init__(self, worker: UUID) -> None:
        self.worker = worker
        self._answers_since = time.monotonic()
        self._layer = get_channel_layer()
        self._channel = ""
        self._users: Counter[int] = Counter()  # number of viewers here per user
        self._unjoined: set[str] = set()  # groups still to be joined and to be left
        self._unleft: set[str] = set()
        self._waiting: dict[str, list[Message]] = {}
        self._has_waiting = asyncio.Event()
        self._is_idle = asyncio.Event()
        self._has_echoed = False  # since the last echo was posted
        self._unanswered = 0  # echoes in a row
        self._is_away = False  # an outage was logged
        self._unread: set[UUID] = set()  # senders logged for unreadable messages

    @property
    def has_others(self) -> bool:
        return True

    @property
    def answers(self) -> bool:
        return self._unanswered < MAX_UNANSWERED

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
                await self._sync_groups()

    def unsubscribe(self, user: int) -> None:
        self._users[user] -= 1
        if self._users[user] <= 0:
            del self._users[user]
            self._unjoined.discard(_user_group(user))
            self._unleft.add(_user_group(user))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._send())
            tasks.create_task(self._check_layer())

    async def receive_messages(self) -> AsyncGenerator[MessageReceived | BusRecovered, None]:
        while not _is_cancelled():
            try:
                self._channel = await self._layer.new_channel("bus")
                self._unjoined = self._groups()
                await self._sync_groups()
                while not _is_cancelled():
                    for arrival in self._unpack(await self._layer.receive(self._channel)):
                        yield arrival
            except LAYER_ERRORS:
                await asyncio.sleep(ECHO_SECONDS)
            except Exception:  # a bad message; the next may be fine
                logger.exception("Could not read a message from the channel layer")
                await asyncio.sleep(ECHO_SECONDS)

    async def until_sent(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(SEND_SECONDS):
                await self._is_idle.wait()

    # Sending

    def _post(self, group: str, message: Message) -> None:
        messages = self._waiting.setdefault(group, [])
        if len(messages) >= MAX_WAITING:
            messages = [
                queued_message
                for queued_message in messages
                if not isinstance(queued_message, Frame)
            ]
            self._waiting[group] = messages
            if len(messages) >= MAX_WAITING:
                return
        messages.append(message)
        self._is_idle.clear()
        self._has_waiting.set()

    async def _send(self) -> None:
        while not _is_cancelled():
            await self._has_waiting.wait()
            self._has_waiting.clear()
            waiting, self._waiting = self._waiting, {}
            await asyncio.gather(*(self._send_to(*addressed) for addressed in waiting.items()))
            if not self._waiting:
                self._is_idle.set()

    async def _send_to(self, group: str, messages: list[Message]) -> None:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._layer.group_send(group, _pack(self.worker, messages))
        except LAYER_ERRORS:
            pass  # `_check_layer` logs the outage once
        except Exception:  # a bad message must not hold up the others
            if len(messages) == 1:
                logger.exception("Could not send a message: %s", type(messages[0]).__name__)
                return
            for message in messages:
                await self._send_to(group, [message])

    # Receiving

    def _unpack(self, carried: dict[str, Any]) -> list[MessageReceived | BusRecovered]:
        try:
            batch, problems = decode(carried["batch"])
        except msgspec.DecodeError as error:
            logger.warning("Could not read a batch of messages: %s", error)
            return []
        if problems and batch.sender not in self._unread:
            self._unread.add(batch.sender)
            logger.warning("Messages of another version are ignored, for example: %s", problems[0])
        arrivals: list[MessageReceived | BusRecovered] = []
        for message in batch.messages:
            if not isinstance(message, Echo):
                arrivals.append(MessageReceived(batch.sender, message))
            elif self._take_echo():
                arrivals.append(BusRecovered())
        return arrivals

    def _take_echo(self) -> bool:
        """Note an echo; return whether it ends an outage."""
        self._has_echoed, self._unanswered = True, 0
        if not self._is_away:
            return False
        self._is_away = False
        self._answers_since = time.monotonic()
        self._unjoined = self._groups()
        logger.warning("Redis can be reached again: processes exchange events again")
        return True

    async def _check_layer(self) -> None:
        while not _is_cancelled():
            self._has_echoed = False
            self.post(self.worker, Echo())
            posted_at = time.monotonic()
            await asyncio.sleep(ECHO_SECONDS)
            # If this event loop is late, the layer's answer may just be waiting to be read.
            is_late = time.monotonic() - posted_at > 2 * ECHO_SECONDS
            if not self._has_echoed and not is_late:
                self._unanswered += 1
            await self._sync_groups()
            if not (self.answers or self._is_away):
                self._is_away = True
                logger.error(
                    "Redis can't be reached: processes exchange no events. Replies go on in tabs "
                    "connected to the process that runs them; other tabs catch up when it is back"
                )

    # Groups

    def _groups(self) -> set[str]:
        return {_worker_group(self.worker), EVERYBODY, *map(_user_group, self._users)}

    async def _sync_groups(self) -> None:
        """Join and leave the pending groups, as far as the layer works."""
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


def _is_cancelled() -> bool:
    """Whether this task was cancelled: Redis's client swallows the exception while connecting."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def post_from_outside(message: Message) -> None:
    """Post to every worker from a process that is not one. Like all messages, it may be lost."""
    layer = get_channel_layer()
    with suppress(*LAYER_ERRORS):
        async with asyncio.timeout(SEND_SECONDS):
            await layer.group_send(EVERYBODY, _pack(uuid4(), [message]))


def _pack(sender: UUID, messages: list[Message]) -> dict[str, object]:
    return {"type": "bus", "batch": encode(Batch(sender, messages))}


def _worker_group(worker: UUID) -> str:
    return f"worker.{worker.hex}"


def _user_group(user: int) -> str:
    return f"viewers.{user}"
