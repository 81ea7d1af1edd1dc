"""Account pages besides allauth's: the setup of the first account, the sign-in, and devices."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.account.views import LoginView
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import SESSION_KEY, login
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatapp.accounts.auditing import get_origin_detail
from chatapp.accounts.confirmation import confirm
from chatapp.accounts.forms import MemoryForm, PreferencesForm, SetupForm, SignOutForm
from chatapp.accounts.links import sends_mail
from chatapp.accounts.setup_link import is_setup_token, setup_token
from chatapp.command_line import MANAGE
from chatapp.db.locks import one_at_a_time
from chatapp.db.primary_keys import parse_pk
from chatapp.models import Installation, Memory, ReviewPolicy, User, audit
from chatapp.sessions.validity import is_deactivated

View = Callable[..., HttpResponseBase]


def after_setup(view: View) -> View:
    """Say where the setup link is until there is an account."""

    @never_cache
    @wraps(view)
    def view_after_setup(request: HttpRequest, *args: Any, **options: Any) -> HttpResponseBase:
        if setup_token() is not None:
            return render(request, "account/before_setup.html", {"manage": MANAGE})
        return view(request, *args, **options)

    return view_after_setup


class SignInView(LoginView):  # type: ignore[misc]
    """The sign-in page, which says so if the person was signed out by a deactivation."""

    def get_context_data(self, **extra: Any) -> dict[str, Any]:
        switched_off = is_deactivated(self.request.session.get(SESSION_KEY, ""))
        is_open = Installation.load().signup == Installation.SignUp.DOMAINS and sends_mail()
        context: dict[str, Any] = super().get_context_data(
            **extra,
            switched_off=switched_off,
            is_open=is_open,
            policy=ReviewPolicy.now(),
            organisation=settings.CHATAPP_OIDC_NAME if settings.CHATAPP_OIDC_URL else "",
        )
        return context


@require_GET
def not_by_organisation(request: HttpRequest) -> HttpResponse:
    """Say that the organisation's sign-in was cancelled or failed."""
    return render(request, "socialaccount/authentication_error.html", status=403)


@require_GET
def signed_out(request: HttpRequest) -> HttpResponse:
    """The page that a tab shows after another tab of the browser has signed out."""
    return render(request, "account/signed_out.html")


@require_http_methods(["GET", "POST"])
@never_cache
def setup(request: HttpRequest, token: str) -> HttpResponse:
    """Create the first account, an administrator, from the setup link."""
    if setup_token() is None:
        return redirect("chat")
    if not is_setup_token(token):
        raise Http404("This is not the setup link that the server printed.")
    form = SetupForm(request.POST or None)
    if form.is_valid():
        user = form.save(commit=False)  # hashes the password, which is slow
        with transaction.atomic(), one_at_a_time("setup"):
            is_first = is_setup_token(token)
            if is_first:
                user.save()
                after = {"is_staff": True, "is_superuser": True, "reviews": True}
                detail = {"after": after, **get_origin_detail(request)}
                audit.record("person.added", actor=user, about=user, detail=detail)
        if is_first:
            login(request, user)
            confirm(request)
        return redirect("chat")
    response = render(request, "account/setup.html", {"form": form})
    # Keep the token out of the Referer of style sheets, and so out of a proxy's log.
    response["Referrer-Policy"] = "strict-origin"
    return response


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def devices(request: HttpRequest) -> HttpResponse:
    """List the browsers where one is signed in, and sign out one of them or all others."""
    assert isinstance(request.user, User)
    own = request.user.devices
    others = own.exclude(session_key=request.session.session_key)
    form = SignOutForm(request.user, request.POST if request.method == "POST" else None)
    if form.is_valid():
        device = parse_pk(request.POST.get("device", ""))
        with transaction.atomic():
            (others.filter(pk=device) if device else others).sign_out()
            which = "one device" if device else "all others"
            audit.record(
                "sessions.ended", actor=request.user, about=request.user, detail={"which": which}
            )
        if not device:
            form.revoke_tokens(request.user)
        messages.success(request, "Signed out.")
        return redirect("devices")
    context = {
        "devices": own.living(),
        "this_device": request.session.session_key,
        "form": form,
    }
    return render(request, "account/devices.html", context)


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def preferences(request: HttpRequest) -> HttpResponse:
    """Show a person's preferences, and store those that belong to the account."""
    assert isinstance(request.user, User)
    form = PreferencesForm(
        request.POST if request.method == "POST" else None, instance=request.user
    )
    if form.is_valid():
        request.user.save(update_fields=form.changed_data)
        return _confirm_saved(request)
    return _render_preferences(request, form, MemoryForm(instance=_load_memory(request.user)))


@require_POST
@login_required
def memory(request: HttpRequest) -> HttpResponse:
    """Store what a person wants models to know about them."""
    assert isinstance(request.user, User)
    form = MemoryForm(request.POST, instance=_load_memory(request.user))
    if form.is_valid():
        form.save()
        return _confirm_saved(request)
    return _render_preferences(request, PreferencesForm(instance=request.user), form)


def _load_memory(person: User) -> Memory:
    return Memory.objects.filter(user=person).first() or Memory(user=person)


def _confirm_saved(request: HttpRequest) -> HttpResponse:
    messages.success(request, "Saved. This applies to your next prompts.")
    return redirect("preferences")


def _render_preferences(
    request: HttpRequest, form: PreferencesForm, memory: MemoryForm
) -> HttpResponse:
    assert isinstance(request.user, User)
    installation = Installation.load()
    context = {
        "form": form,
        "memory": memory,
        "closing": installation.closing,
        "has_api": installation.lets_use_api(request.user) or request.user.access_tokens.exists(),
    }
    return render(request, "account/preferences.html", context)
