"""Has each page know the installation's name, colour and logo, by a query in ten seconds."""

from collections.abc import Callable
from contextlib import suppress

from django.db import Error
from django.http import HttpRequest, HttpResponse

from chatapp.models import Installation

PROBES = ("/healthz", "/readyz", "/metrics")  # which have no page, and answer without a database


class BrandingMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path not in PROBES:
            with suppress(Error):  # the view finds it out by itself, where it needs the database
                Installation.keep_branding_fresh()
        return self._get_response(request)
