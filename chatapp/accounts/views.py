"""Pages beside allauth's: the setup of the first account, the sign-in, and whom to ask for a
password."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.account.views import LoginView
from django.contrib.auth import SESSION_KEY, login
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from chatapp.access.sessions import is_switched_off
from chatapp.accounts.confirming import confirm
from chatapp.accounts.forms import SetupForm
from chatapp.accounts.setup_link import is_setup_token, setup_token
from chatapp.models.locks import one_at_a_time

View = Callable[..., HttpResponseBase]


def after_setup(view: View) -> View:
    """Tells before the setup where its link is: there is nobody yet who could be asked."""

    @never_cache
    @wraps(view)
    def view_after_setup(request: HttpRequest, *args: Any, **options: Any) -> HttpResponseBase:
        if setup_token() is not None:
            return render(request, "account/before_setup.html")
        return view(request, *args, **options)

    return view_after_setup


class SignInView(LoginView):  # type: ignore[misc]
    """Tells who was sent here since their account was switched off that this is why."""

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        switched_off = is_switched_off(self.request.session.get(SESSION_KEY, ""))
        found: dict[str, Any] = super().get_context_data(**context, switched_off=switched_off)
        return found


@require_GET
def forgotten_password(request: HttpRequest) -> HttpResponse:
    """Whom to ask: without mail there is nothing that this could send, and it asks nothing."""
    return render(request, "account/password_reset.html")


@require_GET
def signed_out(request: HttpRequest) -> HttpResponse:
    """Where a tab goes when another one of its browser signs out."""
    return render(request, "account/signed_out.html")


@require_http_methods(["GET", "POST"])
@never_cache
def setup(request: HttpRequest, token: str) -> HttpResponse:
    """The one-time link that the terminal prints: makes the first account, an administrator."""
    if setup_token() is None:
        return redirect("chat")
    if not is_setup_token(token):
        raise Http404("This is not the setup link that the server printed.")
    form = SetupForm(request.POST or None)
    if form.is_valid():
        with transaction.atomic(), one_at_a_time("setup"):
            is_first = is_setup_token(token)
            user = form.save() if is_first else None
        if user:
            login(request, user)
            confirm(request)
        return redirect("chat")
    response = render(request, "account/setup.html", {"form": form})
    # Or the proxy's log would have the address as what refers to each style sheet.
    response["Referrer-Policy"] = "strict-origin"
    return response
