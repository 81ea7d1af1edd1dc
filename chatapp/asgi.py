"""The ASGI application: pages by Django, the tab's socket by Channels."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatapp.settings")

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import CookieMiddleware
from django.core.asgi import get_asgi_application
from django.urls import path

pages = get_asgi_application()

# The models load with the pages' application.
from chatapp.consumers import ChatConsumer  # noqa: E402
from chatapp.doctor.probe import ProbeConsumer  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": CookieMiddleware(
            URLRouter(
                [
                    path("ws/", ChatConsumer.as_asgi()),
                    path("ws/probe/", ProbeConsumer.as_asgi()),
                ]
            )
        ),
    }
)
