"""Drives the demo upstream as an ASGI server does: with a scope, `receive` and `send`."""

import asyncio
import json
import math
from pathlib import Path
from typing import Any

from chatapp.demo.app import demo_application
from chatapp.upstream.wire.decoding.decoder import EventDecoder
from chatapp.upstream.wire.reply import Reply

KEY = "demo-key"
COMPLETIONS = "/v1/chat/completions"


class Client:
    """One request to the demo. `sent` collects the messages that the application sends."""

    def __init__(
        self,
        body: bytes = b"",
        *,
        path: str = COMPLETIONS,
        method: str = "POST",
        authorization: str | None = f"Bearer {KEY}",
        tokens_per_second: float = math.inf,
        recordings: Path | None = None,
    ) -> None:
        headers = [(b"authorization", authorization.encode())] if authorization else []
        self.scope = {"type": "http", "method": method, "path": path, "headers": headers}
        self.incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.incoming.put_nowait({"type": "http.request", "body": body, "more_body": False})
        self.sent: list[dict[str, Any]] = []
        self.changed = asyncio.Condition()
        self._request_body = body
        self.application = demo_application(KEY, tokens_per_second, recordings)

    async def run(self) -> "Client":
        async with asyncio.timeout(5):
            await self.application(self.scope, self.incoming.get, self.collect)
        return self

    async def collect(self, message: Any) -> None:
        async with self.changed:
            self.sent.append(message)
            self.changed.notify_all()

    async def until_sent(self, count: int) -> None:
        async with asyncio.timeout(5), self.changed:
            await self.changed.wait_for(lambda: len(self.sent) >= count)

    def leave(self) -> None:
        self.incoming.put_nowait({"type": "http.disconnect"})

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def headers(self) -> dict[bytes, bytes]:
        return {name.lower(): value for name, value in self.sent[0]["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.sent[1:])

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def data(self) -> list[str]:
        """Return the data of each server-sent event."""
        events = self.body.decode().split("\n\n")
        assert events.pop() == ""
        return [event.removeprefix("data: ") for event in events]

    @property
    def deltas(self) -> list[dict[str, str]]:
        """Return the deltas that contain text."""
        chunks = [json.loads(data) for data in self.data if data != "[DONE]"]
        deltas = [choice["delta"] for chunk in chunks for choice in chunk.get("choices", [])]
        return [delta for delta in deltas if "content" in delta or "reasoning_content" in delta]

    def reply(self, choice: int = 0) -> Reply:
        """Return one choice, decoded by the app's own decoder."""
        choices = json.loads(self._request_body).get("n", 1)
        decoder, reply = EventDecoder(requested_choices=choices), Reply(choice)
        for event in [*decoder.receive_data(self.body), *decoder.close()]:
            reply.apply(event)
        return reply


def question(*texts: str, model: str = "demo-reasoner", stream: bool = True, **more: Any) -> bytes:
    """Return a request body whose messages are `texts`, from user and assistant in turn."""
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]
    return json.dumps({"model": model, "messages": messages, "stream": stream, **more}).encode()


async def ask(
    *texts: str, model: str = "demo-reasoner", stream: bool = True, **more: Any
) -> Client:
    """Ask a question and return the client after the response."""
    return await Client(question(*texts, model=model, stream=stream, **more)).run()
