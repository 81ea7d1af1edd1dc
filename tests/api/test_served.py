"""Scripts at a real server: they leave, read slowly, send too much, or are there when it stops."""

import json
import re
import socket
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chatapp.api.large_bodies import max_bytes
from tests.security.wire import Answer, Wire
from tests.support.fake_upstream import MODEL, FakeUpstream, Pause, delta, done, finish
from tests.support.live import Person, Server, Site
from tests.support.pictures import claimed_png

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
def shared_upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream() as upstream:
        yield upstream


@pytest.fixture
def upstream(shared_upstream: FakeUpstream) -> FakeUpstream:
    """The server's upstream, without what an earlier test left."""
    shared_upstream.forget()
    return shared_upstream


@pytest.fixture(scope="module")
def person(site: Site) -> Person:
    return site.person()


@pytest.fixture(scope="module")
def shared_server(site: Site, shared_upstream: FakeUpstream) -> Iterator[Server]:
    with site.server(
        OPENAI_BASE_URL=shared_upstream.base_url, CHATAPP_DRAIN_SECONDS="0.1"
    ) as server:
        yield server


@pytest.fixture
def server(shared_server: Server) -> Server:
    """A server that runs, even if an earlier test stopped it."""
    return shared_server if shared_server.is_running else shared_server.start()


@pytest.fixture(scope="module")
def secret(shared_server: Server, person: Person) -> str:
    return shared_server.run(MAKE_TOKEN.format(person.username)).strip()


@pytest.fixture(scope="module")
def second_secret(shared_server: Server, person: Person) -> str:
    return shared_server.run(MAKE_TOKEN.format(person.username)).strip()


def build_request(secret: str, **more: Any) -> dict[str, Any]:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    return {"json": body | more, "headers": {"Authorization": f"Bearer {secret}"}}


def test_the_upstream_is_closed_when_the_script_leaves(
    server: Server, upstream: FakeUpstream, secret: str
) -> None:
    before = endings(server)
    upstream.script(delta("Hel"), Pause())
    with server.visit() as http, http.stream("POST", CHAT, **build_request(secret)) as response:
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
    with open_socket(server) as connection:
        connection.sendall(raw(secret, stream=False))
        request = upstream.wait_for_request()
    assert request.wait_for_close().was_streaming
    assert until_booked(server, before) == "abandoned"


def open_socket(server: Server) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)))


def raw(secret: str, **more: Any) -> bytes:
    request = build_request(secret, **more)
    body = json.dumps(request["json"]).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {secret}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def test_a_script_that_does_not_read_slows_the_upstream_down(
    server: Server, upstream: FakeUpstream, secret: str
) -> None:
    megabytes = 60
    ended = Pause()
    upstream.script(*[delta("x" * 2**16)] * (16 * megabytes), ended, finish(), done())
    before = read_memory(server)
    with open_socket(server) as connection:
        connection.sendall(raw(secret))
        request = upstream.wait_for_request()
        with server.visit() as http:
            for _ in range(50):  # the server has time to read all of it
                http.get("/healthz")
        assert read_memory(server) - before < 20
    assert request.wait_for_close().was_streaming


def test_a_body_that_is_too_large_is_refused(server: Server, secret: str) -> None:
    with server.visit() as http:
        large = [{"role": "user", "content": "x" * 160 * 2**20}]
        response = http.post(CHAT, **build_request(secret, messages=large))
        too_many = http.post("/", content=b"x" * 10 * 2**20)
    assert response.status_code == 413
    assert response.headers["Content-Type"] == "application/json"
    error = response.json()["error"]
    assert (error["type"], error["code"]) == ("invalid_request_error", "request_too_large")
    assert "larger than" in error["message"]
    assert too_many.headers["Content-Type"].startswith("text/plain")


LARGE, LARGEST = 8 * 2**20, max_bytes()  # more than a page may send


def build_head(secret: str, length: int) -> bytes:
    lines = (f"POST {CHAT} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {secret}")
    return "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode()


def error_in(answer: Answer) -> dict[str, Any]:
    assert answer.headers["content-type"] == "application/json"
    error: dict[str, Any] = json.loads(answer.text)["error"]
    return error


