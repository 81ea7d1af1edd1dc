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

from chatapp.concurrency.turns import served_person
from chatapp.server.thread_pools import BoundedThreadPool
from chatapp.server_interface import BODY_FILE, LoopResponse, ViewThreads, get_threads
from chatapp.sessions.session_people import find_person

# Two at once, so that one runs while the other waits for the event loop or the database. All
# threads, with those of the sockets, must not exceed the size of PostgreSQL's connection pool.
PAGES_AT_ONCE, PAGE_THREADS = 2, 4
PAGES_EACH = 2  # of one person


class Pages(ASGIHandler):
    """The ASGI application for HTTP requests."""

    def __init__(self) -> None:
        # Not `super().__init__()`, which adapts the middleware for the event loop. Other methods
        # are called as Django's own handler calls them; see `tests/test_private_parts.py`.
        self.load_middleware(is_async=False)
        self._pages = BoundedThreadPool(PAGE_THREADS, PAGES_AT_ONCE, "page", PAGES_EACH)
        self._own_pools: dict[ViewThreads, BoundedThreadPool] = {}  # of the views that have them

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
        threads = _find_threads(scope["path"])
        pool = self._get_pool(threads) if threads else self._pages
        is_for_tokens = threads and threads.are_for_tokens
        who = _find_token(scope) if is_for_tokens else _find_person_or_address(scope)
        served_person.set(who)
        response = await pool.run(partial(self._response, scope, body), who)
        if isinstance(response, LoopResponse):
            await response.write_to(send)
            return
        await self.send_response(response, send)
        if response.streaming:
            await pool.run(response.close, who)

    def _get_pool(self, threads: ViewThreads) -> BoundedThreadPool:
        if threads not in self._own_pools:
            pool = BoundedThreadPool(threads.count, threads.at_once, threads.name)
            self._own_pools[threads] = pool
        return self._own_pools[threads]

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


def _find_threads(path: str) -> ViewThreads | None:
    """Return the threads of the view at this path, if it has its own."""
    try:
        return get_threads(resolve(path).func)
    except Resolver404:
        return None


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
