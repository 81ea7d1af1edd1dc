"""Access control for staff pages: roles, second factors, confirmation, and no scripts."""

import logging
from collections.abc import Callable
from functools import wraps

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.cache import never_cache

from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.accounts.second_factor import lacks_second_factor
from chatapp.models import User

logger = logging.getLogger(__name__)

View = Callable[..., HttpResponseBase]


def administrators_only(view: View) -> View:
    return _guard_view(view, lambda user: user.administers, "This page is for administrators.")


def reviewers_only(view: View) -> View:
    return _guard_view(view, lambda user: user.reviews, "This page is for reviewers.")


def _guard_view(view: View, has_role: Callable[[User], bool], refusal: str) -> View:
    """Redirect to the sign-in, answer 403 without the role, and refuse a POST from a script.

    The response is never cached.
    """

    @never_cache
    @login_required
    @wraps(view)
    def view_for_staff(request: HttpRequest, *args: object, **options: object) -> HttpResponseBase:
        if not (isinstance(request.user, User) and has_role(request.user)):
            raise PermissionDenied(refusal)
        refuse_scripts(request)
        return redirect_to_second_factor(request) or view(request, *args, **options)

    return view_for_staff


def redirect_to_second_factor(request: HttpRequest) -> HttpResponseRedirect | None:
    """Redirect staff who must have a second factor and have none; None for everyone else."""
    if not lacks_second_factor(request.user):
        return None
    messages.info(request, "Staff of this server must have a second factor. Add one to continue.")
    return HttpResponseRedirect(reverse("mfa_index"))


def confirmed_only(view: View) -> View:
    """Ask the person to confirm their identity before a sensitive view, unless they did recently.

    A POST before that is dropped; confirming leads back to the page.
    """

    @wraps(view)
    def view_once_confirmed(
        request: HttpRequest, *args: object, **options: object
    ) -> HttpResponseBase:
        if not is_confirmed(request):
            return ask_to_confirm(request.get_full_path())
        return view(request, *args, **options)

    return view_once_confirmed


def refuse_scripts(request: HttpRequest) -> None:
    """Raise `PermissionDenied` for a POST that was not sent by a page's own form.

    To https and local addresses, browsers send Sec-Fetch-Mode, which no script can change
    (https://www.w3.org/TR/fetch-metadata/); htmx marks its requests.
    """
    mode = request.headers.get("Sec-Fetch-Mode", "navigate")
    if request.method == "POST" and (mode != "navigate" or "HX-Request" in request.headers):
        logger.warning("Refused a POST to %s that was sent by a script", request.path)
        raise PermissionDenied("Changes in the administration can only be made with its own forms.")
