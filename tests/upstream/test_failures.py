"""Failed requests, described without the key or error numbers."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.wire.errors.upstream_error import ErrorKind
from tests.support.fake_upstream import (
    Abort,
    Close,
    Delay,
    FakeUpstream,
)
from tests.upstream import KEY, failure


@pytest.mark.parametrize(
    ("status", "body", "headers", "kind", "message", "retry_after"),
    [
        (401, {"error": {"message": f"bad {KEY}"}}, {}, ErrorKind.UNAUTHORIZED, "bad ***", None),
        (429, {"error": "slow"}, {"Retry-After": "7"}, ErrorKind.RATE_LIMITED, "slow", 7.0),
        (500, "<title>Oh &amp; no</title>", {}, ErrorKind.SERVER_ERROR, "Oh & no", None),
        (500, "plain text", {}, ErrorKind.SERVER_ERROR, "plain text", None),
        (422, {"detail": "no"}, {}, ErrorKind.BAD_REQUEST, "no", None),
        (200, "<html><title>Welcome</title>", {}, ErrorKind.NOT_A_STREAM, "Welcome", None),
        (200, {"error": {"message": "m"}}, {}, ErrorKind.STREAM_ERROR, "m", None),
        (
            200,
            {"choices": []},
            {},
            ErrorKind.NOT_A_STREAM,
            "sent JSON without choices",
            None,
        ),
        (500, "x" * 1_000_000, {}, ErrorKind.SERVER_ERROR, "x" * 499 + "…", None),
    ],
)
async def test_a_response_that_is_not_a_stream_fails_with_its_message(
    client: UpstreamClient,
    endpoint: Endpoint,
    upstream: FakeUpstream,
    status: int,
    body: object,
    headers: dict[str, str],
    kind: ErrorKind,
    message: str,
    retry_after: float | None,
) -> None:
    upstream.fail(status, body, headers)
    error = await failure(client, endpoint)
    assert (error.status, error.kind, error.message) == (status, kind, message)
    assert error.retry_after == retry_after


async def test_retry_after_may_be_a_date(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    upstream.fail(429, {"error": "slow"}, {"Retry-After": date})
    retry_after = (await failure(client, endpoint)).retry_after
    assert retry_after
    assert 80 < retry_after <= 90


async def test_a_redirect_is_not_followed(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    upstream.fail(307, "", {"Location": f"{upstream.base_url}/chat/completions"})
    error = await failure(client, endpoint)
    assert error.kind is ErrorKind.REDIRECTED
    assert upstream.base_url in error.message
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("step", [Abort(), Close()], ids=["reset", "closed"])
async def test_a_connection_lost_before_the_first_byte_may_be_retried(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream, step: Abort | Close
) -> None:
    upstream.script(Delay(0.05), step)
    error = await failure(client, endpoint)
    assert error.kind is ErrorKind.UNREACHABLE
    assert error.message
    assert error.may_pass


@pytest.mark.network
@pytest.mark.parametrize(
    "base_url", ["http://127.0.0.1:1/v1", "nonsense", "http://[::1/v1", "ftp://127.0.0.1/v1", ""]
)
async def test_an_unreachable_upstream_fails_with_a_readable_message(
    client: UpstreamClient, base_url: str
) -> None:
    error = await failure(client, Endpoint(base_url, KEY))
    assert error.kind is ErrorKind.UNREACHABLE
    assert error.message
    assert "Errno" not in error.message
    assert KEY not in repr(Endpoint(base_url, KEY))


async def test_a_key_that_cannot_be_sent_is_not_quoted(
    client: UpstreamClient, upstream: FakeUpstream
) -> None:
    error = await failure(client, Endpoint(upstream.base_url, f"two\nlines {KEY}"))
    assert error.kind is ErrorKind.BAD_REQUEST
    assert "key" in error.message
