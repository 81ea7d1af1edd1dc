"""The app's side of the doctor's checks through the public URL.

A request needs a token in its `X-Chatapp-Probe` header that was signed with this installation's
secret key in the last five minutes. Without one these endpoints answer 404. They return what the
app saw of the doctor's own request, and nothing about anyone else's.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.core.signing import BadSignature, TimestampSigner
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from chatapp.sessions.origins import is_own_origin

TOKEN_HEADER = "X-Chatapp-Probe"  # noqa: S105 - a header's name
MAX_AGE_SECONDS = 300
PIECES = 10
PAUSE_SECONDS = 0.1
TRICKLE = "trickle"

_signer = TimestampSigner(salt="chatapp.doctor.probe")


def token() -> str:
    return _signer.sign("doctor")


def is_token(value: str) -> bool:
    try:
        _signer.unsign(value, max_age=MAX_AGE_SECONDS)
    except BadSignature:
        return False
    return True


@require_GET
@never_cache
def show_request(request: HttpRequest) -> HttpResponse:
    """Return the scheme, host and client that the app sees, and the proxies' headers about them."""
    _refuse_strangers(request)
    return JsonResponse(
        {
            "scheme": request.scheme,
            "host": request.headers.get("Host", ""),
            "client": request.META.get("REMOTE_ADDR", ""),
            "forwarded_for": request.headers.get("X-Forwarded-For", ""),
            "forwarded_proto": request.headers.get("X-Forwarded-Proto", ""),
        }
    )


@require_GET
@never_cache
async def trickle(request: HttpRequest) -> StreamingHttpResponse:
    """Stream ten lines a tenth of a second apart, each with the seconds since the start."""
    _refuse_strangers(request)
    return StreamingHttpResponse(_lines(), content_type="text/plain")


@csrf_exempt
@require_POST
@never_cache
def body(request: HttpRequest) -> HttpResponse:
    """Return the number of bytes in the request's body."""
    _refuse_strangers(request)
    size = 0
    while part := request.read(64 * 1024):
        size += len(part)
    return JsonResponse({"bytes": size})


urlpatterns = [
    path("seen", show_request),
    path("trickle", trickle),
    path("body", body),
]


class ProbeConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """A WebSocket for the doctor.

    It first sends whether a page of this origin would be served. It answers `TRICKLE` with a slow
    stream of lines, and any other text with its length.
    """

    channel_layer_alias = ""

    async def connect(self) -> None:
        headers = {name.decode("latin-1"): value for name, value in self.scope["headers"]}
        if not is_token(headers.get(TOKEN_HEADER.lower(), b"").decode("latin-1")):
            await self.close()
            return
        await self.accept()
        await self.send(json.dumps(_describe_socket(self.scope)))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if text_data == TRICKLE:
            async for line in _lines():
                await self.send(line.decode())
        else:
            await self.send(str(len(text_data or "")))


def _describe_socket(scope: Mapping[str, Any]) -> dict[str, object]:
    host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
    return {"is_own_origin": is_own_origin(scope), "host": host}


async def _lines() -> AsyncIterator[bytes]:
    started = time.monotonic()
    for number in range(PIECES):
        await asyncio.sleep(max(0.0, started + number * PAUSE_SECONDS - time.monotonic()))
        yield f"{time.monotonic() - started:.4f}\n".encode()


def _refuse_strangers(request: HttpRequest) -> None:
    if not is_token(request.headers.get(TOKEN_HEADER, "")):
        raise Http404
