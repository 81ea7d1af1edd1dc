"""Limit the rate of requests of a signed-in person.

Pages and WebSockets share an allowance, so that neither is a way around the other's limit.
"""

import logging
from collections.abc import Callable
from contextlib import suppress

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.db import Error
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from chatapp.sessions.idle_sessions import ignore_request
from chatapp.sessions.rate_limits import allowances
from chatapp.sessions.session_people import remember_person

logger = logging.getLogger(__name__)

RETRY_AFTER = 10  # seconds
READING, WRITING = 1, 5  # tokens that a request takes
# PATCH sends a part of a file, and a large file has a hundred of them.
CHEAP = ("GET", "HEAD", "OPTIONS", "PATCH")
SENTENCE = "Too many requests. Nothing was changed. Wait a moment, then try again."


class RateLimitMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        cost = READING if request.method in CHEAP else WRITING
        person = _person(request)
        if person is None or allowances[person].take(cost) >= 0:
            return self._get_response(request)
        logger.warning("Too many requests by person %d: refused one", person)
        return _refusal(request)


def _person(request: HttpRequest) -> int | None:
    """Return the user id in the session, if any, without marking the session as used."""
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return None
    with suppress(Error):  # if the view needs the database, it raises this too
        person = request.session.get(SESSION_KEY)
        ignore_request(request)
        if person and (session := request.session.session_key):
            remember_person(session, int(person))
        return int(person) if person else None
    return None


def _refusal(request: HttpRequest) -> HttpResponse:
    if "HX-Request" in request.headers:
        content_type = "text/plain; charset=utf-8"
        response = HttpResponse(SENTENCE, status=429, content_type=content_type)
    else:
        response = render(request, "429.html", status=429)
    response.headers["Retry-After"] = str(RETRY_AFTER)
    return response
