"""The steps of a script: `bytes` are written as they are, in one piece."""

import asyncio
import json
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field


class Pause:
    """Waits until the test calls `release`, from any thread."""

    def __init__(self) -> None:
        self.reached = threading.Event()  # everything before the pause is written
        self._released: Future[None] = Future()

    def release(self) -> None:
        if not self._released.done():
            self._released.set_result(None)

    async def wait(self) -> None:
        """Wait for `release`: the upstream calls this when it comes to this step."""
        self.reached.set()
        await asyncio.shield(asyncio.wrap_future(self._released))


@dataclass(frozen=True)
class Delay:
    seconds: float


@dataclass(frozen=True)
class Stall:
    """Sends nothing more until the client closes."""


@dataclass(frozen=True)
class Abort:
    """Resets the connection (RST)."""


@dataclass(frozen=True)
class Close:
    """Closes the connection (FIN) without ending the response."""


Step = bytes | Pause | Delay | Stall | Abort | Close


@dataclass(frozen=True)
class Script:
    steps: tuple[Step, ...]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    written_head: bytes = b""  # in place of our own; the body is then whatever comes until close

    def head(self) -> bytes:
        if self.written_head:
            return self.written_head
        headers = {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
        headers |= {name.lower(): value for name, value in self.headers.items()}
        lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
        return f"HTTP/1.1 {self.status} Scripted\r\n{''.join(lines)}\r\n".encode()


def build_response(status: int, body: object, headers: dict[str, str] | None = None) -> Script:
    """Return a response that is no stream; a body that is no text is sent as JSON."""
    if isinstance(body, str):
        kind = "text/html; charset=utf-8" if body.lstrip().startswith("<") else "text/plain"
        content = body.encode()
    else:
        kind, content = "application/json", json.dumps(body).encode()
    return Script((content,), status, {"content-type": kind, **(headers or {})})
