"""Error bodies and frames of every shape become an `UpstreamError`."""

import json
from datetime import UTC, datetime

import httpx
import pytest

from chatapp.upstream.wire.errors.retry_delays import delay_of_body, retry_after_seconds
from chatapp.upstream.wire.errors.upstream_error import (
    MAX_MESSAGE_LENGTH,
    ErrorKind,
    UpstreamError,
    error_of_frame,
    error_of_response,
)


def read_error(status: int, body: str | bytes, **headers: str) -> UpstreamError:
    body = body.encode() if isinstance(body, str) else body
    return error_of_response(status, httpx.Headers(headers), body, secret="sk-a-secret-key")


@pytest.mark.parametrize(
    ("error", "type", "code", "message"),
    [
        ({"message": "m", "type": "upstream_error", "code": "c"}, "upstream_error", "c", "m"),
        ({"message": "m", "type": "stream_error"}, "stream_error", "", "m"),
        ({"message": "m", "type": None, "param": None, "code": "500"}, "", "500", "m"),
        ({"message": "m", "code": 529}, "", "529", "m"),
        ({"message": {"text": "m"}}, "", "", "m"),
        ({"code": 500}, "", "500", ""),
        ("text", "", "", "text"),
        (["text"], "", "", "text"),
        (True, "", "", "True"),
    ],
)
def test_an_error_frame_of_any_shape_is_read(
    error: object, type: str, code: str, message: str
) -> None:
    expected = UpstreamError(ErrorKind.STREAM_ERROR, message, type=type, code=code)
    assert error_of_frame(error) == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"error": {"message": "m", "type": "t"}}', "m"),
        ('{"error": "m"}', "m"),
        ('{"detail": "m"}', "m"),
        ('{"detail": [{"loc": ["body", "n", 0], "msg": "m"}]}', "body.n.0: m"),
        ('{"detail": [{"msg": "a"}, {"msg": "b"}, "c", "d"]}', "a; b; c"),
        ('{"message": {"detail": [{"loc": ["body"], "msg": "m"}]}, "type": "t"}', "body: m"),
        ('{"type": "error", "error": {"type": "overloaded_error", "message": "m"}}', "m"),
        ('{"error": {"error": {"message": "m"}}}', "m"),
        ('{"error": "{\\"error\\": {\\"message\\": \\"m\\"}}"}', "m"),
        ('{"error": ["m", "n"], "warnings": []}', "m; n"),
        ('{"success": false, "errors": [{"code": 10000, "message": "m"}], "result": null}', "m"),
        ('{"statusCode": 401, "message": "m"}', "m"),
        ('{"Message": "m"}', "m"),
        ('{"error_code": 17, "error_msg": "m"}', "m"),
        ('{"base_resp": {"status_code": 1004, "status_msg": "m"}}', "m"),
        ('{"fault": {"faultstring": "m", "detail": {"errorcode": "e"}}}', "m"),
        ('{"type": "about:blank", "title": "Bad Request", "status": 400, "detail": "m"}', "m"),
        ('{"title": "m", "status": 400}', "m"),
        ('{"error": "invalid_request", "error_description": "m"}', "invalid_request"),
        ('{"odd": "m"}', '{"odd": "m"}'),
        ('{"error": {"message": ""}}', '{"error": {"message": ""}}'),
        ("<?xml version='1.0'?><Error><Code>Denied</Code><Message>m</Message></Error>", "m"),
        ('{"detail": {"message": "m"}}', "m"),
        ('{"message": "m"}', "m"),
        ('[{"error": {"message": "m"}}]', "m"),
        ('"m"', "m"),
        ("m", "m"),
        ("", ""),
        ("{}", ""),
        ("null", ""),
        ("<html><head><TITLE lang=en>502 Bad\n Gateway &amp; co</title>", "502 Bad Gateway & co"),
        (b"\xff\0\xed\xa0\x80", "\ufffd" * 5),
        ('"\\ud800"', "?"),
        ("[" * 50_000, "[" * (MAX_MESSAGE_LENGTH - 1) + "…"),
    ],
)
def test_an_error_body_of_any_shape_is_read(body: str | bytes, message: str) -> None:
    assert read_error(500, body).message == message


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (302, ErrorKind.REDIRECTED),
        (400, ErrorKind.BAD_REQUEST),
        (401, ErrorKind.UNAUTHORIZED),
        (403, ErrorKind.UNAUTHORIZED),
        (404, ErrorKind.NOT_FOUND),
        (422, ErrorKind.BAD_REQUEST),
        (429, ErrorKind.RATE_LIMITED),
        (500, ErrorKind.SERVER_ERROR),
        (529, ErrorKind.SERVER_ERROR),
        (200, ErrorKind.NOT_A_STREAM),
        (204, ErrorKind.NOT_A_STREAM),
    ],
)
def test_the_status_determines_the_kind(status: int, kind: ErrorKind) -> None:
    error = read_error(status, "")
    assert (error.kind, error.status) == (kind, status)


