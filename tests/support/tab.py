"""A tab as the consumer sees it: Channels' communicator, speaking as a page does."""

import json
import re
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode
from uuid import UUID, uuid4

from channels.testing import WebsocketCommunicator
from django.test import AsyncClient, Client

from chatapp.asgi import application

WAIT_SECONDS = 60.0
REPLY = re.compile(r'data-reply="([0-9a-f-]{36})"')


class Tab:
    """One browser tab of the person whose `client` is signed in; a context manager."""

    path = "/ws/"

    def __init__(
        self, client: Client | AsyncClient, origin: str = "http://localhost", **query: object
    ) -> None:
        self.client = client
        cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
        headers = [(b"host", b"localhost"), (b"cookie", cookies.encode())]
        if origin:
            headers.append((b"origin", origin.encode()))
        self._socket = WebsocketCommunicator(
            application, f"{self.path}?{urlencode(query)}", headers
        )
        self.frames: list[str] = []
        self._is_open = False

    async def __aenter__(self) -> Self:
        assert await self.connect()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def connect(self) -> bool:
        self._is_open, _ = await self._socket.connect(timeout=WAIT_SECONDS)
        return bool(self._is_open)

    async def close(self, code: int = 1001) -> None:
        """Close the tab (1001), or lose its connection (1006).

        If `until` timed out, the communicator has already cancelled the consumer and would raise
        that here: a `CancelledError`, after which pytest does not tear down fixtures.
        """
        was_open, self._is_open = self._is_open, False
        if was_open and not self._socket.future.cancelled():
            await self._socket.disconnect(code=code, timeout=WAIT_SECONDS)

    async def send(self, **fields: Any) -> None:
        await self.send_text(json.dumps(fields))

    async def send_text(self, text: str) -> None:
        """Send text that need not be a message a page would send."""
        await self._socket.send_to(text_data=text)

    async def hears_nothing(self, seconds: float) -> bool:
        """Return whether nothing arrives for this many seconds."""
        return bool(await self._socket.receive_nothing(timeout=seconds))

    async def ask(self, message: str = "Why is the sky blue?", **fields: Any) -> UUID:
        """Send a prompt and wait for its reply to begin; return the reply's id."""
        await self.send(action="prompt", message=message, **({"prompt": str(uuid4())} | fields))
        return await self.next_reply()

    async def next_reply(self) -> UUID:
        match = REPLY.search(await self.until('data-ending="streaming"'))
        assert match
        return UUID(match[1])

    async def until(self, text: str) -> str:
        """Return the next frame that contains `text`; earlier frames stay in `frames`."""
        while True:
            frame: str = await self._socket.receive_from(timeout=WAIT_SECONDS)
            self.frames.append(frame)
            if text in frame:
                return frame

    async def until_ended(self) -> str:
        """Return the frame that ends the reply."""
        while True:
            frame = await self.until('aria-busy="false"')
            if 'hx-swap-oob="outerMorph"' in frame:
                return frame

    async def until_closed(self) -> int:
        """Wait until the server closes the socket; return the close code."""
        while True:
            output = await self._socket.receive_output(timeout=WAIT_SECONDS)
            if output["type"] == "websocket.close":
                self._is_open = False
                return int(output["code"])
            self.frames.append(output["text"])
