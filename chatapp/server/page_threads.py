"""Threads for pages, kept from one request to the next.

Django gives each request a thread of its own, which is started and ended from the event loop: that
stands still until the system lets the new thread run, for tens of milliseconds where the machine is
busy. And a new thread needs a new connection to the database.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asgiref.sync import ThreadSensitiveContext
from django.db import close_old_connections

MOST_IDLE = 8  # each with its connection; a burst of requests has as many threads as it needs


class PageThreads:
    """ASGI middleware around Django: each request has a thread to itself, perhaps a used one."""

    def __init__(self, application: Any) -> None:
        self._application = application
        self._idle: list[ThreadPoolExecutor] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1, "page")
        try:
            async with ThreadSensitiveContext(executor=thread):  # inside it Django makes none
                await self._application(scope, receive, send)
        finally:
            # Django gives the connection back at a request's end, but not where its client left.
            thread.submit(close_old_connections)
            if len(self._idle) < MOST_IDLE:
                self._idle.append(thread)
            else:
                thread.shutdown(wait=False)
