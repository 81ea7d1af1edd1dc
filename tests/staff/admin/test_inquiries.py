"""The button that checks an upstream: what it shows, and who may use it."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from chatapp.models import AuditEvent, Upstream, User
from tests.conftest import PASSWORD, confirm_password, signed_in
from tests.support.fake_upstream import FakeUpstream, Pause, answer, delta, done, finish, usage
from tests.support.live import Server, Site
from tests.support.program import WAIT_SECONDS
from tests.upstream.check import KEY


def path(connected: Upstream, what: str = "check") -> str:
    return f"/admin/chatapp/upstream/{connected.pk}/{what}/"


def test_the_button_shows_the_report(
    olives: Client, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    assert path(saved_upstream) in olives.get(path(saved_upstream, "change")).content.decode()
    upstream.models = ["<script>alert(1)</script>"]
    upstream.script(*answer())
    upstream.fail(500, {"error": KEY})
    page = olives.post(path(saved_upstream)).content.decode()
    assert "It can serve the app." in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert(1)" not in page
    assert KEY not in page
    assert upstream.chat_requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_the_button_says_why_an_upstream_cannot_serve(
    olives: Client, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    upstream.fail_models(401, {"error": "<b>wrong</b>"})
    page = olives.post(path(saved_upstream)).content.decode()
    assert "It can't serve the app. It rejects the key: 401 " in page
    assert "&lt;b&gt;wrong&lt;/b&gt;" in page


def test_checking_an_upstream_needs_permission_to_change_it(
    alices: Client, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    stan = User.objects.create_user("stan", is_staff=True)
    stan.user_permissions.set(Permission.objects.filter(codename="view_upstream"))
    stans = signed_in(stan)
    assert path(saved_upstream) not in stans.get(path(saved_upstream, "change")).content.decode()
    assert stans.post(path(saved_upstream)).status_code == 403
    assert alices.post(path(saved_upstream)).status_code == 302
    assert upstream.requests == []


def test_a_check_asks_for_the_password_and_is_logged(
    olive: User, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    client = signed_in(olive)
    answer = client.post(path(saved_upstream))
    assert answer.headers["location"].startswith("/accounts/reauthenticate/")
    assert upstream.requests == []
    confirm_password(client).post(path(saved_upstream))
    assert upstream.requests
    event = AuditEvent.objects.get(action="upstream.checked")
    assert (event.actor, event.target) == (olive.pk, str(saved_upstream.pk))


def test_a_check_can_only_be_started_by_the_form(
    olive: User, olives: Client, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    assert olives.get(path(saved_upstream)).status_code == 405
    assert olives.post("/admin/chatapp/upstream/999/check/").status_code == 404
    strict = Client(enforce_csrf_checks=True, headers={"host": "localhost"})
    strict.force_login(olive)
    assert strict.post(path(saved_upstream)).status_code == 403
    assert upstream.requests == []


@asynccontextmanager
async def waiting_check(
    site: Site, server: Server, upstream: FakeUpstream, pause: Pause
) -> AsyncIterator[tuple[httpx.AsyncClient, asyncio.Task[httpx.Response]]]:
    """Yield Olive's browser, and the request of a check whose upstream pauses."""
    upstream.script(delta("Hello"), pause, usage(), finish(), done())
    async with httpx.AsyncClient(
        base_url=server.url, cookies=site.olive.cookies, trust_env=False, timeout=WAIT_SECONDS
    ) as olive:
        listed = (await olive.get("/admin/chatapp/upstream/")).text
        match = re.search(r"/admin/chatapp/upstream/\d+/", listed)
        assert match
        password = await olive.get("/accounts/reauthenticate/")
        token = {"csrfmiddlewaretoken": password.cookies["csrftoken"]}
        await olive.post("/accounts/reauthenticate/", data=token | {"password": PASSWORD})
        checking = asyncio.create_task(olive.post(f"{match[0]}check/", data=token))
        assert await asyncio.to_thread(pause.reached.wait, WAIT_SECONDS)
        yield olive, checking


async def test_a_check_blocks_neither_other_requests_nor_the_end_of_the_server(
    site: Site, upstream: FakeUpstream
) -> None:
    pause = Pause()
    with site.server(OPENAI_BASE_URL=upstream.base_url, OPENAI_API_KEY=KEY) as server:
        async with waiting_check(site, server, upstream, pause) as (olive, checking):
            assert (await olive.get("/admin/")).status_code == 200
            assert not checking.done()
            pause.release()
            assert "It can serve the app." in (await checking).text
        upstream.forget()
        async with waiting_check(site, server, upstream, Pause()) as (_, checking):
            assert await asyncio.to_thread(server.stop) == 0
            with pytest.raises(httpx.RemoteProtocolError):
                await checking
