"""What processes tell each other, over the channel layer: hints, of which any may be lost.

Posting never waits. Letters to one address go out together, as many as have gathered while the
last ones were on their way, in the order in which they were posted.
"""

import asyncio
import logging
import math
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

from channels.layers import get_channel_layer
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

ECHO_SECONDS = 0.4  # how often a process writes to itself, to know whether the layer is there
MOST_UNANSWERED = 3  # echoes in a row: the layer is away, which so is known within 2 s
SEND_SECONDS = 2.0  # patience with one message
# Letters that wait for one address. More are of no use: who misses one asks for a snapshot.
MOST_WAITING = 2_000

EVERYBODY = "processes"  # a group, as `_process_group` and `_user_group` name others

Letter = tuple[Any, ...]  # its kind, then what msgpack can carry
LAYER_ERRORS = (RedisError, OSError, TimeoutError, RuntimeError)


class Mail:
    """One process's mail box. `run` it in a task; `take` gets each letter and its sender."""

    def __init__(
        self,
        process: UUID,
        take: Callable[[UUID, Letter], Awaitable[None]],
        when_back: Callable[[], None],
    ) -> None:
        self.process = process
        self.answers_since = math.inf  # nothing is sent before `run`
        self._take = take
        self._when_back = when_back
        self._layer = get_channel_layer()
        self._channel = ""
        self._users: Counter[int] = Counter()  # those whose tabs are here, with how many
        self._unjoined: set[str] = set()  # groups that are still to be joined, and to be left
        self._unleft: set[str] = set()
        self._waiting: dict[str, deque[Letter]] = {}
        self._has_waiting = asyncio.Event()
        self._is_idle = asyncio.Event()
        self._hears_itself = False  # since the last echo was posted
        self._unanswered = 0  # echoes in a row

    @property
    def answers(self) -> bool:
        """Whether the layer carries letters, as far as is known."""
        return self._unanswered < MOST_UNANSWERED

    def post(self, process: UUID, *letter: Any) -> None:
        self._post(_process_group(process), letter)

    def post_to_all(self, *letter: Any) -> None:
        """To every process, this one too."""
        self._post(EVERYBODY, letter)

    def post_to_user(self, user: int, *letter: Any) -> None:
        """To every process that has a tab of this person's, this one too."""
        self._post(_user_group(user), letter)

    async def follow(self, user: int) -> None:
        """Hears what concerns a person who has one more tab here."""
        self._users[user] += 1
        if self._users[user] == 1:
            self._unleft.discard(_user_group(user))
            self._unjoined.add(_user_group(user))
            if self.answers:
                await self._settle_groups()

    def unfollow(self, user: int) -> None:
        self._users[user] -= 1
        if self._users[user] <= 0:
            del self._users[user]
            self._unjoined.discard(_user_group(user))
            self._unleft.add(_user_group(user))

    async def run(self) -> None:
        """Sends and receives until cancelled, whatever becomes of the layer."""
        self.answers_since = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._receive())
            tasks.create_task(self._send())
            tasks.create_task(self._listen_for_itself())

    async def until_sent(self) -> None:
        """Waits until nothing waits to be sent, or for a while where the layer is away."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SEND_SECONDS):
                await self._is_idle.wait()

    def _post(self, group: str, letter: Letter) -> None:
        if self.answers_since == math.inf:
            return
        letters = self._waiting.setdefault(group, deque())
        if len(letters) >= MOST_WAITING:
            letters = deque(one for one in letters if one[0] != "frame")
            self._waiting[group] = letters
            if len(letters) >= MOST_WAITING:
                return
        letters.append(letter)
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

    async def _send_to(self, group: str, letters: deque[Letter]) -> None:
        message = {"type": "mail", "sender": self.process.hex, "letters": list(letters)}
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._layer.group_send(group, message)
        except LAYER_ERRORS:
            pass  # told once, by `_listen_for_itself`
        except Exception:  # whatever is wrong with one letter, the others are sent
            if len(letters) == 1:
                logger.exception("A letter could not be sent: %s", letters[0][0])
                return
            for letter in letters:
                await self._send_to(group, deque([letter]))

    async def _receive(self) -> None:
        while not _is_to_end():
            try:
                self._channel = await self._layer.new_channel("mail")
                self._unjoined = self._groups()
                await self._settle_groups()
                while not _is_to_end():
                    await self._open(await self._layer.receive(self._channel))
            except LAYER_ERRORS:
                await asyncio.sleep(ECHO_SECONDS)
            except Exception:  # of what came; the next may be right
                logger.exception("A message could not be read")
                await asyncio.sleep(ECHO_SECONDS)

    def _groups(self) -> set[str]:
        return {_process_group(self.process), EVERYBODY, *map(_user_group, self._users)}

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

    async def _open(self, message: dict[str, Any]) -> None:
        sender = UUID(message["sender"])
        for letter in message["letters"]:
            if letter[0] == "echo":
                self._hears_itself, self._unanswered = True, 0
            else:
                await self._take(sender, tuple(letter))

    async def _listen_for_itself(self) -> None:
        did_answer = True
        while not _is_to_end():
            self._hears_itself = False
            self.post(self.process, "echo")
            posted_at = time.monotonic()
            await asyncio.sleep(ECHO_SECONDS)
            # A loop that is late says nothing of the layer, whose answer may wait here.
            is_late = time.monotonic() - posted_at > 2 * ECHO_SECONDS
            if not self._hears_itself and not is_late:
                self._unanswered += 1
            await self._settle_groups()
            if self.answers != did_answer:
                did_answer = self.answers
                if did_answer:
                    self.answers_since = time.monotonic()
                    self._unjoined = self._groups()
                    self._when_back()
                    logger.warning("Redis is back: processes hear each other again")
                else:
                    logger.error(
                        "Redis can't be reached: processes do not hear each other. Replies go on "
                        "for tabs of the process that writes them, others catch up when it is back"
                    )


def _is_to_end() -> bool:
    """Whether this task was cancelled: Redis's client swallows that while it connects."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def post_from_outside(*letter: Any) -> None:
    """Posts to every process, from a program that is none of them; a hint, as all letters."""
    message = {"type": "mail", "sender": uuid4().hex, "letters": [letter]}
    layer = get_channel_layer()
    with suppress(*LAYER_ERRORS):
        async with asyncio.timeout(SEND_SECONDS):
            await layer.group_send(EVERYBODY, message)


def _process_group(process: UUID) -> str:
    return f"process.{process.hex}"


def _user_group(user: int) -> str:
    return f"user.{user}"
