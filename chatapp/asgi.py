"""The ASGI application: Django serves pages, Channels the tabs' sockets.

Middleware around both applies proxy headers, adds response headers and logs requests.
"""

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatapp.settings")

import django
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import CookieMiddleware
from django.conf import settings
from django.urls import path, re_path
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

django.setup(set_prefix=False)

# These import the models.
from chatapp.chat.consumer import ChatConsumer  # noqa: E402
from chatapp.doctor.probe import ProbeConsumer  # noqa: E402
from chatapp.logs import RequestLog  # noqa: E402
from chatapp.server.pages import Pages  # noqa: E402
from chatapp.server.response_headers import ResponseHeaders  # noqa: E402
from chatapp.sharing.consumer import ReaderConsumer  # noqa: E402


async def refuse(scope: Any, receive: Any, send: Any) -> None:
    """Reject a socket at an unknown path."""
    await receive()
    await send({"type": "websocket.close"})


routes = ProtocolTypeRouter(
    {
        "http": Pages(),
        "websocket": CookieMiddleware(
            URLRouter(
                [
                    path("ws/", ChatConsumer.as_asgi()),
                    path("ws/s/<str:token>/", ReaderConsumer.as_asgi()),
                    path("ws/probe/", ProbeConsumer.as_asgi()),
                    re_path("", refuse),  # type: ignore[arg-type]  # last: it matches anything
                ]
            )
        ),
    }
)
behind_proxies = ProxyHeadersMiddleware(ResponseHeaders(routes), settings.CHATAPP_TRUSTED_PROXIES)
application = RequestLog(behind_proxies, behind_proxies.trusted_hosts.__contains__)
