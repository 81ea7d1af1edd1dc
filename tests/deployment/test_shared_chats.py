"""Readers of a shared chat on another server than its owner follow, and keep nothing alive."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
import websockets.asyncio.client
from websockets.typing import Origin

from chatapp.close_codes import CloseCode
from tests.deployment.replies import half_a_reply
from tests.deployment.stack import Stack
from tests.deployment.test_revoked import post
from tests.support.fake_upstream import FakeUpstream, Pause, Stall, delta, done, finish
from tests.support.live import Person, Server, Site
from tests.support.program import WAIT_SECONDS

SHARE = """
from chatapp.models import Conversation, User
from chatapp.models.sharing.shared_chats import Audience, Share
chat = Conversation.objects.get(pk={pk!r})
print(Share(chat.pk, Audience(is_everyone=True)).store(chat.user)[1])
"""


class Reader:
    """A reader's socket at one of the servers."""

    def __init__(self, socket: websockets.asyncio.client.ClientConnection) -> None:
        self._socket = socket
        self.heard = ""

    @classmethod
    @asynccontextmanager
    async def open_socket(
        cls, server: Server, person: Person, token: str
    ) -> "AsyncIterator[Reader]":
        async with websockets.asyncio.client.connect(
            f"{server.url.replace('http', 'ws')}/ws/s/{token}/",
            origin=Origin(server.url),
            additional_headers={"Cookie": person.cookie_header},
            proxy=None,
            max_size=None,
        ) as socket:
            yield cls(socket)

    async def until(self, text: str) -> None:
        """Wait until the text has arrived; tokens are divided by elements."""
        async with asyncio.timeout(WAIT_SECONDS):
            while text not in re.sub("<[^>]*>", "", self.heard) and text not in self.heard:
                self.heard += str(await self._socket.recv())

    async def until_closed(self) -> int | None:
        async with asyncio.timeout(WAIT_SECONDS):
            await self._socket.wait_closed()
        return self._socket.close_code


async def share_chat(stack: Stack, path: str) -> str:
    """Share the conversation with everyone who signs in; return the token."""
    program = SHARE.format(pk=path.strip("/").rpartition("/")[2])
    return (await asyncio.to_thread(stack.servers[0].run, program)).split()[-1]


@pytest.fixture
def bob(team: Site) -> Person:
    return team.person()


async def test_a_reader_elsewhere_gets_a_snapshot_the_tokens_and_the_end(
    stack: Stack, team_upstream: FakeUpstream, alice: Person, bob: Person
) -> None:
    pause = Pause()
    steps = (pause, delta("and more "), delta("words"), finish(), done())
    async with half_a_reply(stack, team_upstream, alice, *steps) as (viewers, _):
        token = await share_chat(stack, viewers[0].path)
        async with Reader.open_socket(stack.servers[1], bob, token) as reader:
            await reader.until("word19")
            pause.release()
            await reader.until("and more")
            await reader.until('data-ending="complete"')
            await viewers[0].ask("And then?")
            await reader.until("And then?")
            assert "hx-ws" not in reader.heard


async def test_a_reader_elsewhere_keeps_no_reply_running(
    hasty: Stack, team_upstream: FakeUpstream, alice: Person, bob: Person
) -> None:
    async with half_a_reply(hasty, team_upstream, alice, Stall()) as (viewers, request):
        token = await share_chat(hasty, viewers[0].path)
        async with Reader.open_socket(hasty.servers[1], bob, token) as reader:
            await reader.until("word19")
            for viewer in viewers:
                await viewer.close()
            assert (await request.until_closed()).was_streaming
            await reader.until('data-ending="abandoned"')


async def test_a_reader_elsewhere_is_told_when_the_link_is_revoked(
    stack: Stack, team_upstream: FakeUpstream, alice: Person, bob: Person
) -> None:
    async with half_a_reply(stack, team_upstream, alice, Stall()) as (viewers, _):
        token = await share_chat(stack, viewers[0].path)
        async with Reader.open_socket(stack.servers[1], bob, token) as reader:
            await reader.until("word19")
            with stack.nginx.visit(alice) as client:
                await asyncio.to_thread(revoke, client, stack.nginx.url)
            assert await reader.until_closed() == CloseCode.NOT_SHARED


def revoke(client: httpx.Client, url: str) -> None:
    """Press Revoke on the list of links."""
    page = client.get("/shared-links/").text
    [path] = re.findall(r'action="(/shared-links/[^"]+/revoke/)"', page)
    post(client, url, "/shared-links/", {}, to=path)
