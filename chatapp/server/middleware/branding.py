"""Keep the installation's name, colour and logo fresh for each page: one query per ten seconds."""

from collections.abc import Callable
from contextlib import suppress

from django.db import Error
from django.http import HttpRequest, HttpResponse

from chatapp.models import Installation


class BrandingMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with suppress(Error):  # if the view needs the database, it raises this too
            Installation.keep_branding_fresh()
        return self._get_response(request)
