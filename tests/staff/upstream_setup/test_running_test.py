"""A test of an upstream that takes long, on a real server."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from tests.conftest import PASSWORD
from tests.support.fake_upstream import FakeUpstream, Pause, delta, done, finish, usage
from tests.support.live import Server, Site
from tests.support.program import WAIT_SECONDS
from tests.upstream.check import KEY


@asynccontextmanager
async def waiting_test(
    site: Site, server: Server, upstream: FakeUpstream, pause: Pause
) -> AsyncIterator[tuple[httpx.AsyncClient, asyncio.Task[httpx.Response]]]:
    """Yield Olive's browser, and the request of a test whose upstream pauses."""
    upstream.script(delta("Hello"), pause, usage(), finish(), done())
    async with httpx.AsyncClient(
        base_url=server.url, cookies=site.olive.cookies, trust_env=False, timeout=WAIT_SECONDS
    ) as olive:
        listed = (await olive.get("/settings/models/")).text
        match = re.search(r"/settings/models/\d+/", listed)
        assert match
        password = await olive.get("/accounts/reauthenticate/")
        token = {"csrfmiddlewaretoken": password.cookies["csrftoken"]}
        await olive.post("/accounts/reauthenticate/", data=token | {"password": PASSWORD})
        testing = asyncio.create_task(olive.post(f"{match[0]}test/", data=token))
        assert await asyncio.to_thread(pause.reached.wait, WAIT_SECONDS)
        yield olive, testing


async def test_a_test_blocks_neither_other_requests_nor_the_end_of_the_server(
    site: Site, upstream: FakeUpstream
) -> None:
    pause = Pause()
    with site.server(OPENAI_BASE_URL=upstream.base_url, OPENAI_API_KEY=KEY) as server:
        async with waiting_test(site, server, upstream, pause) as (olive, testing):
            assert (await olive.get("/people/")).status_code == 200
            assert not testing.done()
            pause.release()
            assert "It can serve the app." in (await testing).text
        upstream.forget()
        async with waiting_test(site, server, upstream, Pause()) as (_, testing):
            assert await asyncio.to_thread(server.stop) == 0
            with pytest.raises(httpx.RemoteProtocolError):
                await testing
