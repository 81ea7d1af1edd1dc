"""The set of background tasks."""

import asyncio
from contextvars import Context, ContextVar

from chatapp.realtime.worker.tasks import Tasks

owner: ContextVar[str] = ContextVar("owner", default="nobody")


async def test_tasks_are_counted_until_they_end() -> None:
    tasks, event = Tasks(), asyncio.Event()

    async def wait() -> None:
        await event.wait()

    tasks.start(wait())
    tasks.start(wait())
    await tasks.until_done(0.01)
    assert len(tasks) == 2
    event.set()
    await tasks.until_done()
    assert len(tasks) == 0
    await tasks.until_done()


async def test_tasks_are_cancelled_together_and_new_ones_can_start() -> None:
    tasks = Tasks()
    first = tasks.start(asyncio.sleep(60))
    tasks.cancel()
    second = tasks.start(asyncio.sleep(60))
    assert len(tasks) == 1
    await tasks.end()
    assert first.cancelled()
    assert second.cancelled()
    await tasks.end()


async def test_a_task_runs_in_the_given_context() -> None:
    seen = []

    async def record_owner() -> None:
        seen.append(owner.get())

    owner.set("a request")
    tasks = Tasks()
    tasks.start(record_owner())
    tasks.start(record_owner(), Context())
    await tasks.until_done()
    assert seen == ["a request", "nobody"]
