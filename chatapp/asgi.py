"""The ASGI application: pages by Django, the tab's socket by Channels."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatapp.settings")

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import CookieMiddleware
from django.core.asgi import get_asgi_application
from django.urls import path

pages = get_asgi_application()

from chatapp.consumers import ChatConsumer  # noqa: E402 - models load with the pages' application

application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": CookieMiddleware(URLRouter([path("ws/", ChatConsumer.as_asgi())])),
    }
)
