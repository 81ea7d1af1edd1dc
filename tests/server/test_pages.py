"""Django's pages: each runs in one thread, from the first signal to the last."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pytest
from asgiref.sync import SyncToAsync
from asgiref.testing import ApplicationCommunicator
from django.core.signals import request_finished, request_started
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path, resolve

from chatapp.api.views import SCRIPT_THREADS
from chatapp.server import pages
from chatapp.server.pages import Pages
from chatapp.server.probes.views import PROBE_THREADS
from chatapp.server_interface import UPSTREAM_THREADS, ViewThreads, get_threads, run_in
from chatapp.sessions.session_people import remember_person
from chatapp.staff.tool_servers.views import TOOL_SERVER_THREADS

Headers = Sequence[tuple[bytes, bytes]]

held = threading.Event()
entered = threading.Semaphore(0)


def thread(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(threading.get_ident()))


def waits(request: HttpRequest, **_kwargs: object) -> HttpResponse:
    entered.release()
    held.wait(20)
    return HttpResponse("done")


async def trickle(request: HttpRequest) -> StreamingHttpResponse:
    async def lines() -> Any:
        yield b"one "
        await asyncio.sleep(0)
        yield b"two"

    return StreamingHttpResponse(lines())


def echo(request: HttpRequest) -> HttpResponse:
    return HttpResponse(request.body)


urlpatterns = [
    path("thread", thread),
    path("waits", waits),
    path("models/", run_in(UPSTREAM_THREADS)(partial(waits))),
    path("tools/", run_in(TOOL_SERVER_THREADS)(partial(waits))),
    path("trickle", trickle),
    path("echo", echo),
    path("probe", run_in(ViewThreads("probe", 1))(partial(thread))),
]


@pytest.fixture
def application(settings: Any) -> Iterator[Pages]:
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = []
    held.clear()
    while entered.acquire(blocking=False):
        pass  # what the last test left
    yield Pages()
    held.set()


async def test_signals_and_view_run_in_one_thread(application: Pages) -> None:
    seen: list[int] = []

    def note(**_: object) -> None:
        seen.append(threading.get_ident())

    for signal in (request_started, request_finished):
        signal.connect(note)
    try:
        status, body = await answer(application, "/thread")
    finally:
        for signal in (request_started, request_finished):
            signal.disconnect(note)
    assert (status, seen) == (200, [int(body)] * 2)
    assert int(body) != threading.get_ident()


async def test_a_page_takes_one_hop_to_a_thread(
    application: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    hops: list[object] = []
    call = SyncToAsync.__call__

    async def count_hop(self: Any, *args: Any, **options: Any) -> Any:
        hops.append(self.func)
        return await call(self, *args, **options)

    monkeypatch.setattr(SyncToAsync, "__call__", count_hop)
    await answer(application, "/thread")
    assert len(hops) == 1


async def test_a_body_is_read_and_a_stream_is_streamed(application: Pages) -> None:
    assert await answer(application, "/echo", b"hello") == (200, b"hello")
    assert await answer(application, "/trickle") == (200, b"one two")


async def test_slow_pages_do_not_block_probes(application: Pages) -> None:
    for number in range(2 * pages.PAGE_THREADS):
        remember_person(f"of-{number}", number + 1)
    waiting = [
        asyncio.create_task(
            answer(application, "/waits", headers=[(b"cookie", b"sessionid=of-%d" % number)])
        )
        for number in range(2 * pages.PAGE_THREADS)
    ]
    for _ in range(pages.PAGE_THREADS):
        await asyncio.to_thread(entered.acquire)
    async with asyncio.timeout(20):
        assert (await answer(application, "/probe"))[0] == 200
    held.set()
    assert {body for _, body in await asyncio.gather(*waiting)} == {b"done"}


HERS = [(b"cookie", b"sessionid=hers")]


@pytest.mark.parametrize(
    "disguise",
    [
        [(b"cookie", b"sessionid=other; sessionid=hers")],
        [(b"cookie", b"sessionid=other"), (b"cookie", b"sessionid=hers")],
        [(b"cookie", b"a_sessionid=other; sessionid=hers")],
        [(b"cookie", b"sessionid=hers"), (b"authorization", b"Bearer other")],
        [(b"cookie", b"sessionid=hers-elsewhere")],
    ],
)
async def test_slow_pages_of_one_person_do_not_block_others(
    application: Pages, disguise: list[tuple[bytes, bytes]]
) -> None:
    """They took all threads, so that nobody got a page for ten seconds."""
    for session, person in (("hers", 1), ("hers-elsewhere", 1), ("his", 2)):
        remember_person(session, person)
    waiting = [
        asyncio.create_task(answer(application, "/waits", headers=headers))
        for headers in (HERS, disguise)
        for _ in range(pages.PAGE_THREADS)
    ]
    for _ in range(pages.PAGES_EACH):
        await asyncio.to_thread(entered.acquire)
    his = [(b"cookie", b"sessionid=his")]
    async with asyncio.timeout(20):
        assert (await answer(application, "/thread", headers=his))[0] == 200
    assert not entered.acquire(blocking=False)
    held.set()
    assert {body for _, body in await asyncio.gather(*waiting)} == {b"done"}


async def test_slow_model_lists_do_not_block_pages(application: Pages) -> None:
    waiting = [
        asyncio.create_task(answer(application, "/models/"))
        for _ in range(2 * UPSTREAM_THREADS.count)
    ]
    await asyncio.to_thread(entered.acquire)
    async with asyncio.timeout(20):
        assert (await answer(application, "/thread"))[0] == 200
    held.set()
    assert {body for _, body in await asyncio.gather(*waiting)} == {b"done"}


async def test_slow_inquiries_do_not_block_pages(
    application: Pages,
) -> None:
    asking = [
        asyncio.create_task(answer(application, "/tools/"))
        for _ in range(2 * max(pages.PAGE_THREADS, TOOL_SERVER_THREADS.count))
    ]
    for _ in range(TOOL_SERVER_THREADS.count):
        await asyncio.to_thread(entered.acquire)
    models = asyncio.create_task(answer(application, "/models/"))
    await asyncio.to_thread(entered.acquire)
    async with asyncio.timeout(20):
        assert (await answer(application, "/thread"))[0] == 200
    held.set()
    assert {body for _, body in await asyncio.gather(*asking, models)} == {b"done"}


@pytest.mark.parametrize(
    ("address", "threads"),
    [
        ("/healthz", PROBE_THREADS),
        ("/readyz", PROBE_THREADS),
        ("/metrics", PROBE_THREADS),
        ("/models/", UPSTREAM_THREADS),
        ("/settings/models/", UPSTREAM_THREADS),
        ("/settings/models/1/", UPSTREAM_THREADS),
        ("/settings/models/1/test/", UPSTREAM_THREADS),
        ("/settings/tools/1/tools/", TOOL_SERVER_THREADS),
        ("/api/v1/models", SCRIPT_THREADS),
        ("/api/v1/models/some/name", SCRIPT_THREADS),
        ("/api/v1/chat/completions", SCRIPT_THREADS),
        ("/", None),
    ],
)
def test_views_that_may_keep_others_waiting_have_threads_of_their_own(
    address: str, threads: ViewThreads | None
) -> None:
    assert get_threads(resolve(address).func) == threads


async def test_a_client_that_left_before_its_turn_gets_no_response(application: Pages) -> None:
    waiting = [
        asyncio.create_task(answer(application, "/waits")) for _ in range(pages.PAGES_AT_ONCE)
    ]
    gone = communicator_to(application, "/waits")
    await gone.send_input({"type": "http.request"})
    await gone.send_input({"type": "http.disconnect"})
    await gone.wait()
    held.set()
    await asyncio.gather(*waiting)
    assert await gone.receive_nothing()


async def answer(
    application: Pages, path: str, body: bytes = b"", headers: Headers = ()
) -> tuple[int, bytes]:
    communicator = communicator_to(application, path, headers)
    await communicator.send_input({"type": "http.request", "body": body})
    started = await communicator.receive_output(20)
    whole, is_more = b"", True
    while is_more:
        part = await communicator.receive_output(20)
        whole += part.get("body", b"")
        is_more = part.get("more_body", False)
    await communicator.wait()
    return started["status"], whole


def communicator_to(
    application: Pages, path: str, headers: Headers = ()
) -> ApplicationCommunicator:
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b""}
    all_headers = [(b"host", b"localhost"), *headers]
    return ApplicationCommunicator(application, scope | {"headers": all_headers})
