"""Rita, a reviewer who is no administrator, and conversations for her to find."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.test import Client

from chatapp.models import Conversation, Message, Review, Upstream, Usage, User
from chatapp.upstream.wire.events import TokenUsage
from chatapp.upstream.wire.reply import Ending
from tests.conftest import signed_in
from tests.support.stored import build_reply, end

TITLE, PROMPT, ANSWER = "qtitleq", "qpromptq", "qanswerq"


@pytest.fixture
def ritas(db: None) -> Client:
    """The client of a reviewer who is no administrator."""
    return signed_in(User.objects.create_user("rita", is_staff=True, reviews=True))


Begin = Callable[..., Conversation]


@pytest.fixture
def begin(alice: User, saved_upstream: Upstream) -> Begin:
    """Return a function that makes a conversation whose replies have the given fields."""

    def begin(
        user: User = alice,
        upstream: Upstream = saved_upstream,
        model: str = "one",
        ending: Ending = Ending.COMPLETE,
        cost: int = 0,
        replies: int = 1,
        **fields: Any,
    ) -> Conversation:
        conversation = user.conversations.create(title=TITLE)
        for _ in range(replies):
            _, reply = conversation.ask(uuid4(), PROMPT, None, upstream, model, uuid4())
            usage = Usage.from_tokens(Usage.Provenance.REPORTED, TokenUsage(300, 700, 1000))
            end(reply, build_reply(ANSWER), ending, usage)
            Message.objects.filter(pk=reply.pk).update(**fields)
            Usage.objects.filter(pk=reply.pk).update(cost=cost)
        return conversation

    return begin


def get_or_create_review(conversation: Conversation) -> Review:
    """Return the review, created if necessary."""
    with transaction.atomic():
        return Review.get_for_update(conversation.pk)
