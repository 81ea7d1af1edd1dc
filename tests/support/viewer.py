"""A persistent tab: it reconnects as the page's scripts do and remembers every text it showed.


    async with Viewer.opened(proxy, person) as viewer:
        await viewer.send("Count")
        ...                                    # proxies and servers come and go
        await viewer.until_ended()
        viewer.check_that_it_only_grew(whole)

It mirrors two things: how static/js/connection/socket.js builds the socket's URL, and how long it
waits before it reconnects.
"""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import pairwise
from typing import Self
from urllib.parse import urlencode

import websockets
import websockets.asyncio.client
from websockets.frames import Frame, Opcode
from websockets.protocol import Event
from websockets.typing import Origin

from tests.support.live import Address, Person, reset
from tests.support.page import Element, Page
from tests.support.program import WAIT_SECONDS
from tests.support.visitor import Visitor

SIGNED_OUT = 4401
DEACTIVATED = 4403
RECONNECT_CODES = frozenset({1001, 1005, 1006, 1011, 1012, 1013, 1014})
REOPENS_AFTER = 3.0  # seconds, after any other close code
JITTER = 0.3
FIRST_DELAY, MAX_DELAY_LENGTH = 0.15, 10.0  # seconds, as static/js/connection/socket.js waits


class Viewer(Visitor):
    """One tab of one person at one address, which may be a proxy's."""

    def __init__(self, address: Address, person: Person, page: Page) -> None:
        self.page = page
        self.address = address
        self.person = person
        self.frames: list[str] = []
        self.seen: list[tuple[str, str]] = []  # a reply's id and answer, added whenever it changes
        self.closes: list[int] = []  # the code of each close; 1006 if no socket was opened
        self.connections = 0
        self.pings = 0  # sent by the server
        self._socket: websockets.asyncio.client.ClientConnection | None = None
        self._unsent: list[str] = []
        self._news = asyncio.Condition()
        self._staying: asyncio.Task[None]
        self._first_delay, self._longest_delay = FIRST_DELAY, MAX_DELAY_LENGTH

    @classmethod
    @asynccontextmanager
    async def open_tab(
        cls, address: Address, person: Person, path: str = "/"
    ) -> AsyncIterator[Self]:
        """Load the page, and keep its socket open until the tab is closed."""
        with address.visit(person) as client:
            page = await asyncio.to_thread(client.get, path)
        assert page.status_code == 200, page.text
        viewer = cls(address, person, Page(page.text))
        viewer._staying = asyncio.create_task(viewer._stay())
        try:
            await viewer.until(lambda: viewer.connections)
            yield viewer
        finally:
            await viewer.close()

    async def close(self) -> None:
        self._staying.cancel()
        with suppress(asyncio.CancelledError):
            await self._staying

    @property
    def is_connected(self) -> bool:
        return self._socket is not None

    @property
    def text(self) -> str:
        """The newest reply's answer, as the page shows it."""
        return self.page.region("answer").strip() if self.replies else ""

    async def send(self, message: str, **fields: str) -> None:
        """Send the composer's form; while disconnected, as soon as there is a connection."""
        await self._send(self.page.form() | {"message": message} | fields)

    async def _send(self, form: dict[str, str]) -> None:
        if self._socket is None:
            self._unsent.append(json.dumps(form))
        else:
            # closed just now, and the next one is not open yet
            with suppress(websockets.ConnectionClosed):
                await self._socket.send(json.dumps(form))

    async def press(self, button: Element) -> None:
        """Send what a button's `hx-vals` say."""
        await self._send(self.page.form() | json.loads(button.attributes["hx-vals"]))

    async def ask(self, message: str) -> str:
        """Send a prompt until its reply begins; return the reply's id.

        It is sent again if the socket is lost, as the composer does, or if a process that is
        shutting down refuses it, as a person does.
        """
        form, before = self.page.form() | {"message": message}, set(self.replies)
        while not set(self.replies) - before:
            connections = self.connections
            self.page.root.find("p", id="problem").attributes.pop("data-prompt", None)
            await self._send(form)
            await self.until(partial(self._is_answered, form["prompt"], before, connections))
            if self._is_refused(form["prompt"]):
                await self.until_back(connections)
        return self.replies[-1]

    def _is_answered(self, prompt: str, replies: set[str], connections: int) -> bool:
        """Return whether it got a reply, was refused, or was lost with its connection."""
        return (
            bool(set(self.replies) - replies)
            or self.connections > connections
            or self._is_refused(prompt)
        )

    def _is_refused(self, prompt: str) -> bool:
        problem = self.page.root.find("p", id="problem")
        return problem.attributes.get("data-prompt") == prompt

    @property
    def problem(self) -> str:
        return self.page.root.find("p", id="problem").text

    async def lose_connection(self) -> None:
        """Reset the connection without a close frame, as a closed laptop or dead Wi-Fi does."""
        if self._socket:
            reset(self._socket.transport)

    def reconnect_quickly(self, seconds: float = 0.05) -> None:
        self._first_delay = self._longest_delay = seconds

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until the page meets the condition, which is checked after each frame."""
        try:
            async with asyncio.timeout(WAIT_SECONDS), self._news:
                await self._news.wait_for(lambda: self._staying.done() or condition())
        except TimeoutError:
            state = f"closes {self.closes}, problem {self.problem!r}, shows {self.text[-200:]!r}"
            raise AssertionError(f"not in time: {state}") from None
        if self._staying.done():
            self._staying.result()  # raises what ended it
            assert condition(), "the tab is signed out"

    async def until_back(self, before: int) -> None:
        """Wait for a connection after the first `before` ones."""
        await self.until(lambda: self.connections > before and self.is_connected)

    async def until_closed(self, *codes: int) -> None:
        """Wait until its connections were closed with exactly these codes."""
        await self.until(lambda: tuple(self.closes) == codes)

    async def until_lost(self) -> None:
        """Wait until a connection was closed, with any code."""
        await self.until(lambda: self.closes)

    async def until_pinged(self, times: int) -> None:
        await self.until(lambda: self.pings >= times)

    def check_that_it_only_grew(self, whole: str) -> None:
        """Fail if the newest reply ever lost or repeated text, or is not the whole text now."""
        texts = [text for reply, text in self.seen if reply == self.replies[-1]]
        for before, after in pairwise(texts):
            assert after.startswith(before), f"the page went back from {before!r} to {after!r}"
        assert self.text == whole.strip()

    async def _stay(self) -> None:
        try:
            await self._stay_connected()
        finally:
            await self._tell()

    async def _stay_connected(self) -> None:
        attempts = 0
        while True:
            url = self.address.url.replace("http", "ws", 1) + "/ws/" + self._page_query()
            code = 1006
            with suppress(OSError, websockets.WebSocketException):
                async with websockets.asyncio.client.connect(
                    url,
                    origin=Origin(self.address.url),
                    additional_headers={"Cookie": self.person.cookie_header},
                    ssl=self.address.tls,
                    proxy=None,
                    max_size=None,
                    create_connection=_build_socket_class(self),
                ) as socket:
                    attempts = 0
                    try:
                        await self._take_frames(socket)
                    finally:
                        self._socket = None
                        code = socket.close_code or 1006
            self.closes.append(code)
            await self._tell()
            if code in (SIGNED_OUT, DEACTIVATED):
                return
            attempts += 1
            await asyncio.sleep(self._delay(attempts) if code in RECONNECT_CODES else REOPENS_AFTER)

    async def _take_frames(self, socket: websockets.asyncio.client.ClientConnection) -> None:
        self._socket = socket
        while self._unsent:
            await socket.send(self._unsent.pop(0))
        self.connections += 1
        await self._tell()
        async for frame in socket:
            assert isinstance(frame, str)
            self.frames.append(frame)
            self.page.swap(frame)
            self._remember()
            await self._tell()

    def _remember(self) -> None:
        if self.replies:
            shows = (self.replies[-1], self.text)
            if not self.seen or self.seen[-1] != shows:
                self.seen.append(shows)

    async def count_ping(self) -> None:
        """Count a ping of the server; called by the connection."""
        self.pings += 1
        await self._tell()

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    def _delay(self, attempts: int) -> float:
        delay: float = min(self._first_delay * 2 ** (attempts - 1), self._longest_delay)
        return delay * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - not for secrets

    def _page_query(self) -> str:
        """Return the query that says what this page shows."""
        conversation = self.page.form()["conversation"]
        if not conversation:
            return ""
        messages = [
            message for message in self.page.root.find(id="messages").elements if _id(message)
        ]
        head = _id(messages[-1]) if messages else ""
        ending = messages[-1].attributes.get("data-ending", "") if messages else ""
        return "?" + urlencode({"conversation": conversation, "head": head, "ending": ending})


def _build_socket_class(viewer: Viewer) -> type[websockets.asyncio.client.ClientConnection]:
    class Socket(websockets.asyncio.client.ClientConnection):
        """A connection that answers pings as browsers do and reports them to the viewer."""

        def process_event(self, event: Event) -> None:
            super().process_event(event)
            if isinstance(event, Frame) and event.opcode is Opcode.PING:
                self._telling = asyncio.get_running_loop().create_task(viewer.count_ping())

    return Socket


def _id(message: Element) -> str:
    return message.attributes.get("data-reply") or message.attributes.get("data-message", "")
