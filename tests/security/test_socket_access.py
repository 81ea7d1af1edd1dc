"""Actions of a tab on other people's conversations: each socket action with Alice's ids.

An action missing from the table fails the tests.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from math import inf
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from django.contrib.auth.models import Permission
from django.core import serializers
from django.test import Client

from chatapp.chat.actions import ACTIONS
from chatapp.close_codes import CloseCode
from chatapp.models import ContextCut, Conversation, Message, Upstream, User
from chatapp.realtime.generation import generation
from tests.conftest import signed_in
from tests.security.house import everything
from tests.support.fake_upstream import FakeUpstream, Stall, delta, reasoning, role
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

PROMPT = "alicepromptcanary"
ANSWER, THOUGHT = "aliceanswercanary", "alicethoughtcanary"
OUT_OF_DATE = "This page is out of date"
NOT_HERE = "no longer exists"
# shown instead of an own response, by the invalid action that the tests send next
NOTHING = OUT_OF_DATE


@dataclass
class Running:
    """A conversation of Alice's in which a reply is streaming."""

    conversation: str
    prompt: str
    reply: str
    model: str
    cut: str  # at the reply

    def attempts(self) -> dict[str, tuple[dict[str, Any], str]]:
        """By action: what an attacker who knows all ids sends, and the text of the response."""
        here = {"conversation": self.conversation}
        call = here | {"round": 0, "call": 0}
        prompt_fields = here | {"message": "Go on", "parent": self.reply, "model": self.model}
        return {
            "prompt": (prompt_fields, NOT_HERE),
            "continue": ({"reply": self.reply, "model": self.model}, NOT_HERE),
            "retry": ({"reply": self.reply, "model": self.model}, NOT_HERE),
            "edit": (prompt_fields | {"edited": self.prompt}, NOT_HERE),
            "delete": ({"message": self.prompt}, NOT_HERE),
            "restore": ({"message": self.prompt}, NOT_HERE),
            "fork": ({"message": self.prompt}, NOT_HERE),
            "leave_out": (here | {"up_to": self.reply}, NOT_HERE),
            "send_again": ({"cut": self.cut}, NOT_HERE),
            "edit_summary": ({"cut": self.cut, "summary": "Mine"}, NOT_HERE),
            "summarise": (here | {"parent": self.reply, "by": self.model}, NOT_HERE),
            "stop_summary": (here, NOTHING),
            "choose": (here | {"web_search": "on"}, NOT_HERE),
            "stop": (here, NOTHING),
            "allow": (call, NOTHING),
            "always_allow": (call | {"tool": "wiki__read", "definition": "0" * 64}, NOT_HERE),
            "deny": (call, NOTHING),
            "step": (here | {"message": self.reply}, NOT_HERE),
            "watch": (here | {"head": self.reply, "ending": "streaming"}, NOT_HERE),
        }


@pytest.fixture
async def running(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> Running:
    # Keeps checkpoints from changing the row, which tests compare with an earlier copy.
    monkeypatch.setattr(generation, "CHECKPOINT_SECONDS", inf)
    upstream.script(role(), reasoning(THOUGHT), delta(ANSWER), Stall())
    reply = await tab.ask(PROMPT)
    await tab.until(ANSWER)
    message = await Message.objects.aget(pk=reply)
    model = f"{saved_upstream.pk}/{message.model}"
    cut = await ContextCut.objects.acreate(
        conversation_id=message.conversation_id, message=message, summary=THOUGHT
    )
    conversation, prompt = str(message.conversation_id), str(message.parent_id)
    return Running(conversation, prompt, str(reply), model, str(cut.pk))


@pytest.fixture(params=["bob", "stan", "rita", "olive", "adam"])
async def stranger(request: pytest.FixtureRequest, running: Running) -> AsyncIterator[Tab]:
    """Another person; staff with all of Django's permissions, which give no right here; a reviewer;
    an administrator who reviews, and one who does not."""
    name = request.param
    async with Tab(await database_sync_to_async(create_client)(name)) as stranger:
        yield stranger


def create_client(name: str) -> Client:
    is_staff = name != "bob"
    user = User.objects.create_user(
        name,
        is_staff=is_staff,
        reviews=name in ("rita", "olive"),
        is_superuser=name in ("olive", "adam"),
    )
    if name == "stan":
        user.user_permissions.set(Permission.objects.all())
    return signed_in(user)


def create_former_client(name: str) -> Client:
    """Return a client of nobody, or of a superuser whose session has become invalid."""
    if name == "nobody":
        return Client()
    client = create_client("olive")
    cookies = client.cookies.copy()
    olive = User.objects.filter(username="olive")
    match name:
        case "deactivated":
            olive.update(is_active=False)
        case "signed out":
            client.logout()
        case "deleted":
            olive.get().delete()
    client.cookies.update(cookies)
    return client


@sync_to_async
def serialize_rows_of_alice() -> str:
    conversations = Conversation.objects.filter(user__username="alice")
    messages = Message.objects.filter(conversation__in=conversations).order_by("pk")
    serialized: str = serializers.serialize("json", [*conversations, *messages])
    return serialized


async def test_no_action_reaches_what_belongs_to_somebody_else(
    running: Running, stranger: Tab
) -> None:
    attempts = running.attempts()
    assert set(attempts) == set(ACTIONS)
    before = await sync_to_async(everything)()
    for action, (fields, response) in attempts.items():
        await stranger.send(action=action, **fields)
        await stranger.send(action="no such action")
        await stranger.until(response)
        if response != OUT_OF_DATE:
            await stranger.until(OUT_OF_DATE)
    received = "".join(stranger.frames)
    assert not [word for word in (PROMPT, ANSWER, THOUGHT, running.reply) if word in received]
    assert await sync_to_async(everything)() == before
    assert (await Message.objects.aget(pk=running.reply)).is_streaming


async def test_another_persons_prompt_id_gives_no_access_to_its_reply(
    running: Running, stranger: Tab, upstream: FakeUpstream
) -> None:
    reply = await stranger.ask(PROMPT, prompt=running.prompt)
    await stranger.until_ended()
    assert reply != UUID(running.reply)
    assert ANSWER not in "".join(stranger.frames)


async def test_a_socket_opened_for_another_persons_conversation_shows_nothing_of_it(
    running: Running, stranger: Tab
) -> None:
    async with Tab(stranger.client, conversation=running.conversation) as tab:
        await tab.until(NOT_HERE)
        assert not [word for word in (PROMPT, ANSWER, THOUGHT) if word in "".join(tab.frames)]


@pytest.mark.parametrize("name", ["nobody", "deactivated", "signed out", "deleted"])
async def test_a_person_without_access_is_shown_nothing_whatever_they_send(
    running: Running, name: str
) -> None:
    before = await serialize_rows_of_alice()
    client = await database_sync_to_async(create_former_client)(name)
    assert bool(client.cookies) == (name != "nobody")
    tab = Tab(client, conversation=running.conversation)
    is_open = await tab.connect()
    assert is_open == (name == "deactivated"), "a page tells only that from a sign-out"
    if is_open:
        for action, (fields, _) in running.attempts().items():
            await tab.send(action=action, **fields)
        assert await tab.until_closed() == CloseCode.DEACTIVATED
        assert await tab.hears_nothing(0.1)
    assert tab.frames == []
    assert await serialize_rows_of_alice() == before
