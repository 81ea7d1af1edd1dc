"""Serves people in turn, so that nobody's many or long jobs keep others waiting."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from contextvars import ContextVar

# The person served by what runs in this context, such as a request, a socket or a running reply.
served_person: ContextVar[Hashable] = ContextVar("served", default=None)


class Turns:
    """Limits how many jobs run at once, for jobs of many turns of the event loop.

    The others wait: each person's in order of arrival, and the people in turn. A job that takes
    longer than `long_seconds` no longer counts: it is waiting for something itself, and others must
    not wait with it. But of each person no more than `each` run, however long they take.
    """

    def __init__(self, number: int, long_seconds: float, each: int) -> None:
        self._free = number
        self._long_seconds = long_seconds
        self._each = each
        self._running: Counter[Hashable] = Counter()
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}

    async def begin(self, who: Hashable) -> "Turn":
        """Wait for the person's turn and return it; end it in any case."""
        start_signal: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(who, deque()).append(start_signal)
        self.begin_waiting_jobs()
        turn = Turn(self, who)
        try:
            await start_signal
        except asyncio.CancelledError:
            if start_signal.done() and not start_signal.cancelled():
                turn.end()
            raise
        asyncio.get_running_loop().call_later(self._long_seconds, turn.stop_counting)
        return turn

    @asynccontextmanager
    async def take_turn(self, who: Hashable) -> AsyncIterator[None]:
        turn = await self.begin(who)
        try:
            yield
        finally:
            turn.end()

    def begin_waiting_jobs(self) -> None:
        """Begin as many of the waiting jobs as may run now."""
        is_stuck = False
        while self._free and not is_stuck:
            is_stuck = True
            for who in list(self._waiting):
                if self._free and self._running[who] < self._each and self._begin_next(who):
                    is_stuck = False

    def _begin_next(self, who: Hashable) -> bool:
        """Begin the person's next job; return whether there was one that is not cancelled."""
        waiting = self._waiting.pop(who)
        while waiting and waiting[0].done():
            waiting.popleft()
        if not waiting:
            return False
        waiting.popleft().set_result(None)
        self._free -= 1
        self._running[who] += 1
        if waiting:
            self._waiting[who] = waiting  # the next turn is everybody else's
        return True

    def free_place(self) -> None:
        self._free += 1
        self.begin_waiting_jobs()

    def end_job(self, who: Hashable) -> None:
        self._running[who] -= 1
        if not self._running[who]:
            del self._running[who]
        self.begin_waiting_jobs()


class Turn:
    """Lets one job run."""

    def __init__(self, turns: Turns, who: Hashable) -> None:
        self._turns = turns
        self._who = who
        self._counts = self._runs = True

    def stop_counting(self) -> None:
        """Let another job begin, although this one has not ended."""
        if self._counts:
            self._counts = False
            self._turns.free_place()

    def end(self) -> None:
        """End it. Ending it a second time has no effect."""
        if self._runs:
            self._runs = False
            self._turns.end_job(self._who)
        self.stop_counting()
