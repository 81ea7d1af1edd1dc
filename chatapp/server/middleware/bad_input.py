"""A page for what can't be asked for: a number that no database takes, a day of no calendar."""

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.db import DataError
from django.http import HttpRequest, HttpResponse
from django.views.defaults import bad_request


class BadInputMiddleware:
    """Answers with 400 where a value is out of the range of what it was put into.

    Forms say so of theirs; the admin's filters, which stand in its addresses, do not. They would
    take a regular expression, too, which SQLite leaves to Python, and Python to whoever wrote it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if any(name.endswith(("__regex", "__iregex")) for name in request.GET):
            return bad_request(request, BadRequest("A regular expression is no filter."))
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return bad_request(request, error) if isinstance(error, DataError | OverflowError) else None
