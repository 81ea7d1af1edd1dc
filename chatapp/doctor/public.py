"""HTTP through the public URL: check whether the app answers, and whether large bodies arrive."""

import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from math import ceil
from typing import Self
from urllib.parse import urlsplit

import httpx
from django.conf import settings

from chatapp.checks.phrases import clock_result, duration, reason
from chatapp.checks.results import CheckResult, failed, ok
from chatapp.doctor import probe
from chatapp.doctor.settings_checks import build_origin
from chatapp.doctor.tls import unverified_context

WAIT_SECONDS = 15.0
MIB = 1024 * 1024
MAX_BODY_BYTES = 16 * MIB  # to send, even if the app accepts more
# A Date header has whole seconds, and is a little old when it arrives.
TOLERANCE_SECONDS = 3.0


class Public:
    """An HTTP client for the public address; a context manager."""

    def __init__(self, url: str) -> None:
        self.origin = build_origin(url)
        self.host = urlsplit(self.origin).netloc
        self.is_https = self.origin.startswith("https://")

    def __enter__(self) -> Self:
        # The certificate is checked separately; the other checks are useful even if it is invalid.
        self.http = httpx.Client(
            base_url=self.origin, verify=unverified_context(), timeout=WAIT_SECONDS, trust_env=False
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    @property
    def headers(self) -> dict[str, str]:
        return {probe.TOKEN_HEADER: probe.token()}


def answers(public: Public) -> Iterator[CheckResult]:
    """Check that the app answers at the public address, and its clock."""
    try:
        response = public.http.get("/healthz")
    except httpx.HTTPError as error:
        yield failed(
            "Answers",
            f"{public.origin}: {reason(error)}",
            "Check the DNS name, the port, the firewall, and that proxy and app are running.",
        )
        return
    if response.status_code != 200 or response.text != "ok":
        yield failed("Answers", f"/healthz answers {response.status_code}", remedy_for(response))
        return
    yield ok("Answers", f"{public.origin} in {duration(response.elapsed.total_seconds())}")
    try:
        theirs = parsedate_to_datetime(response.headers.get("date", "")).timestamp()
    except ValueError:  # no Date header: Daphne sends none
        return
    yield clock_result("Clock", theirs + 0.5 - time.time(), TOLERANCE_SECONDS)


def remedy_for(response: httpx.Response) -> str:
    """Return what to do about a response that isn't from the app."""
    match response.status_code:
        case 400:
            return (
                "Set ALLOWED_HOSTS to the public host name, and configure the proxy to pass on the "
                "Host header (nginx: proxy_set_header Host $http_host)."
            )
        case 502 | 503 | 504:
            return "Start the app, and configure the proxy with the HOST and PORT where it listens."
    return "Set --url to the address that the proxy passes to the app."


def body_size(public: Public) -> Iterator[CheckResult]:
    """Check that a body of the largest size that the app accepts gets through."""
    size = min(settings.CHATAPP_MAX_BODY_BYTES, MAX_BODY_BYTES)
    size_text = f"{size / 1024:.0f} KiB"
    remedy = f"Raise the proxy's limit (nginx: client_max_body_size {ceil(size / MIB)}m)."
    try:
        response = public.http.post("/probe/body", content=b"x" * size, headers=public.headers)
        received = response.json().get("bytes") if response.status_code == 200 else None
    except (httpx.HTTPError, ValueError, AttributeError) as error:
        yield failed("Upload", f"a body of {size_text}: {reason(error)}", remedy)
        return
    if received == size:
        yield ok("Upload", f"a body of {size_text} gets through")
    else:
        yield failed(
            "Upload",
            f"a body of {size_text} is answered with {response.status_code}",
            remedy,
        )
