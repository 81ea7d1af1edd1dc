"""Behind a proxy: whose headers are trusted, and what they change."""

from io import BytesIO
from typing import Any

import httpx
import pytest
from django.core.handlers.asgi import ASGIRequest
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from chatapp import environment
from chatapp.accounts.adapter import AccountAdapter
from chatapp.asgi import application

CLIENT = "203.0.113.7"
LOGIN_TRIES = 120  # a minute from one address


async def behind_proxies(trusted: str, scope: dict[str, Any]) -> dict[str, Any]:
    """Return the scope that the app gets for a scope from Daphne."""
    seen: dict[str, Any] = {}

    async def application(scope: Any, _receive: Any, _send: Any) -> None:
        seen.update(scope)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NAME", trusted)
        networks = environment.networks("NAME", "127.0.0.1,::1")
    await ProxyHeadersMiddleware(application, networks)(scope, None, None)  # type: ignore[arg-type]
    return seen


def http(peer: str, **headers: str) -> dict[str, Any]:
    return {
        "type": "http",
        "method": "GET",
        "path": "/",
        "query_string": b"",
        "scheme": "http",
        "client": [peer, 4711],
        "server": ["127.0.0.1", 8000],
        "headers": [(b"host", b"localhost")]
        + [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    }


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "client"),
    [
        ("", "127.0.0.1", CLIENT, CLIENT),
        ("", "::1", "2001:db8::7", "2001:db8::7"),
        ("", "::ffff:127.0.0.1", CLIENT, CLIENT),
        ("", "127.0.0.1", f"{CLIENT}:51000", CLIENT),
        ("", "127.0.0.1", "[2001:db8::7]:51000", "2001:db8::7"),
        ("", "127.0.0.1", f"198.51.100.1, {CLIENT}", CLIENT),
        ("10.0.0.0/8", "10.1.2.3", f"198.51.100.1, {CLIENT}, 10.9.9.9", CLIENT),
        ("10.0.0.0/8", "10.1.2.3", CLIENT, CLIENT),
        ("10.0.0.0/8", "127.0.0.1", CLIENT, "127.0.0.1"),
        ("", "10.1.2.3", CLIENT, "10.1.2.3"),
        ("", "198.51.100.1", "127.0.0.1", "198.51.100.1"),
    ],
)
async def test_the_client_is_the_last_address_added_by_a_trusted_proxy(
    trusted: str, peer: str, forwarded: str, client: str
) -> None:
    seen = await behind_proxies(trusted, http(peer, x_forwarded_for=forwarded))
    request = ASGIRequest(seen, BytesIO())
    assert request.META["REMOTE_ADDR"] == client
    assert AccountAdapter().get_client_ip(request) == client


@pytest.mark.parametrize(("peer", "is_secure"), [("127.0.0.1", True), ("198.51.100.1", False)])
async def test_the_scheme_is_taken_from_a_trusted_proxy(peer: str, is_secure: bool) -> None:
    headers = {"x_forwarded_proto": "https", "x_forwarded_host": "evil.example"}
    request = ASGIRequest(await behind_proxies("", http(peer, **headers)), BytesIO())
    assert request.is_secure() is is_secure
    assert request.get_host() == "localhost"


@pytest.mark.parametrize(("peer", "scheme"), [("127.0.0.1", "wss"), ("198.51.100.1", None)])
async def test_a_sockets_scheme_is_taken_from_a_trusted_proxy(
    peer: str, scheme: str | None
) -> None:
    scope = http(peer, x_forwarded_proto="https") | {"type": "websocket"}
    del scope["scheme"]  # Daphne sets none
    assert (await behind_proxies("", scope)).get("scheme") == scheme


@pytest.mark.usefixtures("alice", "connections_close")
async def test_sign_in_attempts_are_limited_by_the_address_from_a_trusted_proxy() -> None:
    assert 429 not in await sign_in_statuses("127.0.0.1")


@pytest.mark.usefixtures("alice", "connections_close")
async def test_a_spoofed_address_does_not_lift_the_limit() -> None:
    assert (await sign_in_statuses("198.51.100.1"))[-1] == 429


async def sign_in_statuses(peer: str) -> list[int]:
    """Try to sign in once more than an address may in a minute, each with its own header."""
    transport = httpx.ASGITransport(application, client=(peer, 4711))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        await client.get("/accounts/login/")
        fields = {"csrfmiddlewaretoken": client.cookies["csrftoken"], "login": "", "password": ""}
        return [
            (
                await client.post(
                    "/accounts/login/",
                    data=fields,
                    headers={"x-forwarded-for": f"203.0.113.{number}"},
                )
            ).status_code
            for number in range(LOGIN_TRIES + 1)
        ]
