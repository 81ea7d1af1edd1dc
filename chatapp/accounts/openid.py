"""The way to the organisation's OpenID Connect provider and back: to sign in, or to confirm that it
is still the same person.

Both send a nonce along and believe no ID token without it. A confirmation begins with a POST. It
counts if the token says that the person signed in there after it began, and by an identity of the
account that is signed in here; it signs nobody in or out.
"""

import logging
import secrets
import time
from typing import Any

from allauth.account.signals import user_logged_in
from allauth.account.utils import get_next_redirect_url
from allauth.account.views import BaseReauthenticateView
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.helpers import complete_social_login
from allauth.socialaccount.models import SocialApp, SocialLogin
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.dispatch import receiver
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.crypto import constant_time_compare
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.accounts.auditing import origin_of
from chatapp.accounts.confirming import ORGANISATION, ask_to_confirm, confirm
from chatapp.accounts.identities import (
    PROVIDER,
    configured_issuer,
    documents_of,
    identities_of,
    uid_of,
)
from chatapp.accounts.views import not_by_organisation
from chatapp.models import User, audit

logger = logging.getLogger(__name__)

SIGN_IN, CONFIRM = "login", "confirm"
CLOCK_SKEW_SECONDS = 60

AWAY = "{name} could not be reached, so nothing was confirmed. Try again in a moment."
AMISS = (
    "{name} did not confirm that it is you. Try again; if it stays so, ask an administrator, who "
    "finds the reason in the server's log."
)
CANCELLED = "You did not sign in at {name}, so nothing was confirmed. Try again."
SOMEBODY_ELSE = (
    "You signed in at {name} as somebody else than here, so nothing was confirmed. Try again, and "
    "sign in there as yourself."
)
NO_TIME = (
    "{name} did not say when you signed in there, so nothing was confirmed. Confirm in another "
    "way, or ask an administrator: the provider must put auth_time into its ID tokens."
)
NOT_ASKED = (
    "{name} did not ask you to sign in again, so nothing was confirmed. Sign out there, then try "
    "again."
)


class Refused(Exception):
    """Says why an answer does not count, and what to do."""


@never_cache
@require_GET
def sign_in(request: HttpRequest, provider_id: str) -> HttpResponse:
    provider = _provider(request, provider_id)
    try:
        return _to_provider(request, provider, SIGN_IN, get_next_redirect_url(request))
    except Exception:  # whatever is wrong with the discovery document
        logger.exception("The organisation's sign-in can't be reached")
        return redirect("socialaccount_login_error")


@method_decorator([never_cache, login_required], name="dispatch")
class ConfirmView(BaseReauthenticateView):  # type: ignore[misc]
    form_class = Form
    template_name = "socialaccount/confirm.html"
    extra_context = {"organisation": settings.CHATAPP_OIDC_NAME}

    def form_valid(self, form: Form) -> HttpResponse:
        """Answer with a page that goes on to the provider.

        `form-action 'self'` holds for the redirects after a form, too: Chromium would follow none
        to another origin.
        """
        back = self.get_success_url()
        try:
            provider = _provider(self.request, PROVIDER)
            answer = _to_provider(
                self.request, provider, CONFIRM, back, prompt="login", max_age="0"
            )
            there = answer.headers["Location"]
        except Exception:  # as above
            logger.exception("The organisation's sign-in can't be reached")
            messages.error(self.request, _sentence(AWAY))
            return ask_to_confirm(back)
        context = {"organisation": settings.CHATAPP_OIDC_NAME, "there": there}
        return render(self.request, "socialaccount/continue.html", context)


@never_cache
@require_GET
def come_back(request: HttpRequest, provider_id: str) -> HttpResponse:
    provider = _provider(request, provider_id)
    try:
        state = provider.unstash_redirect_state(request, request.GET.get("state", ""))
    except PermissionDenied:
        logger.warning("The organisation's sign-in answered what this browser did not ask for")
        return not_by_organisation(request)
    if state["process"] == CONFIRM:
        return _confirm(request, provider, state)
    try:
        login = _login(request, provider, state)
        state["is_fresh"] = _time_problem(login) is None
        answer: HttpResponse = complete_social_login(request, login)
    except Refused:
        return redirect("socialaccount_login_cancelled")
    except Exception:  # whatever its words break, wherever they are read
        logger.exception("The organisation's sign-in failed")
        return redirect("socialaccount_login_error")
    return answer


@receiver(user_logged_in)
def _confirm_by_fresh_sign_in(
    request: HttpRequest, sociallogin: SocialLogin | None = None, **_: Any
) -> None:
    """Count a sign-in there as one by a password, unless the provider's session answered."""
    if sociallogin and sociallogin.state.get("is_fresh"):
        confirm(request, ORGANISATION)