def test_a_json_error_with_status_200_is_a_stream_error() -> None:
    error = read_error(200, '{"error": {"message": "m", "code": 7}}')
    assert (error.kind, error.message, error.code) == (ErrorKind.STREAM_ERROR, "m", "7")


@pytest.mark.parametrize(
    ("error", "may_pass"),
    [
        (UpstreamError(ErrorKind.UNREACHABLE), True),
        *[(UpstreamError(ErrorKind.SERVER_ERROR, status=status), True) for status in (500, 529)],
        *[(UpstreamError(ErrorKind.BAD_REQUEST, status=status), True) for status in (408, 409)],
        (UpstreamError(ErrorKind.RATE_LIMITED, status=429, retry_after=7.0), True),
        (UpstreamError(ErrorKind.RATE_LIMITED, status=429, code="insufficient_quota"), False),
        *[(UpstreamError(ErrorKind.BAD_REQUEST, status=status), False) for status in (400, 422)],
        (UpstreamError(ErrorKind.UNAUTHORIZED, status=401), False),
        (UpstreamError(ErrorKind.NOT_A_STREAM, status=200), False),
        (UpstreamError(ErrorKind.EMPTY, status=200), False),
        (UpstreamError(ErrorKind.TIMED_OUT), False),
        (UpstreamError(ErrorKind.STREAM_ERROR, code="500"), True),
        (UpstreamError(ErrorKind.STREAM_ERROR, code="400"), False),
        (UpstreamError(ErrorKind.STREAM_ERROR, code="stream_error"), False),
        (UpstreamError(ErrorKind.TOO_LARGE), False),
    ],
)
def test_errors_that_may_pass_can_be_retried(error: UpstreamError, may_pass: bool) -> None:
    assert error.may_pass is may_pass


def test_a_message_contains_no_part_of_the_key_even_if_it_is_cut() -> None:
    text = "x" * (MAX_MESSAGE_LENGTH - 8) + "sk-a-secret-key"
    for body in (text, json.dumps({"error": {"message": text, "type": text, "code": text}})):
        assert "sk-" not in str(read_error(401, body))
    assert "sk-" not in str(error_of_frame(text, "sk-a-secret-key"))


def test_a_placeholder_key_is_not_removed_from_messages() -> None:
    assert error_of_frame("there is none", secret="none").message == "there is none"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        (" 0.5 ", 0.5),
        ("Sat, 21 Nov 2026 10:00:30 GMT", 30.0),
        ("Sat, 21 Nov 2026 09:00:00 GMT", 0.0),
        ("Sat, 21 Nov 2026 10:00:30 -0000", 30.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("nan", None),
        ("9" * 400, None),
        ("Sat, 99 Nov 2026 10:00:30 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str, seconds: float | None) -> None:
    assert retry_after_seconds(header, datetime(2026, 11, 21, 10, tzinfo=UTC)) == seconds
    if seconds and "GMT" not in header and "-0000" not in header:
        assert read_error(429, "", **{"Retry-After": header}).retry_after == seconds


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ({"error": {"details": [{"x": 1}, {"retryDelay": "42s"}]}}, 42),
        ([{"error": {"details": [{"retryDelay": "1.5s"}]}}], 1.5),
        ({"error": {"retry_after": 7}}, 7),
        ({"retry_after_ms": "2500"}, 2.5),
        ({"retryAfterSeconds": "3"}, 3),
        ({"error": {"message": "Rate limit reached. Please try again in 6m0.5s. See x."}}, 360.5),
        ({"error": {"message": "Please retry after 20 seconds."}}, 20),
        ({"detail": "please wait 1 minute"}, 60),
        ({"error": "Try again in 250ms"}, 0.25),
        ({"error": {"message": "Try again later"}}, None),
        ({"error": {"message": "retry 5 of 7"}}, None),
        ({"retry_after": -1, "x": None}, None),
        ({"retry_after": True}, None),
        ({"retryDelay": ""}, None),
        ("x" * 100_000, None),
        (5, None),
    ],
)
def test_a_delay_is_found_in_the_body(body: object, seconds: float | None) -> None:
    assert delay_of_body(body) == seconds


def test_azure_sends_the_delay_in_milliseconds() -> None:
    headers = httpx.Headers({"Retry-After-Ms": "2500"})
    assert error_of_response(429, headers, b"{}").retry_after == 2.5


def test_google_sends_the_delay_in_the_body() -> None:
    body = b'[{"error":{"code":429,"message":"m","details":[{"retryDelay":"42s"}]}}]'
    assert error_of_response(429, httpx.Headers(), body).retry_after == 42
    assert error_of_response(400, httpx.Headers(), body).retry_after is None
