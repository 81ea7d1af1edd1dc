"""The driver: plays browser tabs, as a client that knows only the page.


async with Browser.signed_in(server) as browser:
    tab = await browser.open_tab()
    tab.ask(Order(browser.next_number(), tokens=500))
    await tab.reply_ended()
"""

import asyncio
import html
import itertools
import json
import re
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlencode

import httpx

from bench.answers import STAMP_DIGITS, Order
from bench.server import PASSWORD, USERNAME, Server
from bench.upstream import OTHER_MODELS
from bench.websocket import WebSocket, open_websocket

WAIT_SECONDS = 30.0
REPLY_SECONDS = 600.0
CONNECTIONS = httpx.Limits(max_connections=None)

INPUT = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')
_COMPOSER = re.compile(r'<form class="composer".*?</form>', re.S)
_SOCKET = re.compile(r'hx-ws:connect="([^"]*)"')
_MODEL = re.compile(r'<option\b[^>]*? value="([^"]*)" selected')
_STAMP = re.compile(rb"t(\d{%d})" % STAMP_DIGITS)
_REPLY = re.compile(r'data-reply="([0-9a-f-]{36})"')
_ENDING = re.compile(rb'data-ending="(?!streaming)(\w+)"')


@dataclass(frozen=True)
class Request:
    """The times of one request at the upstream, in seconds of the monotonic clock."""

    arrived_at: float
    closed_at: float | None


class Browser:
    """One person's signed-in browser, which opens tabs."""

    def __init__(
        self, server: Server, client: httpx.AsyncClient, tls: ssl.SSLContext | None = None
    ) -> None:
        self.server = server
        self.client = client
        self.tls = tls
        self.tabs: list[Tab] = []
        self._requests: dict[int, Request] = {}
        self._numbers = itertools.count(1)

    @classmethod
    @asynccontextmanager
    async def signed_in(
        cls,
        server: Server,
        url: str = "",
        tls: ssl.SSLContext | None = None,
        username: str = USERNAME,
    ) -> AsyncIterator["Browser"]:
        """Sign in at the server, or at the `url` of a proxy in front of it, trusted by `tls`."""
        url = url or f"http://{server.host}"
        async with httpx.AsyncClient(
            base_url=url,
            timeout=WAIT_SECONDS,
            trust_env=False,
            verify=tls or True,
            limits=CONNECTIONS,
        ) as client:
            page = await client.get("/accounts/login/")
            fields = dict(INPUT.findall(page.text)) | {"login": username, "password": PASSWORD}
            answer = await client.post("/accounts/login/", data=fields, headers={"Origin": url})
            if answer.status_code != 302:
                raise RuntimeError(f"signing in failed: {answer.status_code}")
            browser = cls(server, client, tls)
            try:
                yield browser
            finally:
                await browser.close_tabs()

    async def open_tab(self, path: str = "/") -> "Tab":
        """Load the page of a new chat or of a conversation, and open its socket."""
        page = (await self.client.get(path)).raise_for_status().text
        composer, socket_path = _COMPOSER.search(page), _SOCKET.search(page)
        if not composer or not socket_path:
            raise RuntimeError("the page has no composer or no socket")
        fields = _hidden_fields(composer[0])
        if model := _MODEL.search(page):
            fields["model"] = html.unescape(model[1])
        tab = Tab(fields)
        url = html.unescape(socket_path[1])
        if replies := _REPLY.findall(page):
            query = {"conversation": fields["conversation"], "head": replies[-1]}
            url += "?" + urlencode(query | {"ending": "streaming"})
        # the newest of each name
        cookies = {cookie.name: cookie.value for cookie in self.client.cookies.jar}
        cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
        tab.socket = await open_websocket(
            self.client.base_url.netloc.decode(),
            url,
            cookie,
            tab.receive,
            self.tls,
        )
        self.tabs.append(tab)
        return tab

    async def open_tabs(self, count: int) -> "list[Tab]":
        return [await self.open_tab() for _ in range(count)]

    async def close_tabs(self) -> None:
        for tab in self.tabs:
            if not tab.socket.is_lost.done():
                tab.socket.close()
        await asyncio.gather(*(tab.socket.is_lost for tab in self.tabs))
        self.tabs.clear()

    @property
    def form_headers(self) -> dict[str, str]:
        """The headers with which a page's script sends a form."""
        token = self.client.cookies.get("csrftoken") or ""
        return {"X-CSRFToken": token, "Origin": str(self.client.base_url).rstrip("/")}

    async def send_part(self, path: str, part: bytes, offset: int) -> None:
        """Send a part of a file as a page's script does."""
        headers = {"Upload-Offset": str(offset), "Content-Type": "application/octet-stream"}
        answer = await self.client.patch(path, content=part, headers=headers | self.form_headers)
        answer.raise_for_status()

    def next_number(self) -> int:
        return next(self._numbers)

    async def wait_for_request(self, order: Order, *, closed: bool = False) -> Request:
        """Return what the upstream recorded of an order's request, once it arrived (or closed)."""
        give_up_at = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < give_up_at:
            request = self._requests.get(order.number)
            if request and (request.closed_at or not closed):
                return request
            await self._fetch_records()
            await asyncio.sleep(0.05)
        raise TimeoutError(f"the upstream saw nothing of {order}")

    async def _fetch_records(self) -> None:
        answer = await self.client.get(f"http://{self.server.upstream}/records")
        for number, arrived_at, closed_at in answer.json():
            self._requests[number] = Request(arrived_at, closed_at)


