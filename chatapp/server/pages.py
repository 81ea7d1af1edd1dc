"""Django's ASGI handler, changed to answer each request in a single thread.

Django under ASGI hops to a thread and back for each synchronous part: the signals, most of the
middleware, the view, the close. The hops cost more than the page does, and each waits for its turn
in the event loop.
"""

import asyncio
from collections.abc import Hashable
from contextlib import closing
from functools import partial
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.signals import request_started
from django.http import parse_cookie
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve, set_script_prefix

from chatapp.api.responses import BODY_FILE, LoopResponse
from chatapp.concurrency.turns import served_person
from chatapp.server.thread_pools import BoundedThreadPool
from chatapp.sessions.session_people import find_person

# Two at once, so that one runs while the other waits for the event loop or the database. All
# threads, with those of the sockets, must not exceed the size of PostgreSQL's connection pool.
PAGES_AT_ONCE, PAGE_THREADS = 2, 4
PAGES_EACH = 2  # of one person
# The names of views that have threads of their own.
# Probes ask about the process, so they must not wait behind pages.
PROBES, PROBE_THREADS = ("healthz", "readyz", "metrics"), 4
# These wait for upstreams that list models slowly; other pages must not wait behind them.
WAITING, WAITING_THREADS = ("models", "upstreams", "upstream-offer", "test-upstream"), 2
# This queries a tool server for up to a minute.
INQUIRIES, INQUIRY_THREADS = ("tools-of-server",), 2
# Scripts may send many requests at once; pages must not wait behind them.
API, API_THREADS = ("api-models", "api-chat-completions"), 2


class Pages(ASGIHandler):
    """The ASGI application for HTTP requests."""

    def __init__(self) -> None:
        # Not `super().__init__()`, which adapts the middleware for the event loop. Other methods
        # are called as Django's own handler calls them; see `tests/test_private_parts.py`.
        self.load_middleware(is_async=False)
        self._pages = BoundedThreadPool(PAGE_THREADS, PAGES_AT_ONCE, "page", PAGES_EACH)
        probes = BoundedThreadPool(PROBE_THREADS, 1, "probe")
        waiting = BoundedThreadPool(WAITING_THREADS, 1, "waiting")
        inquiries = BoundedThreadPool(INQUIRY_THREADS, INQUIRY_THREADS, "inquiry")
        self._scripts = BoundedThreadPool(API_THREADS, 1, "api")
        self._own_pools = {
            **dict.fromkeys(PROBES, probes),
            **dict.fromkeys(WAITING, waiting),
            **dict.fromkeys(INQUIRIES, inquiries),
            **dict.fromkeys(API, self._scripts),
        }

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        body = scope.get("extensions", {}).get(BODY_FILE, body)
        answering = asyncio.create_task(self._answer(scope, body, send))
        leaving = asyncio.create_task(self.listen_for_disconnect(receive))
        try:
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            answering.cancel()
            leaving.cancel()
        outcome, _ = await asyncio.gather(answering, leaving, return_exceptions=True)
        if isinstance(outcome, Exception):
            raise outcome

    async def _answer(self, scope: Any, body: IO[bytes], send: Any) -> None:
        pool = self._find_pool(scope["path"])
        who = _find_token(scope) if pool is self._scripts else _find_person_or_address(scope)
        served_person.set(who)
        response = await pool.run(partial(self._response, scope, body), who)
        if isinstance(response, LoopResponse):
            await response.write_to(send)
            return
        await self.send_response(response, send)
        if response.streaming:
            await pool.run(response.close, who)

    def _find_pool(self, path: str) -> BoundedThreadPool:
        try:
            return self._own_pools.get(resolve(path).view_name, self._pages)
        except Resolver404:
            return self._pages

    def _response(self, scope: Any, body: IO[bytes]) -> HttpResponseBase:
        """Return the response. Blocks until it is complete, except for a stream."""
        with closing(body):
            set_script_prefix(get_script_prefix(scope))
            request_started.send(sender=type(self), scope=scope)
            request, refusal = self.create_request(scope, body)
            response: HttpResponseBase | None = self.get_response(request) if request else refusal
            assert response
            if not response.streaming:
                response.close()
            return response


def _find_token(scope: Any) -> Hashable:
    """Return the token with which a script sends the request, if any."""
    return next((value for name, value in scope["headers"] if name == b"authorization"), None)


def _find_person_or_address(scope: Any) -> Hashable:
    """Return the person who sends the request, as far as this process knows, or else the address.

    Nobody gets more turns by sending other cookies or headers.
    """
    sent = [value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie"]
    session = parse_cookie("; ".join(sent)).get(settings.SESSION_COOKIE_NAME, "")
    client = scope.get("client")
    return find_person(session) or (client[0] if client else None)
