"""Whose the staff's pages are: one gate for every room of them."""

import logging
from collections.abc import Callable
from functools import wraps

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.cache import never_cache

from chatapp.accounts.confirming import ask_to_confirm, is_confirmed
from chatapp.accounts.second_factor import lacks_second_factor
from chatapp.models import User

logger = logging.getLogger(__name__)

View = Callable[..., HttpResponseBase]


def administrators_only(view: View) -> View:
    return _gated(view, lambda user: user.administers, "This page is for administrators.")


def reviewers_only(view: View) -> View:
    return _gated(view, lambda user: user.reviews, "This page is for reviewers.")


def _gated(view: View, is_theirs: Callable[[User], bool], refusal: str) -> View:
    """Who is not signed in goes to the sign-in; whose it is not gets 403. What is posted comes from
    a page's own form, and no browser keeps what the view answers."""

    @never_cache
    @login_required
    @wraps(view)
    def view_for_staff(request: HttpRequest, *args: object, **options: object) -> HttpResponseBase:
        if not (isinstance(request.user, User) and is_theirs(request.user)):
            raise PermissionDenied(refusal)
        refuse_scripts(request)
        return to_second_factor(request) or view(request, *args, **options)

    return view_for_staff


def to_second_factor(request: HttpRequest) -> HttpResponseRedirect | None:
    """Leads there whoever of the staff must have one and has none; None for all others."""
    if not lacks_second_factor(request.user):
        return None
    messages.info(request, "Staff of this server must have a second factor. Add one to go on.")
    return HttpResponseRedirect(reverse("mfa_index"))


def confirmed_only(view: View) -> View:
    """For what is dangerous: the password was given a short while ago, or is asked for first. What
    was posted before that is dropped, and done by nobody; the way back is the page it came from."""

    @wraps(view)
    def view_once_confirmed(
        request: HttpRequest, *args: object, **options: object
    ) -> HttpResponseBase:
        if not is_confirmed(request):
            return ask_to_confirm(request.get_full_path())
        return view(request, *args, **options)

    return view_once_confirmed


def refuse_scripts(request: HttpRequest) -> None:
    """Raises `PermissionDenied` for a POST that no page's own form has sent.

    Browsers say of each request to an https or local address what made it, and no script can say
    otherwise (https://www.w3.org/TR/fetch-metadata/); htmx marks its own.
    """
    mode = request.headers.get("Sec-Fetch-Mode", "navigate")
    if request.method == "POST" and (mode != "navigate" or "HX-Request" in request.headers):
        logger.warning("A change was refused: %s was sent by a script", request.path)
        raise PermissionDenied("Changes in the administration are made by its own forms.")
