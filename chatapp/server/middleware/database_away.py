"""Answer pages with a 503 that reloads itself while the database is down, without tracebacks."""

import logging
from collections.abc import Callable

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

logger = logging.getLogger(__name__)

RETRY_AFTER = 10  # seconds; the page retries at the same interval


class DatabaseAwayMiddleware:
    """Answer if a view could not reach the database. Other database errors are bugs."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, OperationalError | InterfaceError):
            return None
        logger.error("The database can't be reached: %s", error)
        page = render_to_string("503.html", {"retry_after": RETRY_AFTER})
        return HttpResponse(page, status=503, headers={"Retry-After": str(RETRY_AFTER)})
