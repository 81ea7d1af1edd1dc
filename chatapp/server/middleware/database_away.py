"""Pages while the database is away: a calm 503 that tries again by itself, not a traceback each."""

import logging
from collections.abc import Callable

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

logger = logging.getLogger(__name__)

RETRY_AFTER = 10  # seconds; the page asks as often whether it is back


class DatabaseAwayMiddleware:
    """Answers where a view could not reach the database; other errors of its are ours."""

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
