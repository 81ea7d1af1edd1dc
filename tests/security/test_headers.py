"""The headers of every response, and whose request headers the app trusts."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import product

import httpx
import pytest
from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver

from tests.security.conftest import TOKEN
from tests.security.wire import Wire
from tests.support.live import PASSWORD, Person, Server, Site
from tests.support.profile import choose_size

CSP = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "manifest-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
}
ON_ALL = {
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

WITH_SECRET = ("/invitation/", "/accounts/password/new/", "/accounts/address/")
"""Links whose addresses must not leak, not even in the referrer of a style sheet request."""


@pytest.fixture(scope="module")
def alice(site: Site) -> Person:
    return site.person()


@pytest.fixture(scope="module")
def clients(server: Server, alice: Person, site: Site) -> Iterator[list[httpx.Client]]:
    """Clients of a stranger, a person and an administrator."""
    with server.visit() as nobody, server.visit(alice) as person, server.visit(site.olive) as olive:
        yield [nobody, person, olive]


def check(answer: httpx.Response, *, is_file: bool = False) -> None:
    context = f"{answer.request.method} {answer.request.url} is a {answer.status_code}"
    headers = answer.headers
    # A request refused by CSRF protection gets a page that has nothing to do with the address.
    holds_secret = answer.request.url.path.startswith(WITH_SECRET) and answer.status_code != 403
    own = {"referrer-policy": "strict-origin"} if holds_secret else {}
    if answer.request.url.path.startswith("/s/") and answer.status_code != 403:
        is_form = answer.request.url.path.endswith("/copy/")
        own = {"referrer-policy": "strict-origin" if is_form else "no-referrer"}
    for name, value in (ON_ALL | own).items():
        assert headers.get_list(name) == [value], f"{context}: {name}"
    [policy] = headers.get_list("content-security-policy")
    assert set(policy.split("; ")) == CSP, context
    [permissions] = headers.get_list("permissions-policy")
    for name in ("camera", "microphone", "geolocation", "payment", "usb", "display-capture"):
        assert f"{name}=()" in permissions.split(", "), context
    assert "clipboard-write=(self)" in permissions, context
    assert ("no-store" in headers["cache-control"]) is not is_file, context
    assert "access-control-allow-origin" not in headers, context
    assert "x-request-id" in headers or answer.status_code == 413, context


# The addresses of the app: each pattern with its arguments filled in.


def addresses(patterns: list[URLPattern | URLResolver], before: str = "/") -> Iterator[str]:
    for pattern in patterns:
        address = before + re.sub(r"\(\?P<\w+>[^)]*\)|<[^>]*>|\.\*", "1", str(pattern.pattern))
        address = re.sub(r"[\^$\\]|\(\?P.*", "", address)
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern.url_patterns, address)
        else:
            yield address
            # Once more with a valid value for a `uuid`.
            if "<uuid:" in str(pattern.pattern):
                unknown = "00000000-0000-4000-8000-000000000000"
                yield before + re.sub("<uuid:[^>]*>", unknown, str(pattern.pattern))


ADDRESSES = sorted(set(addresses(get_resolver().url_patterns)))


def test_the_walk_finds_the_addresses() -> None:
    assert {"/", "/help/", "/people/", "/people/1/delete/", "/healthz"} <= set(ADDRESSES)
    assert len(ADDRESSES) > 50


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_page_has_them_for_everyone_and_every_method(
    clients: list[httpx.Client], address: str
) -> None:
    pairs = list(product(clients, ("GET", "POST")))
    # A stranger is sent to sign in, and CSRF protection refuses all posts alike.
    for client, method in choose_size((pairs[0], pairs[3], pairs[4]), pairs):
        check(client.request(method, address))


def test_static_files_have_them_and_are_cached(server: Server, alice: Person) -> None:
    with server.visit(alice) as client:
        named = re.findall(r'(?:src|href)="(/static/[^"]+)"', client.get("/").text)
        assert named
        for path in named:
            answer = client.get(path)
            check(answer, is_file=True)
            assert "immutable" in answer.headers["cache-control"]
            again = client.get(path, headers={"If-None-Match": answer.headers.get("etag", "")})
            check(again, is_file=True)
        unhashed = client.get("/static/icon.svg")
        check(unhashed, is_file=True)
        assert unhashed.headers["cache-control"] == "max-age=60, public"
        check(client.get("/static/nothing.css"))
        check(client.get("/static/../secret_key"))


def test_errors_have_them(server: Server, site: Site) -> None:
    with server.visit() as client, server.visit(site.olive) as olive:
        for answer, status in [
            (client.get("/", headers={"Host": "evil.example"}), 400),
            (client.post("/accounts/login/", data={"login": "x"}), 403),
            (client.get("/nowhere/"), 404),
            (client.head("/healthz"), 405),
            (client.post("/accounts/login/", content=b"x" * 3_000_000), 413),
            (client.get("/metrics"), 401),
            (client.get("/help"), 301),
            (client.get("/"), 302),
            (client.get("/readyz"), 200),
            (olive.get("/people/999999999/"), 404),
        ]:
            assert answer.status_code == status
            check(answer)


def test_metrics_have_them(server: Server) -> None:
    with server.visit() as client:
        answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    check(answer)


@pytest.mark.thorough
@pytest.mark.skipif(bool(settings.DATABASE_URL), reason="breaks a database of SQLite")
def test_server_errors_and_a_missing_database_have_them(site: Site) -> None:
    server = site.server().start()
    database = server.data_dir / "chatapp.sqlite3"
    fields = {"login": site.person().username, "password": PASSWORD}
    try:
        with server.visit() as client:
            client.get("/accounts/login/")
            headers = {"X-CSRFToken": client.cookies["csrftoken"]}
            for statement, status in [
                ("CREATE TRIGGER no BEFORE UPDATE ON chatapp_user"
                 " BEGIN SELECT RAISE(ABORT, 'no'); END", 500),
                ("DROP TABLE django_session", 503),
            ]:  # fmt: skip
                with closing(sqlite3.connect(database, timeout=20)) as connection:
                    connection.execute(statement)
                    connection.commit()
                answer = client.post("/accounts/login/", data=fields, headers=headers)
                assert answer.status_code == status
                check(answer)
                assert "Traceback" not in answer.text
    finally:
        server.stop()  # its log shows the failure


@pytest.mark.parametrize(
    "lines",
    [
        [b"GET /\xc3\xa4 HTTP/1.1", b"Host: localhost"],
        [b"GET /?\xc3\xa4 HTTP/1.1", b"Host: localhost"],
        [b"GET / HTTP/1.1", b"Host: localhost", b"X(: y"],
        [b"GET / HTTP/3", b"Host: localhost"],
    ],
)
def test_responses_of_the_server_itself_have_them(server: Server, lines: list[bytes]) -> None:
    with Wire(server.url) as wire:
        answer = wire.ask(*lines, b"Connection: close")
    assert answer.status == 400
    assert "Daphne" not in answer.text
    assert ON_ALL.items() <= answer.headers.items()
    assert set(answer.headers["content-security-policy"].split("; ")) == CSP
    assert answer.headers["cache-control"] == "no-store"


# Trusted headers


@pytest.fixture(scope="module")
def wary(site: Site) -> Iterator[Server]:
    """A server that trusts no proxy, not even on this machine."""
    with site.server(CHATAPP_TRUSTED_PROXIES="192.0.2.1") as server:
        yield server
        assert "Traceback" not in server.log


@pytest.mark.parametrize("name", ["Daphne-Root-Path", "daphne-root-path", "DAPHNE-ROOT-PATH"])
@pytest.mark.parametrize("root", ["/evil", "//evil.example", "/%2e%2e", "\xff", "/"])
def test_no_header_can_move_the_apps_root(
    server: Server, wary: Server, name: str, root: str
) -> None:
    for each_server in (server, wary):
        with each_server.visit() as client:
            answer = client.get("/", headers=[(name.encode(), root.encode("latin-1"))])
        assert (answer.status_code, answer.headers["location"]) == (302, "/accounts/login/?next=/")


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ([("X-Request-ID", "one"), ("X-Request-ID", "two")], None),
        ([("X-Request-ID", "one")], "one"),
        ([("X_Request_ID", "one")], None),
        ([("X-Request-ID", "one, two")], None),
    ],
)
def test_a_request_id_is_accepted_only_from_a_proxy(
    server: Server, wary: Server, headers: list[tuple[str, str]], name: str | None
) -> None:
    for each_server in (server, wary):
        with each_server.visit() as client:
            named = client.get("/help/", headers=headers).headers.get_list("X-Request-ID")
        if name and each_server is server:
            assert named == [name]
        else:
            assert len(named) == 1
            assert re.fullmatch("[0-9a-f]{32}", named[0])


LIES = {
    "Forwarded": 'for=6.6.6.6;host="evil.example";proto=https',
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Port": "666",
    "X-Forwarded-Server": "evil.example",
    "X-Forwarded-Prefix": "/evil",
    "X-Forwarded-Scheme": "https",
    "X-Forwarded-Ssl": "on",
    "X-Script-Name": "/evil",
    "Script-Name": "/evil",
    "X-Real-IP": "6.6.6.6",
    "X-Client-IP": "6.6.6.6",
    "True-Client-IP": "6.6.6.6",
    "CF-Connecting-IP": "6.6.6.6",
    "X-Original-URL": "/people/",
    "X-Rewrite-URL": "/people/",
    "X-HTTP-Method-Override": "DELETE",
    "X_Forwarded_For": "6.6.6.6",
    "X_Forwarded_Proto": "https",
    "Remote_Addr": "6.6.6.6",
    "Remote-User": "olive",
    "Host_": "evil.example",
    "Proxy": "http://evil.example",
}


def test_unknown_forwarding_headers_change_nothing(server: Server, wary: Server) -> None:
    for each_server in (server, wary):
        with each_server.visit() as client:
            plain = client.get("/accounts/login/?next=/")
            lied = client.get("/accounts/login/?next=/", headers=LIES)
            assert without_tokens(lied.text) == without_tokens(plain.text)
            assert "evil" not in lied.text + str(lied.headers)
            assert client.get("/", headers=LIES).headers["location"] == "/accounts/login/?next=/"


def without_tokens(text: str) -> str:
    return re.sub(r'(name="csrfmiddlewaretoken" value=)"\w+"', r"\1", text)
