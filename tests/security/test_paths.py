"""No conceivable address, query or cookie makes a page or a socket fail."""

import re
from collections.abc import Iterator
from itertools import product
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from tests.security.wire import Answer, Wire
from tests.support.live import Person, Server, Site
from tests.support.profile import choose_size

# an id that nothing has, the same in every process
NO_ONES = "5a0d7c0e-52a5-4c7e-9a86-5b4f3d0f4f10"
HUGE = "9" * 400
ODD = (
    "0",
    "-1",
    "1",
    "01",
    "1.5",
    "9" * 19,
    HUGE,
    "9" * 5000,
    "%00",
    "1%00",
    "%ff",
    "%ed%a0%80",
    "%F0%9F%92%A9",
    "%u0041",
    "%",
    "%zz",
    "..",
    "../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f",
    "%5c",
    "_5F_",
    "_00",
    "%0d%0aX: y",
    "a" * 3000,
    "%s%n",
    "{{7*7}}",
    "'\"><x>",
    ";",
    "%3B",
    "None",
    "1e9",
    NO_ONES,
    "00000000-0000-0000-0000-000000000000",
)


class Watched(Server):
    """A server whose log is checked in parts."""

    _checked = 0

    def check_log(self) -> None:
        """Fail if a traceback was logged since the last check."""
        news, self._checked = self.lines[self._checked :], len(self.lines)
        assert "Traceback" not in "".join(news), "".join(news)[-6000:]


@pytest.fixture(scope="module")
def server(site: Site) -> Iterator[Watched]:
    with Watched(site.copy()) as server:
        server.run(ROWS)
        yield server


@pytest.fixture(scope="module")
def stan(server: Watched) -> Person:
    """A staff member without permissions."""
    return make_person(server, "stan", "is_staff=True")


@pytest.fixture(scope="module")
def people(site: Site, stan: Person) -> list[Person | None]:
    return [None, site.person(), stan, site.olive]


MAKE = """
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from chatapp.models import User

user = User({fields})
user.save()
session = SessionStore()
session[SESSION_KEY] = str(user.pk)
session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
session[HASH_SESSION_KEY] = user.get_session_auth_hash()
session.save()
print(session.session_key)
"""

# Gives lists something to filter, and pages something to show.
ROWS = """
from uuid import uuid4
from chatapp.models import Conversation, ToolServer, Upstream, User

olive = User.objects.get(username="olive")
upstream = Upstream.objects.first()
for number in range(3):
    conversation = Conversation.objects.create(user=olive, title=f"Talk {number}")
ToolServer.objects.create(name="tools", transport="http", url="http://127.0.0.1:9/", enabled=False)
"""


def make_person(server: Watched, name: str, fields: str) -> Person:
    script = MAKE.format(fields=f"username={name!r}, {fields}")
    return Person(name, server.run(script).strip())


# Addresses


CSRF = "x" * 32