def _provider(request: HttpRequest, provider_id: str) -> OpenIDConnectProvider:
    try:
        return get_adapter().get_provider(request, provider_id)
    except SocialApp.DoesNotExist:
        raise Http404("No such sign-in is set up.") from None


def _to_provider(
    request: HttpRequest,
    provider: OpenIDConnectProvider,
    process: str,
    back: str | None,
    **parameters: str,
) -> HttpResponseRedirect:
    nonce = secrets.token_urlsafe()
    data = {"nonce": nonce, "began": int(time.time()), "user": request.user.pk}
    parameters = provider.get_auth_params() | parameters | {"nonce": nonce}
    answer: HttpResponseRedirect = provider.redirect(
        request, process, next_url=back, data=data, auth_params=parameters
    )
    return answer


def _confirm(
    request: HttpRequest, provider: OpenIDConnectProvider, state: dict[str, Any]
) -> HttpResponseRedirect:
    try:
        _check_confirmation(request, provider, state)
    except Refused as refused:
        return _refuse(request, state, str(refused))
    except Exception:  # as in a sign-in
        logger.exception("The organisation's sign-in failed")
        return _refuse(request, state, AMISS)
    confirm(request, ORGANISATION)
    return HttpResponseRedirect(state["next"])


def _check_confirmation(
    request: HttpRequest, provider: OpenIDConnectProvider, state: dict[str, Any]
) -> None:
    """Raise `Refused`, or whatever error the provider's answer leads to."""
    login = _login(request, provider, state)
    if request.user.pk != state["data"]["user"] or not (
        identities_of(request.user).filter(uid=login.account.uid).exists()
    ):
        raise Refused(SOMEBODY_ELSE)
    if problem := _time_problem(login):
        raise Refused(problem)


def _refuse(request: HttpRequest, state: dict[str, Any], problem: str) -> HttpResponseRedirect:
    sentence = _sentence(problem)
    logger.warning("A confirmation by the organisation's sign-in was refused: %s", sentence)
    if isinstance(request.user, User):
        detail = {"by": PROVIDER, **origin_of(request)}
        with transaction.atomic():
            audit.record(
                "person.confirmation_failed", actor=request.user, about=request.user, detail=detail
            )
    messages.error(request, sentence)
    return ask_to_confirm(state["next"])


def _sentence(problem: str) -> str:
    name = settings.CHATAPP_OIDC_NAME
    return problem.format(name=name[:1].upper() + name[1:] if problem.startswith("{") else name)


def _login(
    request: HttpRequest, provider: OpenIDConnectProvider, state: dict[str, Any]
) -> SocialLogin:
    """Exchange the code for the tokens and check these. Nothing is looked for or stored yet.

    allauth checks audience, issuer and expiry, and PKCE ties the code to this browser; the nonce
    ties the token to this attempt. Raises `Refused` if the person turned back there.
    """
    if request.GET.get("error") == "access_denied":
        raise Refused(CANCELLED)
    adapter = OpenIDConnectOAuth2Adapter(request, PROVIDER)
    client = adapter.get_client(request, provider.app)
    tokens = adapter.get_access_token_data(
        request, provider.app, client, pkce_code_verifier=state["pkce_code_verifier"]
    )
    access = adapter.parse_token(tokens)
    login: SocialLogin = adapter.complete_login(request, provider.app, access, response=tokens)
    login.state = state
    login.account.uid = _checked_uid(login, configured_issuer(adapter), state["data"]["nonce"])
    return login


def _checked_uid(login: SocialLogin, issuer: str, nonce: str) -> str:
    token = login.account.extra_data["id_token"]
    if token["iss"] != issuer:  # which allauth compares only if the discovery names one
        raise ValueError("The ID token is of another issuer.")
    if not constant_time_compare(token.get("nonce", ""), nonce):
        raise ValueError("The ID token has another nonce.")
    # Userinfo may be of somebody else (OpenID Connect Core, 5.3.2).
    subject = str(token["sub"])
    if any(str(one.get("sub")) != subject for one in documents_of(login.account)):
        raise ValueError("The ID token and the userinfo tell of different people.")
    return uid_of(issuer, subject)


def _time_problem(login: SocialLogin) -> str | None:
    """Say why this was no fresh sign-in there."""
    at = login.account.extra_data["id_token"].get("auth_time")
    if type(at) is not int:  # True is an int as well
        return NO_TIME
    earliest = login.state["data"]["began"] - CLOCK_SKEW_SECONDS
    return None if earliest <= at <= time.time() + CLOCK_SKEW_SECONDS else NOT_ASKED
