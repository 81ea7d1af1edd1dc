"""The registry of a worker's running replies."""

import asyncio
from uuid import UUID, uuid4

import pytest

from chatapp.models import Conversation, Message
from chatapp.realtime.cluster import NullHeartbeat
from chatapp.realtime.generation import Generation
from chatapp.realtime.viewers.audience import Audience
from chatapp.realtime.worker.replies import Replies
from chatapp.upstream.wire.reply import Ending

SKY = uuid4()


class Running(Generation):
    """A fake reply that ends when the test says so."""

    is_due = False

    def __init__(self, conversation: UUID = SKY, user: int = 1) -> None:
        self.message = Message(conversation=Conversation(id=conversation, user_id=user))
        self.ended = asyncio.Event()
        self.stopped_as: Ending | None = None
        self.audience = Audience(())
        self.session_key = f"session of {user}"

    async def run(self) -> None:
        await self.ended.wait()

    def stop(self, ending: Ending) -> None:
        self.stopped_as = ending
        self.ended.set()


@pytest.fixture
def replies() -> Replies:
    return Replies(NullHeartbeat())


def began(replies: Replies, running: Running) -> asyncio.Task[None]:
    replies.add(running)
    return asyncio.create_task(run(replies, running))


async def run(replies: Replies, running: Running) -> None:
    """Run a reply that was added, as `Worker` does."""
    try:
        await running.run()
    finally:
        replies.remove(running)


async def test_a_reply_is_registered_while_it_runs(replies: Replies) -> None:
    running = Running()
    task = began(replies, running)
    assert replies.get(running.message.pk) is running
    assert replies.get(uuid4()) is None
    assert replies.for_conversation(SKY) == [running]
    assert replies.for_conversation(uuid4()) == replies.for_conversation(None) == []
    assert (list(replies), replies.conversations()) == ([running], {SKY})
    running.ended.set()
    await task
    assert (len(replies), replies.for_conversation(SKY)) == (0, [])


async def test_a_reply_presumed_lost_is_replaced_by_the_next(replies: Replies) -> None:
    given_up, following = Running(), Running()
    first = began(replies, given_up)
    second = began(replies, following)
    assert given_up.stopped_as is Ending.INTERRUPTED
    await first
    assert replies.for_conversation(SKY) == [following]
    following.ended.set()
    await second


async def test_a_reply_that_fails_is_unregistered(replies: Replies) -> None:
    class Failing(Running):
        async def run(self) -> None:
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        await began(replies, Failing())
    assert len(replies) == 0


async def test_upkeep_runs_only_while_replies_do_and_can_restart(replies: Replies) -> None:
    before = asyncio.all_tasks()
    for _ in range(2):
        running = Running()
        task = began(replies, running)
        assert len(asyncio.all_tasks() - before) == 3  # the reply, the pace and the checkpoints
        running.ended.set()
        await task
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == before


def test_a_stored_reply_that_does_not_run_is_lost_at_the_second_check(replies: Replies) -> None:
    [first, other] = stored = frozenset({uuid4(), uuid4()})
    assert replies.find_lost(frozenset({first})) == frozenset()
    assert replies.find_lost(stored) == {first}
    assert replies.find_lost(frozenset({other})) == {other}
    assert replies.find_lost(frozenset()) == frozenset()
    assert replies.find_lost(frozenset({first})) == frozenset()


async def test_a_running_reply_is_not_lost(replies: Replies) -> None:
    running = Running()
    task = began(replies, running)
    stored = frozenset({running.message.pk})
    assert [replies.find_lost(stored) for _ in range(3)] == [frozenset()] * 3
    running.ended.set()
    await task


def test_a_reply_that_may_be_about_to_start_is_not_lost(replies: Replies) -> None:
    stored = frozenset({uuid4()})
    replies.find_lost(stored)
    with replies.taking_prompt():
        assert replies.is_taking_prompts
        assert replies.find_lost(stored) == frozenset()
    assert not replies.is_taking_prompts
    assert replies.find_lost(stored) == frozenset()
    assert replies.find_lost(stored) == stored
