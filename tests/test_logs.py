"""The log: one line of JSON per event, with its ids and without secrets."""

import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from chatapp.logs import RequestLog, configuration
from tests.support.live import Server, Site

KEY = "sk-very-secret-0123456789"


def line(message: str, *args: object, error: BaseException | None = None, **options: Any) -> str:
    """Return the formatted line of a library's log record."""
    formatter = dict(configuration(**({"for_people": False} | options))["formatters"]["line"])
    made = formatter.pop("()")(**formatter)
    exc_info = (type(error), error, error.__traceback__) if error else None
    record = logging.LogRecord("a.library", logging.ERROR, "", 0, message, args, exc_info)
    return str(made.format(record))


def catch_error(text: str) -> BaseException:
    prompt = "the text of a message"
    try:
        raise ValueError(text)
    except ValueError as error:
        assert prompt
        return error


def test_a_line_is_json_with_its_bound_context() -> None:
    with structlog.contextvars.bound_contextvars(request_id="r1", reply="a1"):
        fields = json.loads(line('It said "%s"\n', "no"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", fields.pop("timestamp"))
    assert fields == {
        "event": 'It said "no"\n',
        "level": "error",
        "logger": "a.library",
        "request_id": "r1",
        "reply": "a1",
    }


def test_a_traceback_has_no_values_of_variables() -> None:
    fields = json.loads(line("It failed", error=catch_error("why")))
    assert "Traceback" in fields["exception"]
    assert "ValueError: why" in fields["exception"]
    for for_people in (False, True):
        printed = line("It failed", error=catch_error("why"), for_people=for_people)
        assert "ValueError: why" in printed
        assert "the text of a message" not in printed.replace(
            'prompt = "the text of a message"', ""
        )


@pytest.mark.parametrize("for_people", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}",
        f"{KEY} is no key",
        "Authorization: Bearer hunter2hunter2=",
        "{'authorization': 'Bearer hunter2hunter2'}",
        "[(b'Authorization', b'Basic hunter2hunter2')]",
        "('api-key', 'hunter2hunter2')",
        '{"api_key": "hunter2hunter2"}',
        "?api_key=hunter2hunter2&model=x",
        "OPENAI_API_KEY=hunter2hunter2",
        "password=hunter2hunter2 host=db",
        "connecting to postgres://ann:hunter2@db:5432/chatapp failed",
        "redis://:hunter2@cache:6379/0 is away",
        'DETAIL:  Failing row contains (1, "hunter2 (a prompt)\nof two lines", null).\n',
    ],
)
def test_secrets_are_struck_out(text: str, for_people: bool) -> None:
    for printed in (
        line("It failed: %s", text, for_people=for_people),
        line("It failed", error=catch_error(text), for_people=for_people),
    ):
        assert "hunter2" not in printed
        assert KEY not in printed
        assert "[redacted]" in printed
        assert for_people or json.loads(printed)["event"].startswith("It failed")


@pytest.mark.parametrize(
    "text",
    [
        "GET /c/0b5f3a52-6f5e-4c41-9c0e-7d0f2f3e9d11/ 200",
        "the api key was refused by http://gateway.example:8080/v1",
        "12345678 completion_tokens: 87654321",
    ],
)
def test_text_that_is_no_secret_is_kept(text: str) -> None:
    assert json.loads(line("%s", text))["event"] == text


def test_people_get_columns() -> None:
    output = line("It said no", for_people=True)
    assert "It said no" in output
    assert not output.startswith("{")


@pytest.mark.parametrize(
    ("name", "exc_info", "is_logged"),
    [
        ("django.request", None, False),  # a status: already in the request's own line
        ("django.request", "an error", True),
        ("django.security.csrf", None, True),
    ],
)
def test_django_logs_only_exceptions(name: str, exc_info: str | None, is_logged: bool) -> None:
    record = logging.LogRecord(name, logging.ERROR, "", 0, "Not Found: /", (), None)
    if exc_info:
        error = catch_error(exc_info)
        record.exc_info = (type(error), error, error.__traceback__)
    assert bool(logging.getLogger(name).filter(record)) is is_logged


def test_no_error_is_emailed_with_form_data() -> None:
    assert logging.getLogger("django").handlers == []


async def test_a_sockets_lines_carry_its_id() -> None:
    bound: dict[str, Any] = {}

    async def application(_scope: Any, _receive: Any, _send: Any) -> None:
        bound.update(structlog.contextvars.get_contextvars())

    scope = {"type": "websocket", "client": ["10.0.0.1", 1], "headers": [(b"x-request-id", b"p1")]}
    await RequestLog(application, lambda peer: peer == "10.0.0.1")(scope, None, None)
    assert bound == {"request_id": "p1"}
    assert structlog.contextvars.get_contextvars() == {}


async def test_an_untrusted_peer_cannot_choose_the_id() -> None:
    sent = []

    async def application(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200})

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "client": ["10.0.0.1", 1]}
    scope["headers"] = [(b"x-request-id", b"p1")]
    await RequestLog(application, lambda _peer: False)(scope, None, send)
    [(name, named)] = sent[0]["headers"]
    assert name == b"x-request-id"
    assert re.fullmatch(b"[0-9a-f]{32}", named)


# A server's log


@pytest.fixture(scope="module")
def server(site: Site) -> Iterator[Server]:
    with site.server() as server:
        yield server


def test_each_request_is_one_line(server: Server) -> None:
    with server.visit() as client:
        for path in ("/healthz", "/readyz", "/metrics", "/static/icon.svg", "/setup/a-secret/"):
            client.get(path)
        client.get("/nowhere/?q=what-was-typed", headers={"X-Request-ID": "proxys.id_1"})
    fields = json.loads(server.wait_for(r'\{.*"proxys.id_1".*\}')[0])
    assert fields.pop("timestamp")
    assert 0 < fields.pop("seconds") < 20
    assert fields == {
        "event": "Request",
        "level": "info",
        "logger": "chatapp.logs",
        "request_id": "proxys.id_1",
        "method": "GET",
        "path": "/nowhere/",
        "status": 404,
    }
    unlogged = ("healthz", "readyz", "metrics", "icon.svg", "a-secret", "what-was-typed")
    for text in (*unlogged, "Not Found"):
        assert text not in server.log


@pytest.mark.parametrize("sent_id", ["proxys-id", "x" * 65, "a b", 'a"b', ""])
def test_a_request_has_an_id_that_its_response_names(server: Server, sent_id: str) -> None:
    with server.visit() as client:
        named = client.get("/help/", headers={"X-Request-ID": sent_id}).headers["X-Request-ID"]
    if sent_id == "proxys-id":
        assert named == sent_id
    else:
        assert re.fullmatch("[0-9a-f]{32}", named)
    server.wait_for(f'"request_id": "{named}"')