def shapes(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    """Iterate over the addresses of all patterns, with {} for each argument."""
    for pattern in patterns:
        text = re.sub(r"\(\?P<\w+>.*\)|<[^>]*>|\.\*", "{}", str(pattern.pattern))
        address = before + re.sub(r"[\^$\\]", "", text)
        if isinstance(pattern, URLResolver):
            yield from shapes(pattern.url_patterns, address)
        else:
            yield address


SHAPES = sorted(set(shapes(get_resolver().url_patterns)) | {"{}", "static/{}"})


def test_the_walk_finds_addresses_with_arguments() -> None:
    assert "c/{}/" in SHAPES
    assert "people/given/{}/{}/" in SHAPES


@pytest.mark.parametrize("shape", SHAPES)
def test_no_argument_makes_a_page_fail(
    server: Watched, people: list[Person | None], shape: str
) -> None:
    count = shape.count("{}")
    olive = people[-1]
    step = choose_size(10, 1)  # each shape begins with another one
    for number, odd in enumerate(ODD[SHAPES.index(shape) % step :: step] if count else [""]):
        address = f"/{shape.replace('{}', odd)}"
        # With an argument, each person in turn; without one, all of them. Olive, who may see
        # everything, always.
        others = [people[number % 3]] if count else people[:3]
        for person in (*others, olive):
            check(server, ask(server, person, address), address)
        if not shape.endswith(NOT_POSTED):
            check(server, ask(server, olive, address, b"POST"), f"POST {address}")


NOT_POSTED = "/logout/"  # ends the session in use


def ask(
    server: Watched, person: Person | None, address: str, method: bytes = b"GET", cookie: str = ""
) -> Answer:
    """Send a request exactly as written, since clients normalise addresses."""
    cookies = cookie or (f"sessionid={person.session}; " if person else "") + f"csrftoken={CSRF}"
    with Wire(server.url) as wire:
        headers = {
            "Host": wire.host,
            "Cookie": cookies,
            "X-CSRFToken": CSRF,
            "Content-Length": "0",
            "Connection": "close",
        }
        return wire.ask(
            b"%s %s HTTP/1.1" % (method, address.replace(" ", "%20").encode()),
            *(f"{name}: {value}".encode("latin-1") for name, value in headers.items()),
        )


def check(server: Watched, answer: Answer, address: str) -> None:
    server.check_log()
    assert 200 <= answer.status < 500, f"{address[:200]!r}: {answer.raw[:300]!r}"
    assert b"Traceback" not in answer.raw, address[:200]


# Queries


NAMES = (
    *("before", "reply", "next", "exclude", "q", "name", "model", "provider", "upstream", "group"),
    *("role", "state", "after", "person", "actor", "about", "action", "by", "period", "show"),
)
VALUES = (
    "",
    "0",
    "-1",
    "1",
    "1.5",
    HUGE,
    "9" * 5000,
    "%00",
    "a%00b",
    "%ff",
    "%ed%a0%80",
    "..",
    "None",
    "2026",
    "0001-01-01",
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00%2B14:00",
    "9999-12-31T23:59:59-14:00",
    "99999-99-99",
    "1.2.3",
    "-",
    "-.1",
    "[]",
    "a,b",
    "a" * 3000,
    "'%22;--",
    "%E2%80%AE",
)
PAGES = (
    *("", "conversations/", "help/", "accounts/login/", "readyz", "c/{}/"),
    *("people/", "people/given/", "audit/", "usage/", "review/", "limits/new/"),
)


def queries() -> Iterator[str]:
    for value in VALUES[:: choose_size(3, 1)]:
        yield "&".join(f"{name}={value}" for name in NAMES)
    yield from ("a&" * 1500, "&".join(f"a{n}=1" for n in range(1200)), "=", "%00=%00", "a[]=1")


@pytest.mark.parametrize("page", PAGES)
def test_no_query_makes_a_page_fail(server: Watched, site: Site, page: str) -> None:
    for person, query in product((None, site.olive), queries()):
        address = f"/{page.replace('{}', str(uuid4()))}?{query}"
        check(server, ask(server, person, address), address)


# Cookies


COOKIES = (
    'sessionid="\\000"',
    'sessionid="a\\000b"',
    "sessionid=" + "a" * 5000,
    "sessionid=",
    'sessionid="\\377"',
    'csrftoken="\\000"',
    'messages="\\000"',
    "messages=x:y:z",
    'sidebar="\\000"',
    "=;=;;;",
    "\xff\xfe=\xff",
    "sessionid=" + quote("é"),
)


@pytest.mark.parametrize("cookie", COOKIES)
def test_no_cookie_makes_a_page_fail(server: Watched, cookie: str) -> None:
    for address, method in product(("/", "/people/", "/accounts/login/"), (b"GET", b"POST")):
        check(server, ask(server, None, address, method, cookie), cookie)


# Sockets


@pytest.mark.parametrize(
    "address",
    [
        *("/", "/ws", "/ws/nothing/", "/ws//", "/people/", "/c/1/", "/ws/probe/x", "//ws/"),
        *("/%00", "/ws/%00", "/%ff", "/ws/%2e%2e/", "/" + "a" * 3000),
    ],
)
def test_a_socket_at_an_unknown_address_is_refused_quietly(server: Watched, address: str) -> None:
    assert status_of_socket(server, address) in (400, 403, 404)
    server.check_log()


@pytest.mark.parametrize("cookie", COOKIES)
def test_no_cookie_makes_a_socket_fail(server: Watched, cookie: str) -> None:
    assert status_of_socket(server, "/ws/", Cookie=cookie) in (400, 403)
    server.check_log()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Sec-WebSocket-Protocol", "\xff"),
        ("Sec-WebSocket-Protocol", "%ff, %00"),
        ("Daphne-Root-Path", "/evil"),
        ("Daphne-Root-Path", "\xff"),
        ("Origin", "\xff"),
        ("Origin", "null"),
        ("X-Request-ID", "\xff"),
    ],
)
def test_no_header_makes_a_handshake_fail(server: Watched, name: str, value: str) -> None:
    assert status_of_socket(server, "/ws/", **{name: value}) in (400, 403)
    server.check_log()


@pytest.mark.parametrize("value", [HUGE, "%00", "%ff", "%ed%a0%80", "", "a" * 3000, NO_ONES])
@pytest.mark.parametrize("name", ["conversation", "head", "ending"])
def test_no_query_makes_a_socket_fail(server: Watched, site: Site, name: str, value: str) -> None:
    other = f"conversation={uuid4()}&" if name != "conversation" else ""
    address = f"/ws/?{other}{name}={value}"
    cookie = f"sessionid={site.olive.session}"
    assert status_of_socket(server, address, Cookie=cookie) == (400 if value == "%00" else 101)
    server.check_log()


def status_of_socket(server: Watched, address: str, **headers: str) -> int:
    more = {"Origin": server.url} | headers
    with Wire(server.url) as wire:
        wire.write(
            b"\r\n".join(
                [
                    f"GET {address} HTTP/1.1".encode(),
                    f"Host: {wire.host}".encode(),
                    b"Upgrade: websocket",
                    b"Connection: Upgrade",
                    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
                    b"Sec-WebSocket-Version: 13",
                    *(f"{name}: {value}".encode("latin-1") for name, value in more.items()),
                    b"",
                    b"",
                ]
            )
        )
        return Answer(wire.read()).status
