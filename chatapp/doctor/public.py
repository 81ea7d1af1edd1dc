"""What the public URL does to requests and answers, seen from both of its ends by the probe."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from ipaddress import ip_address, ip_network
from math import ceil
from typing import Self
from urllib.parse import urlsplit

import httpx
from django.conf import settings

from chatapp.doctor import probe
from chatapp.doctor.report import (
    Finding,
    clock_finding,
    failed,
    milliseconds,
    ok,
    reason,
    skipped,
    warning,
)
from chatapp.doctor.settings_checks import origin_of
from chatapp.doctor.tls import blind_context

WAIT_SECONDS = 15.0
MIB = 1024 * 1024
MOST_BODY_BYTES = 16 * MIB  # that the doctor sends, whatever the app takes
# A Date header has whole seconds, and came a while ago.
TOLERANCE_SECONDS = 3.0
# An address that no machine has (RFC 5737): whoever believes it believes anything.
FORGED = "192.0.2.77"
FORGED_ID = "forged-by-the-doctor"
PAGE = "/accounts/login/"


class Public:
    """HTTP through the public address; a context manager."""

    def __init__(self, url: str) -> None:
        self.origin = origin_of(url)
        self.host = urlsplit(self.origin).netloc
        self.is_https = self.origin.startswith("https://")

    def __enter__(self) -> Self:
        # The certificate has a line of its own; the rest is worth seeing whatever that says.
        self.http = httpx.Client(
            base_url=self.origin, verify=blind_context(), timeout=WAIT_SECONDS, trust_env=False
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    @property
    def headers(self) -> dict[str, str]:
        return {probe.TOKEN_HEADER: probe.token()}


@dataclass(frozen=True)
class Sight:
    """What the app saw of one request."""

    scheme: str
    host: str
    client: str
    forwarded_for: str
    forwarded_proto: str
    from_here: str = ""  # the address that the request left this machine by
    believes_forged: bool = False
    believes_forged_id: bool = False


def answers(public: Public) -> Iterator[Finding]:
    """Whether the app answers there, and its clock."""
    try:
        response = public.http.get("/healthz")
    except httpx.HTTPError as error:
        yield failed(
            "Answers",
            f"{public.origin}: {reason(error)}",
            "Check the name in the DNS, the port, the firewall, and that proxy and app run.",
        )
        return
    if response.status_code != 200 or response.text != "ok":
        yield failed("Answers", f"/healthz answers {response.status_code}", _cure_of(response))
        return
    yield ok("Answers", f"{public.origin} in {milliseconds(response.elapsed.total_seconds())}")
    try:
        theirs = parsedate_to_datetime(response.headers.get("date", "")).timestamp()
    except ValueError:  # Daphne itself sends none
        return
    yield clock_finding("Its clock", theirs + 0.5 - time.time(), TOLERANCE_SECONDS)


def _cure_of(response: httpx.Response) -> str:
    match response.status_code:
        case 400:
            return (
                "Set ALLOWED_HOSTS to the public host name, and let the proxy pass the Host header "
                "on (nginx: proxy_set_header Host $http_host)."
            )
        case 502 | 503 | 504:
            return "Start the app, and give the proxy the HOST and PORT where it listens."
    return "Give --url the address that the proxy passes to the app, with nothing in between."


def sight(public: Public) -> Sight | Finding:
    """What the app sees of a request from here; or why it is not known."""
    try:
        response = public.http.get("/probe/seen", headers=public.headers)
        told = response.json() if response.status_code == 200 else None
        here = str(response.extensions["network_stream"].get_extra_info("client_addr")[0])
        if isinstance(told, dict):
            return Sight(
                **told,
                from_here=here,
                believes_forged=_believes_forged(public, here),
                believes_forged_id=_believes_forged_id(public),
            )
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        return failed("Probe", reason(error), "See what the proxy's log says.")
    return failed(
        "Probe",
        f"the doctor's own page answers {response.status_code}",
        _cure_of(response)
        if response.status_code != 404
        else "Run doctor where the app runs, with its environment: the app there is another "
        "version or has another SECRET_KEY, or the proxy drops unknown headers or paths.",
    )


def _believes_forged(public: Public, here: str) -> bool:
    """Whether the app takes an address that we made up. From where a proxy of its own may be, it
    has to."""
    if _is_trusted(here):
        return False
    forged = public.headers | {"X-Forwarded-For": FORGED}
    return bool(public.http.get("/probe/seen", headers=forged).json()["client"] == FORGED)


def _believes_forged_id(public: Public) -> bool:
    """Whether the app gives a request the id that whoever sends it made up."""
    response = public.http.get("/probe/seen", headers=public.headers | {"X-Request-ID": FORGED_ID})
    return bool(response.headers.get("X-Request-ID") == FORGED_ID)


def _is_trusted(address: str) -> bool:
    trusted = getattr(settings, "CHATAPP_TRUSTED_PROXIES", ["127.0.0.1", "::1"])
    return any(ip_address(address) in ip_network(network) for network in trusted)


def forwarding(public: Public, seen: Sight) -> Iterator[Finding]:
    """Scheme, host and client address as the app sees them."""
    yield _scheme(public, seen)
    yield _host(public, seen)
    yield _client(seen)
    yield _request_id(seen)


def _scheme(public: Public, seen: Sight) -> Finding:
    expected = "https" if public.is_https else "http"
    if seen.scheme == expected:
        return ok("Scheme", f"the app sees {seen.scheme}")
    if seen.forwarded_proto == expected == "https":
        return failed(
            "Scheme",
            "the app sees http, though X-Forwarded-Proto says https",
            f"Set CSRF_TRUSTED_ORIGINS={public.origin}, let CHATAPP_TRUSTED_PROXIES name the "
            "proxy, and restart.",
        )
    return failed(
        "Scheme",
        f"the app sees {seen.scheme}, X-Forwarded-Proto is {seen.forwarded_proto or 'missing'}",
        "Let the proxy set it (nginx: proxy_set_header X-Forwarded-Proto $scheme).",
    )


def _host(public: Public, seen: Sight) -> Finding:
    if seen.host == public.host:
        return ok("Host", f"the app sees {seen.host}")
    return failed(
        "Host",
        f"the app sees {seen.host}",
        "Let the proxy keep it (nginx: proxy_set_header Host $http_host).",
    )


def _client(seen: Sight) -> Finding:
    named = [part.strip() for part in seen.forwarded_for.split(",") if part.strip()]
    if seen.believes_forged:
        return failed(
            "Client address",
            "the app believes an X-Forwarded-For that anybody can send",
            "Let CHATAPP_TRUSTED_PROXIES name your proxies alone, and let the proxy add the "
            "address of its own client (nginx: $proxy_add_x_forwarded_for).",
        )
    if seen.client == seen.from_here or seen.client in named:
        return ok("Client address", f"the app sees {seen.client}")
    if named:
        return warning(
            "Client address",
            f"the app sees {seen.client}, the proxy's, for everyone",
            f"Set CHATAPP_TRUSTED_PROXIES={seen.client} and restart.",
        )
    if _is_private(seen.client) and not _is_private(seen.from_here):
        return warning(
            "Client address",
            f"the app sees {seen.client} for everyone, and the proxy names no client",
            "Let the proxy set it (nginx: proxy_set_header X-Forwarded-For "
            "$proxy_add_x_forwarded_for).",
        )
    return ok("Client address", f"the app sees {seen.client}")


def _request_id(seen: Sight) -> Finding:
    has_proxy = bool(seen.forwarded_for or seen.forwarded_proto)
    if seen.believes_forged_id and (has_proxy or not _is_trusted(seen.from_here)):
        return warning(
            "Request id",
            "whoever sends an X-Request-ID chooses what the log calls the request",
            "Let the proxy set it (nginx: proxy_set_header X-Request-ID $request_id).",
        )
    if seen.believes_forged_id:
        return ok("Request id", "is taken from this machine, where a proxy may be")
    return ok("Request id", "is given by the app or its proxy")


def _is_private(address: str) -> bool:
    try:
        return ip_address(address).is_private
    except ValueError:
        return True  # a socket in the file system has no address


def page_headers(public: Public) -> Iterator[Finding]:
    """Whether pages stay out of caches, and what is said about https."""
    try:
        responses = [public.http.get(PAGE) for _ in range(2)]
    except httpx.HTTPError as error:
        yield failed("Caching", reason(error), "See what the proxy's log says.")
        return
    yield _caching(responses)
    if not public.is_https:
        return
    hsts = responses[0].headers.get("strict-transport-security", "")
    if hsts:
        yield ok("HSTS", hsts)
    else:
        yield ok(
            "HSTS",
            "not sent, so a browser may try plain http first",
            'Advice: let the proxy send Strict-Transport-Security "max-age=31536000".',
        )


def _caching(responses: Sequence[httpx.Response]) -> Finding:
    control = responses[-1].headers.get("cache-control", "")
    cached = [name for one in responses for name in ("age", "x-cache") if _is_hit(one, name)]
    if cached:
        return failed(
            "Caching",
            f"pages come from a cache ({cached[0]} is sent)",
            "Switch caching off in the proxy, or the CDN, for all but /static/.",
        )
    if not any(word in control for word in ("no-store", "no-cache", "private")):
        return failed(
            "Caching",
            f"pages may be kept by caches (Cache-Control: {control or 'missing'})",
            "Let the proxy pass the app's Cache-Control header on as it is.",
        )
    return ok("Caching", "pages are kept by no cache")


def _is_hit(response: httpx.Response, name: str) -> bool:
    value = response.headers.get(name, "").lower()
    return value not in ("", "0") if name == "age" else "hit" in value


def body_size(public: Public) -> Iterator[Finding]:
    """Whether the largest body that the app takes gets through."""
    size = min(settings.CHATAPP_MAX_BODY_BYTES, MOST_BODY_BYTES)
    shown = f"{size / 1024:.0f} KiB"
    cure = f"Let the proxy take them (nginx: client_max_body_size {ceil(size / MIB)}m)."
    try:
        response = public.http.post("/probe/body", content=b"x" * size, headers=public.headers)
        came = response.json().get("bytes") if response.status_code == 200 else None
    except (httpx.HTTPError, ValueError, AttributeError) as error:
        yield failed("Upload", f"a body of {shown}: {reason(error)}", cure)
        return
    if came == size:
        yield ok("Upload", f"a body of {shown} gets through")
    else:
        yield failed(
            "Upload",
            f"a body of {shown} is answered with {response.status_code}",
            cure,
        )


def http_buffering(public: Public) -> Iterator[Finding]:
    """Whether ten lines written over a second come over a second."""
    arrivals: list[tuple[float, float]] = []
    try:
        with public.http.stream("GET", "/probe/trickle", headers=public.headers) as response:
            if response.status_code != 200:
                yield skipped("HTTP streaming", f"the probe answers {response.status_code}")
                return
            lines = response.iter_lines()
            arrivals.extend((float(line), time.monotonic()) for line in lines)
    except (httpx.HTTPError, ValueError) as error:
        yield warning("HTTP streaming", reason(error), _BUFFERING_CURE)
        return
    delay = lateness(arrivals)
    if is_buffered(delay):
        yield warning(
            "HTTP streaming",
            f"is buffered: a line came {delay:.1f} s late. Replies come over the WebSocket, so "
            "they need not wait",
            _BUFFERING_CURE,
        )
    else:
        yield ok("HTTP streaming", trickled(len(arrivals), delay))


_BUFFERING_CURE = "Switch the proxy's buffering off (nginx: proxy_buffering off)."


def lateness(arrivals: Sequence[tuple[float, float]]) -> float:
    """How much longer the slowest piece took than the fastest: of (written, arrived) in seconds,
    each by a clock of its own."""
    ways = [arrived - written for written, arrived in arrivals]
    return max(ways) - min(ways) if ways else 0.0


def is_buffered(delay: float) -> bool:
    """Told from the machine's own hiccups, which are shorter than three pieces."""
    return delay > 3 * probe.PAUSE_SECONDS


def trickled(count: int, delay: float) -> str:
    span = (count - 1) * probe.PAUSE_SECONDS
    return f"{count} pieces over {span:.1f} s, the slowest {delay * 1000:.0f} ms late"
