"""Pages have threads that are kept: the event loop starts none for a request."""

import asyncio
import threading
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.core.asgi import get_asgi_application

from chatapp.server import page_threads
from chatapp.server.page_threads import PageThreads


async def test_one_request_after_the_other_has_the_same_thread() -> None:
    application = PageThreads(_tells_its_thread)
    assert len({await _asked(application) for _ in range(5)}) == 1


async def test_requests_at_once_have_a_thread_each() -> None:
    application = PageThreads(_tells_its_thread)
    assert len({*await asyncio.gather(*(_asked(application) for _ in range(3)))}) == 3


async def test_a_burst_leaves_few_threads() -> None:
    application = PageThreads(_tells_its_thread)
    before = {*threading.enumerate()}
    await asyncio.gather(*(_asked(application) for _ in range(page_threads.MOST_IDLE + 10)))
    # Those that are not kept end by themselves, in their own time.
    async with asyncio.timeout(5):
        while len({*threading.enumerate()} - before) > page_threads.MOST_IDLE:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_request_that_fails_gives_its_thread_back() -> None:
    used: list[int] = []

    async def fails_in_its_thread(scope: Any, receive: Any, send: Any) -> None:
        used.append(await sync_to_async(threading.get_ident)())
        await sync_to_async(lambda: 1 / 0)()

    application = PageThreads(fails_in_its_thread)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await _asked(application)
    assert used == used[:1] * 2


async def test_a_request_whose_client_left_gives_its_connection_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed_in: asyncio.Queue[int] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def close() -> None:
        loop.call_soon_threadsafe(closed_in.put_nowait, threading.get_ident())

    monkeypatch.setattr(page_threads, "close_old_connections", close)
    application = PageThreads(_tells_its_thread)
    thread = await _asked(application)
    assert await asyncio.wait_for(closed_in.get(), 5) == thread


async def test_djangos_pages_start_no_thread_but_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    application = PageThreads(get_asgi_application())
    await _page(application)
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def start_and_tell(thread: threading.Thread) -> None:
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_and_tell)
    for _ in range(3):
        assert await _page(application) == 200
    assert started == []


async def _tells_its_thread(scope: Any, receive: Any, send: Any) -> None:
    await sync_to_async(threading.Event().wait)(0.02)
    await send({"thread": await sync_to_async(threading.get_ident)()})


async def _asked(application: Any) -> int:
    communicator = ApplicationCommunicator(application, {"type": "http"})
    thread: int = (await communicator.receive_output())["thread"]
    await communicator.wait()
    return thread


async def _page(application: Any) -> int:
    headers = [(b"host", b"localhost")]
    scope = {"type": "http", "method": "GET", "path": "/healthz", "headers": headers}
    communicator = ApplicationCommunicator(application, scope | {"query_string": b""})
    await communicator.send_input({"type": "http.request"})
    status: int = (await communicator.receive_output())["status"]
    await communicator.receive_output()
    await communicator.wait()
    return status
