"""Answer numbers that no database can store with a 400 page."""

from collections.abc import Callable

from django.db import DataError
from django.http import HttpRequest, HttpResponse
from django.views.defaults import bad_request


class BadInputMiddleware:
    """Answer with 400 if a value is out of range for the database or for Python.

    Forms validate their values; the numbers in paths have any length.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return bad_request(request, error) if isinstance(error, DataError | OverflowError) else None
