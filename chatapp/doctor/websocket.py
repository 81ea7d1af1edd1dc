"""Check WebSockets through the public URL: upgrade, origin, buffering, long prompts, idling."""

import asyncio
import json
import math
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, suppress
from typing import Any, Self, TypeVar

from django.conf import settings
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.typing import Origin

from chatapp.checks.phrases import duration, reason
from chatapp.checks.results import CheckResult, failed, ok
from chatapp.doctor import probe
from chatapp.doctor.buffering import Arrivals
from chatapp.doctor.public import Public
from chatapp.doctor.tls import unverified_context

WAIT_SECONDS = 15.0
# Next to the page's own socket, so that a proxy's rules for that one apply here too.
SOCKET_PATH = "/ws/probe/"

_UPGRADE_REMEDY = (
    "Configure the proxy for WebSockets (nginx: proxy_http_version 1.1; proxy_set_header "
    'Upgrade $http_upgrade; proxy_set_header Connection "upgrade").'
)


T = TypeVar("T")


class Socket:
    """A blocking WebSocket client for the probe; a context manager.

    All I/O runs in an event loop in a thread of its own: Python's TLS sockets sometimes lose what
    one thread writes while another reads (miguelgrinberg/python-engineio #461).
    """

    def __init__(self, public: Public) -> None:
        self._public = public

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        try:
            self._connection = self._run_in_loop(self._open())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._run_in_loop(self._close())
        finally:
            self._end()

    def recv(self, seconds: float) -> str:
        """Return the next message. Raises `TimeoutError` after `seconds`."""
        return str(self._run_in_loop(asyncio.wait_for(self._connection.recv(), seconds)))

    def send(self, text: str) -> None:
        self._run_in_loop(self._connection.send(text))

    async def _open(self) -> ClientConnection:
        """Connect without pings: the app's own pings must keep the connection open."""
        public = self._public
        return await _Connect(
            f"{'wss' if public.is_https else 'ws'}://{public.host}{SOCKET_PATH}",
            origin=Origin(public.origin),
            additional_headers=public.headers,
            ssl=unverified_context() if public.is_https else None,
            compression=None,
            proxy=None,
            open_timeout=WAIT_SECONDS,
            close_timeout=1,
            ping_interval=None,
        )

    async def _close(self) -> None:
        await self._connection.close()
        # Let calls that wait in other threads fail before the loop ends.
        waiting = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*waiting, return_exceptions=True)

    def _run_in_loop(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _Connect(connect):
    """A connector that follows no redirect: it would send the token to another address."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


def upgrade(public: Public) -> Iterator[CheckResult]:
    """Check that a WebSocket opens, and that the app accepts one from this origin."""
    started = time.monotonic()
    try:
        with Socket(public) as socket:
            seen = json.loads(socket.recv(WAIT_SECONDS))
    except InvalidStatus as error:
        status = error.response.status_code
        yield failed(
            "WebSocket",
            f"the upgrade is answered with {status}",
            "Run doctor with the app's SECRET_KEY, and configure the proxy to pass on headers."
            if status == 403
            else _UPGRADE_REMEDY,
        )
    except (WebSocketException, OSError, ValueError) as error:
        yield failed("WebSocket", f"no upgrade: {reason(error)}", _UPGRADE_REMEDY)
    else:
        yield ok("WebSocket", f"opens in {duration(time.monotonic() - started)}")
        yield _origin(public, seen)


def _origin(public: Public, seen: dict[str, object]) -> CheckResult:
    if seen.get("is_own_origin"):
        return ok("Origin", f"{public.origin} is accepted")
    return failed(
        "Origin",
        f"pages of {public.origin} are refused: the app's host is {seen.get('host')}",
        f"Set CSRF_TRUSTED_ORIGINS={public.origin}, or make the proxy keep the Host header.",
    )


def socket_buffering(public: Public) -> Iterator[CheckResult]:
    """Check whether ten messages written over a second arrive over a second."""
    arrivals = Arrivals()
    try:
        with Socket(public) as socket:
            socket.recv(WAIT_SECONDS)
            socket.send(probe.TRICKLE)
            for _ in range(probe.PIECES):
                arrivals.record_piece(socket.recv(WAIT_SECONDS))
    except (WebSocketException, OSError, ValueError) as error:
        yield failed("Streaming", reason(error), _UPGRADE_REMEDY)
        return
    if arrivals.are_buffered:
        yield failed(
            "Streaming",
            f"is buffered: a message arrived {arrivals.lateness:.1f} s late, so replies stutter",
            "Turn off buffering of WebSockets in the proxy, and anything that inspects them.",
        )
    else:
        yield ok("Streaming", str(arrivals))


def prompt_size(public: Public) -> Iterator[CheckResult]:
    """Check that the longest prompt that the app accepts gets through."""
    max_characters = settings.CHATAPP_MAX_PROMPT_CHARACTERS
    prompt = "\U0001f600" * max_characters  # each character takes four bytes in UTF-8
    size_text = f"{max_characters:,} characters ({4 * max_characters // 1024} KiB)"
    try:
        with Socket(public) as socket:
            socket.recv(WAIT_SECONDS)
            socket.send(prompt)
            received = int(socket.recv(WAIT_SECONDS))
    except (WebSocketException, OSError, ValueError) as error:
        received, why = 0, f": {reason(error)}"
    else:
        why = f": {received:,} arrived"
    if received == max_characters:
        yield ok("Long prompt", f"{size_text} get through")
    else:
        yield failed(
            "Long prompt",
            f"{size_text} don't get through{why}",
            f"Allow WebSocket messages of {math.ceil(4 * max_characters / 2**20)} MiB in the proxy "
            "and any firewall before it, or lower CHATAPP_MAX_PROMPT_CHARACTERS.",
        )


class QuietSocket:
    """Check that a silent WebSocket stays open for `seconds`; a context manager.

    It waits in a thread of its own, so that other checks can run meanwhile.
    """

    def __init__(self, public: Public, seconds: float) -> None:
        self._public, self._seconds = public, seconds
        self._result: CheckResult | None = None
        self._thread: threading.Thread | None = None
        self._stack = ExitStack()

    def __enter__(self) -> "QuietSocket":
        self._started = time.monotonic()
        try:
            self._socket = self._stack.enter_context(Socket(self._public))
            self._socket.recv(WAIT_SECONDS)
        except (WebSocketException, OSError) as error:
            self._result = failed("Idle socket", f"no upgrade: {reason(error)}", _UPGRADE_REMEDY)
        else:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(WebSocketException, OSError):
            self._stack.close()
        if self._thread:
            self._thread.join(WAIT_SECONDS)

    def wait(self) -> CheckResult:
        if self._thread:
            self._thread.join()
        assert self._result
        return self._result

    def _watch(self) -> None:
        try:
            with suppress(TimeoutError):
                self._socket.recv(self._seconds)
            self._socket.send("still there?")
            self._socket.recv(WAIT_SECONDS)
        except (ConnectionClosed, TimeoutError):
            after = time.monotonic() - self._started
            self._result = failed(
                "Idle socket",
                f"was closed after {after:.0f} s without a message",
                "Raise the proxy's idle timeout above the app's ping interval of 20 s (nginx: "
                "proxy_read_timeout 300s; proxy_send_timeout 300s).",
            )
        else:
            self._result = ok("Idle socket", f"still open after {self._seconds:g} s of silence")
