"""What the app can ask of the server, which knows no capability and treats all alike.

A view asks for threads of its own, or for a response that is written on the event loop. The command
that starts the server passes what admits larger bodies, and what formats the server's own errors.
Imports nothing of the app.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from django.http import HttpResponse

View = TypeVar("View", bound=Callable[..., Any])
Send = Callable[[dict[str, Any]], Awaitable[None]]

BODY_FILE = "chatapp.body_file"  # the ASGI extension: the file in which a large body was spooled


@dataclass(frozen=True)
class ViewThreads:
    """Threads that only some views use, so that pages never wait behind them."""

    name: str
    count: int
    at_once: int = 1  # requests that start at a time; those that wait for I/O do not count
    are_for_tokens: bool = False  # turns go by the Authorization header, not by person or address


# For views that wait for upstreams: some list their models slowly.
UPSTREAM_THREADS = ViewThreads("upstream", 2)


def run_in(threads: ViewThreads) -> Callable[[View], View]:
    """Run a view in these threads. This must be the outermost decorator."""

    def decorator(view: View) -> View:
        view.threads = threads  # type: ignore[attr-defined]
        return view

    return decorator


def get_threads(view: Callable[..., Any]) -> ViewThreads | None:
    """Return the threads that a view asks for, if any."""
    return getattr(view, "threads", None)


class LoopResponse(HttpResponse, ABC):
    """A response that is written on the event loop, and cancelled when the client has left."""

    @abstractmethod
    async def write_to(self, send: Send) -> None:
        """Send the whole response."""

    async def start(self, send: Send) -> None:
        """Send the status and the headers."""
        headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in self.headers.items()
        ]
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})


class RequestRefused(Exception, ABC):
    """A response that refuses a request."""

    status: int
    content_type: str

    @property
    @abstractmethod
    def content(self) -> bytes:
        """The body."""

    @property
    @abstractmethod
    def headers(self) -> Mapping[str, str]:
        """Further headers."""


# Maps the address of a request, a status and a sentence to the server's own error in the format of
# that address; None if it has no format of its own.
FindError = Callable[[bytes, int, str], RequestRefused | None]
Refuse = Callable[[RequestRefused], None]


@dataclass(eq=False)
class LargeBody:
    """A body that was admitted, although it is larger than anybody's may be."""

    size: int  # bytes
    sender: int | None = None  # the person, once it was checked who sends it
    check: "asyncio.Task[None]" = field(init=False)


class LargeBodies(Protocol):
    """Admits large bodies."""

    def limit(self, path: bytes) -> int:
        """Return the most bytes that an admitted body may have; 0 if none is admitted there."""

    def begin(self, size: int, authorization: str, refuse: Refuse) -> LargeBody:
        """Admit a body of this size, and `end` it later. Raises `RequestRefused`.

        `refuse` is called if the check fails. The request must not be answered before `check` of
        the returned body is done.
        """

    def end(self, body: LargeBody) -> None:
        """Free the room that the body takes."""
