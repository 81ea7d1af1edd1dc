"""The headers that every response has, whoever made it: a page, a file, an error, the server.

A response that says otherwise itself keeps what it says, as the logo and the accent do. What is no
static file either is kept by nobody, since it may hold private text.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any

from csp.utils import build_policy
from django.conf import settings

# All that a browser may offer a page and this app does not use; what is not named here keeps its
# default, which is to be allowed to pages of our own origin alone.
SWITCHED_OFF = (
    "accelerometer",
    "autoplay",
    "browsing-topics",
    "camera",
    "compute-pressure",
    "display-capture",
    "encrypted-media",
    "fullscreen",
    "gamepad",
    "geolocation",
    "gyroscope",
    "hid",
    "identity-credentials-get",
    "idle-detection",
    "local-fonts",
    "magnetometer",
    "microphone",
    "midi",
    "otp-credentials",
    "payment",
    "picture-in-picture",
    "screen-wake-lock",
    "serial",
    "storage-access",
    "usb",
    "window-management",
    "xr-spatial-tracking",
)
POLICY = ", ".join(["clipboard-write=(self)", *(f"{name}=()" for name in SWITCHED_OFF)])
PLAIN = (b"content-type", b"text/plain; charset=utf-8")
KEPT_BY_NOBODY = (b"cache-control", b"no-store")

Headers = Iterable[tuple[bytes, bytes]]


@cache
def on_all() -> dict[bytes, bytes]:
    """By name, in lower case as ASGI has them."""
    texts = {
        "content-security-policy": build_policy(),
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": POLICY,
        "referrer-policy": settings.SECURE_REFERRER_POLICY,
        "x-content-type-options": "nosniff",
        "x-frame-options": settings.X_FRAME_OPTIONS,
    }
    return {name.encode(): value.encode() for name, value in texts.items()}


def refusal_headers() -> list[tuple[bytes, bytes]]:
    """Of a reply of the server's own, which is a line of text."""
    return [PLAIN, KEPT_BY_NOBODY, *on_all().items()]


class ResponseHeaders:
    """ASGI middleware: adds the headers to each response of the application's."""

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = message | {"headers": completed(message.get("headers", ()))}
            await send(message)

        await self._application(scope, receive, send_with_headers)


def completed(headers: Headers) -> list[tuple[bytes, bytes]]:
    """These headers and those that are missing."""
    said = {name.lower(): value for name, value in headers}
    missing = [(name, value) for name, value in on_all().items() if name not in said]
    if b"cache-control" not in said:
        missing.append(KEPT_BY_NOBODY)
    return [*headers, *missing]
