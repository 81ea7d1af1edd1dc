"""Alice shares a chat with two turns; Bob and people who aren't signed in open her links."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from chatapp.models import Conversation, Message, SharedChat, Upstream, User
from chatapp.models.sharing.shared_chats import Audience, Share, ShareOptions
from chatapp.sharing.access import misses
from tests.support.stored import store_turn

Shared = Callable[..., str]


@pytest.fixture(autouse=True)
def no_misses() -> None:
    misses.clear()


@pytest.fixture
def upstream_of_chat(db: None) -> Upstream:
    return Upstream.objects.create(name="Gateway", base_url="http://127.0.0.1:9/v1")


@pytest.fixture
def chat(alice: User) -> Conversation:
    return alice.conversations.create(title="The sky <b>at noon</b>")


@pytest.fixture
def turns(chat: Conversation, upstream_of_chat: Upstream) -> list[Message]:
    """Two turns of a chat: prompt, reply, prompt, reply."""
    first, reply = store_turn(chat, upstream_of_chat, "Why is it blue?")
    second, last = store_turn(chat, upstream_of_chat, "And red in the evening?", reply)
    return [first, reply, second, last]


@pytest.fixture
def share_chat(alice: User, chat: Conversation) -> Shared:
    """Make a link for the given audience; return its token."""

    def share(
        *people: User, message: Message | None = None, days: int | None = None, **rest: Any
    ) -> str:
        parts = {name: rest.pop(name) for name in list(rest) if name.startswith("shows_")}
        audience = Audience(people=people, **rest)
        pk = message.pk if message else None
        share_request = Share(chat.pk, audience, pk, ShareOptions(**parts), days)
        return share_request.store(alice)[1]

    return share


@pytest.fixture
def nobodys() -> Client:
    """The browser of somebody who isn't signed in."""
    return Client(headers={"host": "localhost"})


def get_link(token: str) -> SharedChat:
    link = SharedChat.find(token, None) or SharedChat.objects.get()
    assert link
    return link
