"""Access checks for a shared link, for all of its pages and files.

What is not open gets one answer, whether it is unknown, expired, revoked or for others. Nothing
under a link is cached, indexed or named to other sites.
"""

import logging
from collections.abc import Callable
from functools import wraps

from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.defaults import page_not_found

from chatapp.concurrency.token_bucket import TokenBucket, TokenBuckets
from chatapp.models import ChatNotFound, SharedChat, User
from chatapp.sessions.networks import network_number

logger = logging.getLogger(__name__)

MISSES_A_SECOND, MISSES_AT_ONCE = 0.5, 30
SAFE_METHODS = ("GET", "HEAD")
RETRY_AFTER = 60  # seconds
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}

# By network: of people who aren't signed in and try links that aren't open.
misses = TokenBuckets(lambda: TokenBucket(MISSES_A_SECOND, MISSES_AT_ONCE))

View = Callable[..., HttpResponseBase]


def for_readers(view: View) -> View:
    """Pass the shared link to the view if it is open to the person, signed in or not."""

    @wraps(view)
    def open_link(request: HttpRequest, token: str, **arguments: object) -> HttpResponseBase:
        is_safe = request.method in SAFE_METHODS
        response = (
            _response(view, request, token, arguments)
            if is_safe
            else HttpResponseNotAllowed(SAFE_METHODS)
        )
        for name, value in HEADERS.items():
            response.headers[name] = value
        return response

    return open_link


def get_reader(request: HttpRequest) -> User | None:
    return request.user if isinstance(request.user, User) else None


def _response(
    view: View, request: HttpRequest, token: str, arguments: dict[str, object]
) -> HttpResponseBase:
    reader = get_reader(request)
    if link := SharedChat.find(token, reader):
        try:
            return view(request, link, **arguments)
        except (Http404, ChatNotFound):
            return page_not_found(request, Http404())
    if reader:
        return page_not_found(request, Http404())
    if misses[network_number(request.META.get("REMOTE_ADDR", ""))].take() < 0:
        logger.warning("Too many shared links that are not open were tried from one address")
        response = render(request, "429.html", status=429)
        response.headers["Retry-After"] = str(RETRY_AFTER)
        return response
    if arguments or "HX-Request" in request.headers:
        return page_not_found(request, Http404())
    return redirect_to_login(request.path)
