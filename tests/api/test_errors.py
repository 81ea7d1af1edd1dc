"""Every error under the API's addresses is as OpenAI writes it, wherever it is raised."""

from typing import Any

import httpx
import pytest
from django.db import OperationalError
from pytest_django import Settings

from chatapp.models import AccessToken, Upstream
from chatapp.sessions.rate_limits import allowances

pytestmark = pytest.mark.django_db(transaction=True)

CHAT = "/api/v1/chat/completions"


def error_in(response: httpx.Response) -> dict[str, Any]:
    assert response.headers["Content-Type"] == "application/json"
    assert int(response.headers["Content-Length"]) == len(response.content)
    body = response.json()
    assert set(body) == {"error"}
    error: dict[str, Any] = body["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"].endswith(".")
    assert error["type"] in ("invalid_request_error", "rate_limit_error", "server_error")
    return error


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/v1", 404, "not_found"),
        ("GET", "/api/v1/", 404, "not_found"),
        ("GET", "/api/v1/embeddings", 404, "not_found"),
        ("POST", "/api/v1/embeddings", 404, "not_found"),
        ("GET", CHAT, 405, "method_not_allowed"),
        ("PUT", CHAT, 405, "method_not_allowed"),
        ("POST", "/api/v1/models", 405, "method_not_allowed"),
        ("GET", "/api/v1/models", 401, "missing_api_key"),
        ("GET", "/api/v1/models?api_key=x", 400, "token_in_address"),
    ],
)
async def test_addresses_and_methods(
    http: httpx.AsyncClient, method: str, path: str, status: int, code: str
) -> None:
    response = await http.request(method, path)
    assert response.status_code == status
    assert error_in(response)["code"] == code


@pytest.mark.parametrize(
    ("content", "content_type", "status", "code"),
    [
        (b"{", "application/json", 400, "invalid_json"),
        (b"\xff", "application/json; charset=utf-8", 400, "invalid_json"),
        (b"[]", "application/json", 400, "invalid_value"),
        (b"model=one", "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
        (b"--b--", "multipart/form-data; boundary=b", 415, "unsupported_media_type"),
        (b"{}", "text/plain", 415, "unsupported_media_type"),
        (b'{"a": "' + b"x" * 20_000_000 + b'"}', "application/json", 413, "request_too_large"),
    ],
)
async def test_bodies(
    http: httpx.AsyncClient,
    secret: str,
    api_upstream: Upstream,
    content: bytes,
    content_type: str,
    status: int,
    code: str,
) -> None:
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": content_type}
    response = await http.post(CHAT, content=content, headers=headers)
    assert response.status_code == status
    assert error_in(response)["code"] == code


async def test_a_host_that_is_not_served(http: httpx.AsyncClient) -> None:
    response = await http.get("/api/v1/models", headers={"Host": "elsewhere.example"})
    assert response.status_code == 400
    assert error_in(response)["code"] == "bad_request"


async def test_throttling(http: httpx.AsyncClient, secret: str, api_upstream: Upstream) -> None:
    token = await AccessToken.objects.aget()
    allowances[token.user_id].take(10**6)
    headers = {"Authorization": f"Bearer {secret}"}
    response = await http.get("/api/v1/models", headers=headers)
    assert response.status_code == 429
    assert response.headers["Retry-After"]
    assert error_in(response)["type"] == "rate_limit_error"


async def test_the_rate_limit_of_pages(http: httpx.AsyncClient, signed_in: dict[str, str]) -> None:
    """A browser's cookie does not sign in here, but its person's allowance is checked first."""
    http.cookies.update(signed_in)
    response = await http.get("/api/v1/models")
    assert response.status_code == 429
    assert error_in(response)["code"] == "rate_limit_exceeded"


@pytest.fixture
def signed_in(alice: Any, client: Any) -> dict[str, str]:
    """The cookies of a browser whose person has used up her allowance."""
    client.force_login(alice)
    allowances[alice.pk].take(10**6)
    return {name: cookie.value for name, cookie in client.cookies.items()}


@pytest.mark.parametrize(("error", "status"), [(OperationalError, 503), (KeyError, 500)])
async def test_what_goes_wrong(
    http: httpx.AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
    error: type[Exception],
    status: int,
) -> None:
    def fail(_secret: str) -> AccessToken:
        raise error

    settings.DEBUG_PROPAGATE_EXCEPTIONS = False
    monkeypatch.setattr(AccessToken, "find", fail)
    response = await http.get("/api/v1/models", headers={"Authorization": "Bearer x"})
    assert response.status_code == status
    assert error_in(response)["type"] == "server_error"


async def test_pages_still_answer_with_pages(http: httpx.AsyncClient) -> None:
    response = await http.get("/apis/v1/models")
    assert response.status_code == 404
    assert response.headers["Content-Type"].startswith("text/html")
