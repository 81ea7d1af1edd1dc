"""What the public URL adds to pages and takes from them: caches, and what is said about https."""

from collections.abc import Iterator, Sequence

import httpx

from chatapp.checks.results import Finding, failed, ok
from chatapp.doctor.public import Public
from chatapp.doctor.report import reason

PAGE = "/accounts/login/"


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
