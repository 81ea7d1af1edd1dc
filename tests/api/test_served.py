"""Scripts at a real server: they leave, read slowly, send too much, or are there when it stops."""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_upstream import MODEL, FakeUpstream, Pause, delta, done, finish
from tests.support.live import Person, Server, Site

CHAT = "/api/v1/chat/completions"
MAKE_TOKEN = """
from chatapp.models import AccessToken, Installation, User
Installation(pk=1, who_uses_api="everyone").save()
alice = User.objects.get(username="{}")
print(AccessToken.issue(alice, "script", ["chat", "models"], None)[1])
"""
USAGE = """
from chatapp.models import Usage
print(list(Usage.objects.filter(kind="api").values_list("ending", flat=True)))
"""


@pytest.fixture(scope="module")
def shared() -> Iterator[FakeUpstream]:
    with FakeUpstream() as upstream:
        yield upstream


@pytest.fixture
def upstream(shared: FakeUpstream) -> FakeUpstream:
    """The server's upstream, without what an earlier test left."""
    shared.forget()
    return shared


@pytest.fixture(scope="module")
def person(site: Site) -> Person:
    return site.person()


@pytest.fixture(scope="module")
def shared_server(site: Site, shared: FakeUpstream) -> Iterator[Server]:
    with site.server(OPENAI_BASE_URL=shared.base_url, CHATAPP_DRAIN_SECONDS="0.1") as server:
        yield server


@pytest.fixture
def server(shared_server: Server) -> Server:
    """A server that runs, even if an earlier test stopped it."""
    return shared_server if shared_server.is_running else shared_server.start()


@pytest.fixture(scope="module")
def secret(shared_server: Server, person: Person) -> str:
    return shared_server.run(MAKE_TOKEN.format(person.username)).strip()


def asked(secret: str, **more: Any) -> dict[str, Any]:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    return {"json": body | more, "headers": {"Authorization": f"Bearer {secret}"}}


def test_the_upstream_is_closed_when_the_script_leaves(
    server: Server, upstream: FakeUpstream, secret: str
) -> None:
    before = endings(server)
    upstream.script(delta("Hel"), Pause())
    with server.visit() as http, http.stream("POST", CHAT, **asked(secret)) as response:
        assert response.status_code == 200
        assert "Hel" in next(response.iter_lines())
        request = upstream.wait_for_request()
    assert request.wait_for_close().was_streaming
    assert until_booked(server, before) == "abandoned"


def test_a_script_that_waits_for_a_whole_answer_and_leaves_costs_no_more_either(
    server: Server, upstream: FakeUpstream, secret: str
) -> None:
    before = endings(server)
    upstream.script(delta("Hel"), Pause())
    with connected(server) as connection:
        connection.sendall(raw(secret, stream=False))
        request = upstream.wait_for_request()
    assert request.wait_for_close().was_streaming
    assert until_booked(server, before) == "abandoned"


def connected(server: Server) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)))


def raw(secret: str, **more: Any) -> bytes:
    wanted = asked(secret, **more)
    body = json.dumps(wanted["json"]).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {secret}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def test_a_script_that_does_not_read_slows_the_upstream_down(
    server: Server, upstream: FakeUpstream, secret: str
) -> None:
    megabytes = 60
    ended = Pause()
    upstream.script(*[delta("x" * 2**16)] * (16 * megabytes), ended, finish(), done())
    before = memory_of(server)
    with connected(server) as connection:
        connection.sendall(raw(secret))
        request = upstream.wait_for_request()
        with server.visit() as http:
            for _ in range(50):  # the server has time to read all of it
                http.get("/healthz")
        assert memory_of(server) - before < 20
    assert request.wait_for_close().was_streaming


def test_a_body_that_is_too_large_is_refused(server: Server, secret: str) -> None:
    with server.visit() as http:
        large = [{"role": "user", "content": "x" * 10 * 2**20}]
        response = http.post(CHAT, **asked(secret, messages=large))
        too_many = http.post("/", content=b"x" * 10 * 2**20)
    assert response.status_code == 413
    assert response.headers["Content-Type"] == "application/json"
    error = response.json()["error"]
    assert (error["type"], error["code"]) == ("invalid_request_error", "request_too_large")
    assert "larger than" in error["message"]
    assert too_many.headers["Content-Type"].startswith("text/plain")


def test_a_server_that_stops_ends_streams_with_an_error(
    server: Server, upstream: FakeUpstream, secret: str
) -> None:
    before = endings(server)
    upstream.script(delta("Hel"), Pause())
    with server.visit() as http, http.stream("POST", CHAT, **asked(secret)) as response:
        lines = response.iter_lines()
        assert "Hel" in next(lines)
        server.process.terminate()
        [last] = [line for line in lines if line]
        assert "restarting" in json.loads(last.removeprefix("data: "))["error"]["message"]
    server.process.wait()
    assert endings(server)[len(before) :] == ["interrupted"]


def memory_of(server: Server) -> float:
    """Return the resident memory in MB."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{server.pid}/status").read_text())
    assert found
    return int(found[1]) / 1024


def endings(server: Server) -> list[str]:
    found: list[str] = json.loads(server.run(USAGE).replace("'", '"'))
    return found


def until_booked(server: Server, before: list[str]) -> str:
    """Wait for one more request to be booked; return how it ended."""
    while len(now := endings(server)) == len(before):
        pass
    return now[-1]
