"""The app behind nginx and Caddy, as deploy/ configures them, over real TLS."""

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest
import websockets.asyncio.client
import websockets.exceptions
from websockets.typing import Origin

from tests.deployment.proxies import Nginx, Proxy
from tests.deployment.services import Redis
from tests.deployment.stack import Stack
from tests.support.fake_upstream import FakeUpstream, Pause, delta, done, finish, role, usage
from tests.support.live import PASSWORD, Person, Server, Site
from tests.support.page import Page, parse
from tests.support.program import WAIT_SECONDS
from tests.support.viewer import Viewer
from tests.support.visitor import visit

WORDS = [f"word{number} " for number in range(60)]


# Pages


def test_http_redirects_to_https(proxy: Proxy) -> None:
    answer = httpx.get(f"http://localhost:{proxy.http_port}/c/?a=1", trust_env=False)
    assert answer.status_code in (301, 308)
    assert answer.headers["location"].startswith("https://localhost")
    assert answer.headers["location"].endswith("/c/?a=1")


def test_signing_in_sets_secure_cookies(proxy: Proxy, alice: Person) -> None:
    with proxy.visit() as client:
        login = client.get("/", follow_redirects=True)
        assert login.url.scheme == "https"
        answer = client.post(
            "/accounts/login/", data=login_form(login, alice), headers={"Origin": proxy.url}
        )
        assert (answer.status_code, answer.headers["location"]) == (302, "/")
        for cookie in answer.headers.get_list("set-cookie"):
            assert "Secure" in cookie
        page = client.get("/")
        assert page.status_code == 200
        assert "max-age" in page.headers["strict-transport-security"]


def test_addresses_that_are_keys_are_not_logged(proxy: Proxy) -> None:
    with proxy.visit() as client:
        for path in ("/s/", "/setup/", "/invitation/", "/ws/s/", "/accounts/address/"):
            client.get(f"{path}secret/")
        client.get("/accounts/login/", params={"next": "/s/secret/"})
        client.get("/healthz?logged")
        client.get("/healthz")  # by now, what came before it is logged
    lines = "".join(proxy.lines)
    if isinstance(proxy, Nginx):
        lines += (proxy.folder / "access.log").read_text()
        assert "/healthz?logged" in lines
    assert "secret" not in lines


def test_a_login_from_a_foreign_origin_is_refused(proxy: Proxy, alice: Person) -> None:
    with proxy.visit() as client:
        login = client.get("/accounts/login/")
        answer = client.post(
            "/accounts/login/",
            data=login_form(login, alice),
            headers={"Origin": "https://evil.example"},
        )
        assert answer.status_code == 403


def login_form(page: httpx.Response, person: Person) -> dict[str, str]:
    token = parse(page.text).find_all("input", name="csrfmiddlewaretoken")[0].attributes["value"]
    return {"csrfmiddlewaretoken": token, "login": person.username, "password": PASSWORD}


def test_static_files_are_served_as_the_app_compressed_them(proxy: Proxy, alice: Person) -> None:
    with proxy.visit(alice) as client:
        page = parse(client.get("/").text)
        css = page.find_all("link", rel="stylesheet")[0].attributes["href"]
        answer = client.get(css, headers={"Accept-Encoding": "br"})
        assert answer.headers["content-encoding"] == "br"
        assert "immutable" in answer.headers["cache-control"]


def test_metrics_are_not_public(proxy: Proxy) -> None:
    with proxy.visit() as client:
        answer = client.get("/metrics")
    assert (answer.status_code, "chatapp" in answer.text) == (404, False)


# The socket


async def test_each_token_arrives_while_the_next_is_held_back(
    proxy: Proxy, team_upstream: FakeUpstream, alice: Person
) -> None:
    pauses = [Pause() for _ in range(5)]
    steps = [step for n, pause in enumerate(pauses) for step in (delta(f"word{n} "), pause)]
    team_upstream.script(role(), *steps, finish(), usage(), done())
    async with visit(proxy, alice) as visitor:
        await visitor.send("Count")
        for number, pause in enumerate(pauses):
            await visitor.until_says(f"word{number}")
            pause.release()
        assert await visitor.until_ended() == "complete"


