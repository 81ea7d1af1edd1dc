"""A browser tab for tests of the whole app: it knows only what the pages say.

A visitor signs in over HTTP, reads the socket's URL and the composer's fields from the page, sends
what htmx would send and swaps in the frames; so a test reads what a person would.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import websockets.asyncio.client
from websockets.typing import Origin

from tests.support.live import Address, Person, reset
from tests.support.page import Page
from tests.support.program import WAIT_SECONDS


class Visitor:
    """A tab: a page, its socket, and the page as the socket's frames changed it."""

    def __init__(self, page: Page, socket: websockets.asyncio.client.ClientConnection) -> None:
        self.page = page
        self.socket = socket
        self.frames: list[str] = []

    async def send(self, message: str, **fields: str) -> None:
        await self.socket.send(json.dumps(self.page.form() | {"message": message} | fields))

    async def until(self, condition: Callable[[], object]) -> None:
        """Swap in frames until the page meets the condition."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not condition():
                frame = await self.socket.recv()
                assert isinstance(frame, str)
                self.frames.append(frame)
                self.page.swap(frame)

    async def until_says(self, text: str, region: str = "answer") -> None:
        await self.until(lambda: self.replies and text in self.page.region(region))

    async def until_shows(self, text: str) -> None:
        """Wait until the text is anywhere in the newest reply."""
        await self.until(lambda: self.replies and text in self.page.reply().text)

    async def until_ended(self) -> str:
        await self.until(lambda: self.replies and self.ending != "streaming")
        return self.ending

    async def until_ending(self, ending: str) -> None:
        """Wait for this ending, which may replace an earlier one."""
        await self.until(lambda: self.replies and self.ending == ending)

    @property
    def replies(self) -> list[str]:
        return [
            e.attributes["data-reply"]
            for e in self.page.root.walk()
            if "data-reply" in e.attributes
        ]

    @property
    def ending(self) -> str:
        return self.page.reply().attributes["data-ending"]

    @property
    def path(self) -> str:
        """The address of the conversation, once there is one."""
        return self.page.root.find(id="composer-state").attributes["data-url"]

    async def lose_connection(self) -> None:
        """Reset the connection without a close frame, as a closed laptop or dead Wi-Fi does."""
        reset(self.socket.transport)
        await self.socket.wait_closed()


@asynccontextmanager
async def visit(address: Address, person: Person, path: str = "/") -> AsyncIterator[Visitor]:
    with address.visit(person) as client:
        page = await asyncio.to_thread(client.get, path)
        assert page.status_code == 200
        async with open_socket(address, person, Page(page.text)) as visitor:
            yield visitor


@asynccontextmanager
async def open_socket(address: Address, person: Person, page: Page) -> AsyncIterator[Visitor]:
    async with websockets.asyncio.client.connect(
        address.url.replace("http", "ws", 1) + page.socket_url,
        origin=Origin(address.url),
        additional_headers={"Cookie": person.cookie_header},
        ssl=address.tls,
        proxy=None,
        max_size=None,
    ) as socket:
        yield Visitor(page, socket)


async def wait_for_ending(address: Address, person: Person, path: str) -> str:
    """Return how the newest reply of a conversation ended, polling until it has."""
    with address.visit(person) as client:
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                page = Page((await asyncio.to_thread(client.get, path)).text)
                ending = page.reply().attributes["data-ending"]
                if ending != "streaming":
                    return ending
                await asyncio.sleep(0.02)
