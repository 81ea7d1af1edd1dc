"""A running reply's partial text is saved even if saving another reply fails."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, cast
from uuid import uuid4

import pytest
from django.db import OperationalError

from chatapp.models import Conversation, Message, Upstream, User
from chatapp.models.conversations.messages.messages import MessageQuerySet
from chatapp.realtime.generation import Generation
from chatapp.realtime.worker import checkpoints
from chatapp.realtime.worker.checkpoints import Checkpoints
from tests.realtime.worker.conftest import Heart
from tests.support.stored import apply_reply, build_reply

pytestmark = pytest.mark.django_db


class Growing(Generation):
    """A reply with this partial text."""

    reservation = None  # no limit applies

    def end_if_over(self) -> None:
        pass

    def __init__(self, message: Message, text: str) -> None:
        self.message = message
        self.saved_at = 0.0
        self.writer = self.arrivals = cast(Any, self)
        self.text = text
        self.is_dirty = True

    @property
    def is_due(self) -> bool:
        return self.is_dirty

    def update_message(self) -> None:
        self.is_dirty = False
        apply_reply(self.message, build_reply(self.text))


class Broken(Growing):
    """A reply that cannot be saved."""

    def update_message(self) -> None:
        super().update_message()
        raise ArithmeticError


@pytest.fixture
def messages(alice: User, saved_upstream: Upstream) -> list[Message]:
    return [
        Conversation(user=alice, title="Sky").ask(
            uuid4(), "Why?", None, saved_upstream, "m", uuid4()
        )[1]
        for _ in range(2)
    ]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "POLL_SECONDS", 0.001)


@asynccontextmanager
async def running(replies: Iterable[Generation], heart: Heart | None = None) -> AsyncIterator[None]:
    task = asyncio.create_task(Checkpoints(replies, heart or Heart()).run())
    yield
    task.cancel()
    await asyncio.wait([task])


async def until_saved(message: Message, text: str) -> None:
    async with asyncio.timeout(10):
        while (await Message.objects.aget(pk=message.pk)).content != text:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_a_due_reply_is_saved_once(messages: list[Message]) -> None:
    replies = [Growing(message, "Half of it") for message in messages]
    async with running(replies):
        for message in messages:
            await until_saved(message, "Half of it")
        assert not any(reply.is_dirty for reply in replies)
        assert all(reply.saved_at > 0 for reply in replies)


async def test_a_reply_that_cannot_be_saved_does_not_block_others(
    messages: list[Message], caplog: pytest.LogCaptureFixture
) -> None:
    async with running([Broken(messages[0], "x"), Growing(messages[1], "Half of it")]):
        await until_saved(messages[1], "Half of it")
    assert f"Reply {messages[0].pk} could not be checkpointed" in caplog.text


async def test_a_failed_checkpoint_is_made_up_for_by_the_next(
    messages: list[Message], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failed: list[bool] = []
    checkpoint = MessageQuerySet.checkpoint

    def fail_once(self: MessageQuerySet, replies: Iterable[Message]) -> None:
        if not failed:
            failed.append(True)
            raise OperationalError("away")
        checkpoint(self, replies)

    monkeypatch.setattr(MessageQuerySet, "checkpoint", fail_once)
    async with running([Growing(messages[0], "Half of it")]):
        await until_saved(messages[0], "Half of it")
    assert failed
    assert "A checkpoint failed" in caplog.text


async def test_no_checkpoint_is_tried_during_a_database_outage(messages: list[Message]) -> None:
    reply, heart = Growing(messages[0], "Half of it"), Heart()
    heart.database_answers = False
    async with running([reply], heart):
        await asyncio.sleep(0.05)
        assert reply.is_dirty
        heart.database_answers = True
        await until_saved(messages[0], "Half of it")
