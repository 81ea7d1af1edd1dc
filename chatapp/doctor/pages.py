"""Check pages through the public URL: whether caches keep them, and the HSTS header."""

from collections.abc import Iterator, Sequence

import httpx

from chatapp.checks.phrases import reason
from chatapp.checks.results import CheckResult, failed, ok
from chatapp.doctor.public import Public

PAGE = "/accounts/login/"


def page_headers(public: Public) -> Iterator[CheckResult]:
    """Check that pages stay out of caches, and report the HSTS header."""
    try:
        responses = [public.http.get(PAGE) for _ in range(2)]
    except httpx.HTTPError as error:
        yield failed("Caching", reason(error), "Look at the proxy's log.")
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
            'Consider sending Strict-Transport-Security "max-age=31536000" from the proxy.',
        )


def _caching(responses: Sequence[httpx.Response]) -> CheckResult:
    control = responses[-1].headers.get("cache-control", "")
    cached = [
        name for response in responses for name in ("age", "x-cache") if _is_hit(response, name)
    ]
    if cached:
        return failed(
            "Caching",
            f"pages come from a cache (header: {cached[0]})",
            "Turn caching off in the proxy or CDN for everything except /static/.",
        )
    if not any(word in control for word in ("no-store", "no-cache", "private")):
        return failed(
            "Caching",
            f"caches may keep pages (Cache-Control: {control or 'missing'})",
            "Configure the proxy to pass on the app's Cache-Control header unchanged.",
        )
    return ok("Caching", "no cache keeps pages")


def _is_hit(response: httpx.Response, name: str) -> bool:
    value = response.headers.get(name, "").lower()
    return value not in ("", "0") if name == "age" else "hit" in value
