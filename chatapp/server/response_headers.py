"""The headers of every response, whether it is a page, a file, an error or the server's own.

Headers that a response sets itself are kept. A response without `Cache-Control` gets `no-store`,
since it may contain private text.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any

from csp.utils import build_policy
from django.conf import settings

# Browser features that this app doesn't use. Features not listed keep their default, which allows
# them only to pages of our own origin.
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
PLAIN = "text/plain; charset=utf-8"
NO_STORE = (b"cache-control", b"no-store")

Headers = Iterable[tuple[bytes, bytes]]


@cache
def build_common_headers() -> dict[bytes, bytes]:
    """Return the headers by name, in lower case as ASGI requires."""
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


def refusal_headers(content_type: str = PLAIN) -> list[tuple[bytes, bytes]]:
    """Return the headers of a response by the server itself."""
    content_header = (b"content-type", content_type.encode())
    return [content_header, NO_STORE, *build_common_headers().items()]


class ResponseHeaders:
    """ASGI middleware that adds the headers to each response of the application."""

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = message | {"headers": complete_headers(message.get("headers", ()))}
            await send(message)

        await self._application(scope, receive, send_with_headers)


def complete_headers(headers: Headers) -> list[tuple[bytes, bytes]]:
    """Return the headers plus those that are missing."""
    present = {name.lower(): value for name, value in headers}
    missing = [
        (name, value) for name, value in build_common_headers().items() if name not in present
    ]
    if b"cache-control" not in present:
        missing.append(NO_STORE)
    return [*headers, *missing]
