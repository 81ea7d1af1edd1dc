"""Null objects for a worker without peers, so that no caller has to ask whether there are any.

Without `REDIS_URL` there is only one worker, and its bus is `NullBus`. A worker that was started
without `manage.py serve`, as in tests, has no row in the database, and its heartbeat is
`NullHeartbeat`.
"""

import time
from collections.abc import AsyncGenerator
from uuid import UUID

from chatapp.realtime.cluster.bus import Bus, BusRecovered, MessageReceived
from chatapp.realtime.cluster.heartbeat import HeartbeatReport, HeartbeatSource, ShownConversations
from chatapp.realtime.cluster.messages import Message


class NullBus(Bus):
    has_others = False
    answers = True
    answers_since = 0.0

    def __init__(self, worker: UUID) -> None:
        self.worker = worker

    def now(self) -> float:
        return time.monotonic()

    def post(self, worker: UUID, message: Message) -> None: ...

    def post_to_all(self, message: Message) -> None: ...

    def post_to_user(self, user: int, message: Message) -> None: ...

    async def subscribe(self, user: int) -> None: ...

    def unsubscribe(self, user: int) -> None: ...

    async def receive_messages(self) -> AsyncGenerator[MessageReceived | BusRecovered, None]:
        return
        yield

    async def run(self) -> None: ...

    async def until_sent(self) -> None: ...


class NullHeartbeat(HeartbeatSource):
    database_answers = True

    def was_given_up(self, since: float) -> bool:
        return False

    async def reports(self, source: ShownConversations) -> AsyncGenerator[HeartbeatReport, None]:
        return
        yield

    def stop(self) -> None: ...
