"""The WebSocket through the public URL: upgrade, origin, trickle, long prompts, idling."""

import asyncio
import json
import math
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, suppress
from typing import Any, Self, TypeVar

from django.conf import settings
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.typing import Origin

from chatapp.checks.results import Finding, failed, ok
from chatapp.doctor import probe
from chatapp.doctor.buffering import Arrivals
from chatapp.doctor.public import Public
from chatapp.doctor.report import milliseconds, reason
from chatapp.doctor.tls import blind_context

WAIT_SECONDS = 15.0
# Beside the page's own socket, so that a proxy's rules for that one hold here too.
SOCKET_PATH = "/ws/probe/"

_UPGRADE_CURE = (
    "Let the proxy pass WebSocket upgrades on (nginx: proxy_http_version 1.1; proxy_set_header "
    'Upgrade $http_upgrade; proxy_set_header Connection "upgrade").'
)


T = TypeVar("T")


class Socket:
    """A socket to the probe, for who waits for what it says; a context manager.

    Its loop has a thread of its own, and all of it runs there: of Python's TLS sockets, what one
    thread writes while another reads is lost at times (miguelgrinberg/python-engineio #461).
    """

    def __init__(self, public: Public) -> None:
        self._public = public

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        try:
            self._connection = self._result_of(self._open())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._result_of(self._close())
        finally:
            self._end()

    def recv(self, seconds: float) -> str:
        """Raises `TimeoutError` where nothing comes for so long."""
        return str(self._result_of(asyncio.wait_for(self._connection.recv(), seconds)))

    def send(self, text: str) -> None:
        self._result_of(self._connection.send(text))

    async def _open(self) -> ClientConnection:
        """It sends no pings: what keeps it open is the app's own."""
        public = self._public
        return await _Connect(
            f"{'wss' if public.is_https else 'ws'}://{public.host}{SOCKET_PATH}",
            origin=Origin(public.origin),
            additional_headers=public.headers,
            ssl=blind_context() if public.is_https else None,
            compression=None,
            proxy=None,
            open_timeout=WAIT_SECONDS,
            close_timeout=1,
            ping_interval=None,
        )

    async def _close(self) -> None:
        await self._connection.close()
        # Whoever waits in another thread hears of it before the loop ends.
        waiting = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*waiting, return_exceptions=True)

    def _result_of(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _Connect(connect):
    """Follows no redirect: the token would go along."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


def upgrade(public: Public) -> Iterator[Finding]:
    """Whether a socket opens, and whether a page of this origin would get one."""
    started = time.monotonic()
    try:
        with Socket(public) as socket:
            told = json.loads(socket.recv(WAIT_SECONDS))
    except InvalidStatus as error:
        status = error.response.status_code
        yield failed(
            "WebSocket",
            f"the upgrade is answered with {status}",
            "Run doctor with the app's SECRET_KEY, and let the proxy pass headers on."
            if status == 403
            else _UPGRADE_CURE,
        )
    except (WebSocketException, OSError, ValueError) as error:
        yield failed("WebSocket", f"no upgrade: {reason(error)}", _UPGRADE_CURE)
    else:
        yield ok("WebSocket", f"opens in {milliseconds(time.monotonic() - started)}")
        yield _origin(public, told)


def _origin(public: Public, told: dict[str, object]) -> Finding:
    if told.get("is_own_origin"):
        return ok("Its origin", f"{public.origin} is taken")
    return failed(
        "Its origin",
        f"a page of {public.origin} is refused: the app's host is {told.get('host')}",
        f"Set CSRF_TRUSTED_ORIGINS={public.origin}, or let the proxy keep the Host header.",
    )


def socket_buffering(public: Public) -> Iterator[Finding]:
    """Whether ten messages written over a second come over a second."""
    arrivals = Arrivals()
    try:
        with Socket(public) as socket:
            socket.recv(WAIT_SECONDS)
            socket.send(probe.TRICKLE)
            for _ in range(probe.PIECES):
                arrivals.take(socket.recv(WAIT_SECONDS))
    except (WebSocketException, OSError, ValueError) as error:
        yield failed("Streaming", reason(error), _UPGRADE_CURE)
        return
    if arrivals.are_buffered:
        yield failed(
            "Streaming",
            f"is buffered: a message came {arrivals.lateness:.1f} s late, so replies come in lumps",
            "Switch buffering off in the proxy for WebSockets, and anything that inspects them.",
        )
    else:
        yield ok("Streaming", str(arrivals))


def prompt_size(public: Public) -> Iterator[Finding]:
    """Whether the longest prompt that the app takes gets through."""
    most = settings.CHATAPP_MAX_PROMPT_CHARACTERS
    prompt = "\U0001f600" * most  # in characters that take four bytes each
    shown = f"{most:,} characters ({4 * most // 1024} KiB)"
    try:
        with Socket(public) as socket:
            socket.recv(WAIT_SECONDS)
            socket.send(prompt)
            came = int(socket.recv(WAIT_SECONDS))
    except (WebSocketException, OSError, ValueError) as error:
        came, why = 0, f": {reason(error)}"
    else:
        why = f": {came:,} came"
    if came == most:
        yield ok("Long prompt", f"{shown} get through")
    else:
        yield failed(
            "Long prompt",
            f"{shown} do not get through{why}",
            "Let the proxy, and any firewall before it, pass WebSocket messages of "
            f"{math.ceil(4 * most / 2**20)} MiB, or lower CHATAPP_MAX_PROMPT_CHARACTERS.",
        )


class QuietSocket:
    """A socket on which nobody says anything for a while; a context manager.

    It watches in a thread of its own, so that other checks go on meanwhile.
    """

    def __init__(self, public: Public, seconds: float) -> None:
        self._public, self._seconds = public, seconds
        self._finding: Finding | None = None
        self._thread: threading.Thread | None = None
        self._stack = ExitStack()

    def __enter__(self) -> "QuietSocket":
        self._started = time.monotonic()
        try:
            self._socket = self._stack.enter_context(Socket(self._public))
            self._socket.recv(WAIT_SECONDS)
        except (WebSocketException, OSError) as error:
            self._finding = failed("Idle socket", f"no upgrade: {reason(error)}", _UPGRADE_CURE)
        else:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(WebSocketException, OSError):
            self._stack.close()
        if self._thread:
            self._thread.join(WAIT_SECONDS)

    def wait(self, progress: Callable[[float], None] = lambda left: None) -> Finding:
        """What came of it; `progress` is told about once a second how many are left."""
        while self._thread and self._thread.is_alive():
            progress(max(0.0, self._started + self._seconds - time.monotonic()))
            self._thread.join(1.0)
        assert self._finding
        return self._finding

    def _watch(self) -> None:
        try:
            with suppress(TimeoutError):
                self._socket.recv(self._seconds)
            self._socket.send("still there?")
            self._socket.recv(WAIT_SECONDS)
        except (ConnectionClosed, TimeoutError):
            after = time.monotonic() - self._started
            self._finding = failed(
                "Idle socket",
                f"was closed after {after:.0f} s without a message",
                "Raise the proxy's idle time-out over the app's 20 s between pings (nginx: "
                "proxy_read_timeout 300s; proxy_send_timeout 300s).",
            )
        else:
            self._finding = ok("Idle socket", f"still open after {self._seconds:g} s of silence")