class Tab:
    """One tab: its composer's fields, its socket, and what arrived over it."""

    socket: WebSocket

    def __init__(self, fields: dict[str, str]) -> None:
        self._fields = fields
        self._ended: asyncio.Future[str] | None = None
        self._first_token: asyncio.Future[float] | None = None
        self._began: asyncio.Event | None = None
        self._unended = 0  # replies
        self._last_stamp = b""
        self.payload_bytes = 0
        self.frames = 0
        # seconds from the upstream's write to the read here, for each token
        self.latencies: list[float] = []

    def ask(self, order: Order, attached: str = "") -> float:
        """Send the composer's form, with attached files; return the time (monotonic)."""
        self.watch()
        return self._send(self._fields | {"message": order.prompt(), "attached": attached})

    def say(self, message: str) -> float:
        """Send a prompt as a person types it; return the time."""
        self.watch()
        return self._send(self._fields | {"message": message})

    def ask_several(self, order: Order, count: int) -> float:
        """Send a prompt to several models at once; return the time."""
        self.watch(count)
        upstream, _, _ = self._fields["model"].partition("/")
        others = "\n".join(f"{upstream}/{model}" for model in OTHER_MODELS[: count - 1])
        return self._send(self._fields | {"message": order.prompt(), "others": others})

    def watch(self, replies: int = 1) -> None:
        """From now on, `reply_began` is about the first and `reply_ended` about the last reply to
        come."""
        self._unended = replies
        loop = asyncio.get_running_loop()
        self._ended, self._first_token = loop.create_future(), loop.create_future()
        self._began = asyncio.Event()

    @property
    def path(self) -> str:
        """The path of the conversation, once it has begun."""
        return f"/c/{self._fields['conversation']}/"

    def stop(self) -> float:
        """Press Stop; return the time."""
        return self._send(self._fields | {"action": "stop", "message": ""})

    async def reply_began(self) -> float:
        """Wait for the first token; return the time at which it was read."""
        assert self._first_token
        return await asyncio.wait_for(self._first_token, WAIT_SECONDS)

    async def has_conversation(self) -> None:
        """Wait until the prompt is stored, and so `path` is its conversation's."""
        assert self._began
        await asyncio.wait_for(self._began.wait(), REPLY_SECONDS)

    async def reply_ended(self) -> str:
        """Wait for the reply's end and return the ending. Raises `TimeoutError` if none comes."""
        assert self._ended
        return await asyncio.wait_for(self._ended, REPLY_SECONDS)

    def receive(self, frame: bytes, now: float) -> None:
        self.payload_bytes += len(frame)
        self.frames += 1
        for stamp in _STAMP.findall(frame):
            if stamp > self._last_stamp:  # a block shown again repeats stamps that were counted
                self._last_stamp = stamp
                self.latencies.append(now - int(stamp) / 1e6)
                if self._first_token and not self._first_token.done():
                    self._first_token.set_result(now)
        if b"<input" in frame:
            self._fields |= _hidden_fields(frame.decode())
            if self._began and self._fields.get("conversation"):
                self._began.set()
        if b'data-ending="' in frame and (ending := _ENDING.search(frame)):
            self._end(ending[1].decode())

    def _end(self, ending: str) -> None:
        self._unended -= 1
        if self._ended and not self._ended.done() and self._unended <= 0:
            self._ended.set_result(ending)

    def _send(self, fields: dict[str, str]) -> float:
        payload = json.dumps(fields).encode()
        now = time.monotonic()
        self.socket.send(payload)
        return now


def _hidden_fields(fragment: str) -> dict[str, str]:
    return {name: html.unescape(value) for name, value in INPUT.findall(fragment)}