def test_a_photo_is_passed_on(server: Server, upstream: FakeUpstream, secret: str) -> None:
    upstream.script(delta("A cat"), finish(), done())
    data = claimed_png(4000, 3000, bytes(4_000_000))
    url = f"data:image/png;base64,{b64encode(data).decode()}"
    content = [{"type": "image_url", "image_url": {"url": url}}]
    with server.visit() as http:
        messages = [{"role": "user", "content": content}]
        response = http.post(CHAT, **build_request(secret, messages=messages, stream=False))
    assert response.json()["choices"][0]["message"]["content"] == "A cat"
    assert upstream.wait_for_request().body["messages"][0]["content"] == content


@pytest.mark.parametrize(
    ("sent_secret", "code"), [("", "missing_api_key"), ("chatapp_guess", "invalid_api_key")]
)
def test_a_large_body_is_refused_before_it_is_sent_without_a_valid_token(
    server: Server, sent_secret: str, code: str
) -> None:
    with Wire(server.url) as wire:
        wire.write(build_head(sent_secret, LARGE))
        answer = wire.read_to_the_end()
    assert answer.status == 401
    assert error_in(answer)["code"] == code


def test_a_person_sends_one_largest_body_at_a_time(
    server: Server, upstream: FakeUpstream, secret: str, second_secret: str
) -> None:
    """Whatever token it is sent with; what it took up is free again when it is gone."""
    with Wire(server.url) as first:
        first.write(build_head(secret, LARGEST))
        for again in (secret, second_secret):
            with Wire(server.url) as second:
                second.write(build_head(again, LARGE))
                answer = second.read_to_the_end()
            assert answer.status == 429
            assert error_in(answer)["type"] == "rate_limit_error"
            assert answer.headers["retry-after"]
    upstream.script(delta("Hi"), finish(), done())
    large = [{"role": "user", "content": "x" * 2_100_000}]
    with server.visit() as http:
        while (
            response := http.post(CHAT, **build_request(secret, messages=large, stream=False))
        ).status_code == 429:
            pass  # the server has not noticed yet that the first has left
    assert response.status_code == 200


def test_a_large_body_is_not_held_in_memory_while_it_arrives(server: Server, secret: str) -> None:
    before = read_memory(server)
    with Wire(server.url) as wire:
        wire.write(build_head(secret, 100 * 2**20))
        for _ in range(99):
            wire.write(bytes(2**20))
        assert read_memory(server) - before < 20


@pytest.mark.parametrize(
    ("request_lines", "status", "code"),
    [
        ((b"GET /api/v1/models/%00 HTTP/1.1",), 400, "bad_request"),
        ((b"GET /api/v1/" + b"x" * 9000 + b" HTTP/1.1",), 414, "address_too_long"),
        ((b"GET /api/v1/models HTTP/1.1", b"X: " + b"x" * 9000), 431, "headers_too_large"),
        ((b"GET /api/v1/models HTTP/1.1", b"Bad Name: x"), 400, "bad_request"),
    ],
)
def test_what_the_server_itself_refuses_is_refused_as_json(
    server: Server, request_lines: tuple[bytes, ...], status: int, code: str
) -> None:
    with Wire(server.url) as wire:
        wire.write(b"\r\n".join([*request_lines, b"Host: localhost", b"", b""]))
        answer = Answer(wire.read())
    assert (answer.status, error_in(answer)["code"]) == (status, code)


def test_a_server_that_stops_ends_streams_with_an_error(
    server: Server, upstream: FakeUpstream, secret: str
) -> None:
    before = endings(server)
    upstream.script(delta("Hel"), Pause())
    with server.visit() as http, http.stream("POST", CHAT, **build_request(secret)) as response:
        lines = response.iter_lines()
        assert "Hel" in next(lines)
        server.process.terminate()
        [last] = [line for line in lines if line]
        assert "restarting" in json.loads(last.removeprefix("data: "))["error"]["message"]
    server.process.wait()
    assert endings(server)[len(before) :] == ["interrupted"]


def read_memory(server: Server) -> float:
    """Return the resident memory in MB."""
    match = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{server.pid}/status").read_text())
    assert match
    return int(match[1]) / 1024


def endings(server: Server) -> list[str]:
    saved_endings: list[str] = json.loads(server.run(USAGE).replace("'", '"'))
    return saved_endings


def until_booked(server: Server, before: list[str]) -> str:
    """Wait for one more request to be booked; return how it ended."""
    while len(now := endings(server)) == len(before):
        pass
    return now[-1]