async def test_a_socket_from_a_foreign_origin_is_refused(proxy: Proxy, alice: Person) -> None:
    with pytest.raises(websockets.exceptions.InvalidStatus) as refused:
        await websockets.asyncio.client.connect(
            proxy.url.replace("https", "wss") + "/ws/",
            origin=Origin("https://evil.example"),
            additional_headers={"Cookie": alice.cookie_header},
            ssl=proxy.tls,
            proxy=None,
        )
    assert refused.value.response.status_code == 403


# The proxy restarts


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_a_proxy_restart_costs_no_character(
    proxy: Proxy, team_upstream: FakeUpstream, alice: Person, how: str
) -> None:
    first, second = Pause(), Pause()
    team_upstream.script(
        role(),
        *map(delta, WORDS[:20]),
        first,
        *map(delta, WORDS[20:40]),
        second,
        *map(delta, WORDS[40:]),
        finish(),
        usage(),
        done(),
    )
    async with Viewer.open_tab(proxy, alice) as viewer:
        await viewer.send("Count")
        await viewer.until_says("word19")
        before = viewer.connections
        await asyncio.to_thread(getattr(proxy, how))
        first.release()  # twenty words arrive while nobody is connected
        assert await asyncio.to_thread(second.reached.wait, WAIT_SECONDS)
        await asyncio.to_thread(proxy.start)
        await viewer.until_back(before)
        await viewer.until_says("word39")
        second.release()
        assert await viewer.until_ended() == "complete"
        viewer.check_that_it_only_grew("".join(WORDS))
        with proxy.visit(alice) as client:
            again = Page((await asyncio.to_thread(client.get, viewer.path)).text)
    assert again.region("answer").strip() == "".join(WORDS).strip()


async def test_a_proxy_reload_costs_no_character(
    proxy: Proxy, team_upstream: FakeUpstream, alice: Person
) -> None:
    pause = Pause()
    first, second = map(delta, WORDS[:20]), map(delta, WORDS[20:])
    team_upstream.script(role(), *first, pause, *second, finish(), usage(), done())
    async with Viewer.open_tab(proxy, alice) as viewer:
        await viewer.send("Count")
        await viewer.until_says("word19")
        await asyncio.to_thread(proxy.reload)
        pause.release()
        assert await viewer.until_ended() == "complete"
        viewer.check_that_it_only_grew("".join(WORDS))


# A long silence


class QuickPings(Server):
    def command(self) -> list[str]:
        return [sys.executable, "-m", "tests.deployment.quick_pings"]


@pytest.mark.thorough
async def test_pings_bridge_a_silence_longer_than_the_proxys_timeout(
    team: Site, redis: Redis, team_upstream: FakeUpstream, alice: Person, tmp_path: Path
) -> None:
    """With faster clocks: Daphne pings every 2 to 4 s, and nginx waits 5 s. Caddy waits forever."""
    pauses = {"nginx": Pause(), "caddy": Pause()}
    hasty = {"proxy_read_timeout 90s": "proxy_read_timeout 5s"}
    with Stack(
        team, redis, team_upstream, tmp_path, servers=1, server=QuickPings, nginx=hasty
    ) as stack:
        async with AsyncExitStack() as open_tabs:
            viewers = {}
            for name, pause in pauses.items():
                team_upstream.script(role(), delta("Hm, "), pause, delta("yes."), finish(), done())
                opened = Viewer.open_tab(getattr(stack, name), alice)
                viewers[name] = await open_tabs.enter_async_context(opened)
                await viewers[name].send("Think")
                await viewers[name].until_says("Hm,")
            for name, viewer in viewers.items():
                await viewer.until_pinged(4)
                pauses[name].release()
            for viewer in viewers.values():
                assert await viewer.until_ended() == "complete"
                assert (viewer.text, viewer.connections) == ("Hm, yes.", 1)
