"""The redirects to the organisation's OpenID Connect provider and back, to sign in or to confirm
identity.

Both send a nonce and reject an ID token without it. A confirmation starts with a POST. It succeeds
if the token says that the person signed in there after it started, with an identity of the account
that is signed in here. It never signs anyone in or out.
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

from chatapp.accounts.auditing import get_origin_detail
from chatapp.accounts.confirmation import ORGANISATION, ask_to_confirm, confirm
from chatapp.accounts.identities import (
    PROVIDER,
    build_uid,
    configured_issuer,
    get_claim_documents,
    get_identities,
)
from chatapp.accounts.views import not_by_organisation
from chatapp.models import User, audit

logger = logging.getLogger(__name__)

SIGN_IN, CONFIRM = "login", "confirm"
CLOCK_SKEW_SECONDS = 60

UNREACHABLE = "{name} could not be reached, so nothing was confirmed. Try again in a moment."
FAILED = (
    "{name} did not confirm that it is you. Try again. If it keeps failing, ask an administrator: "
    "the reason is in the server's log."
)
CANCELLED = "You did not sign in at {name}, so nothing was confirmed. Try again."
SOMEBODY_ELSE = (
    "You signed in at {name} as a different person than here, so nothing was confirmed. Try again, "
    "and sign in there as yourself."
)
NO_TIME = (
    "{name} did not say when you signed in there, so nothing was confirmed. Confirm in another "
    "way, or ask an administrator: the provider must include auth_time in its ID tokens."
)
NOT_ASKED = (
    "{name} did not ask you to sign in again, so nothing was confirmed. Sign out there, then try "
    "again."
)


class Refused(Exception):
    """Raised if the provider's response is refused; says why, and what to do."""


@never_cache
@require_GET
def sign_in(request: HttpRequest, provider_id: str) -> HttpResponse:
    provider = _provider(request, provider_id)
    try:
        return _redirect_to_provider(request, provider, SIGN_IN, get_next_redirect_url(request))
    except Exception:  # an invalid discovery document can raise anything
        logger.exception("The organisation's sign-in can't be reached")
        return redirect("socialaccount_login_error")


@method_decorator([never_cache, login_required], name="dispatch")
class ConfirmView(BaseReauthenticateView):  # type: ignore[misc]
    form_class = Form
    template_name = "socialaccount/confirm.html"
    extra_context = {"organisation": settings.CHATAPP_OIDC_NAME}

    def form_valid(self, form: Form) -> HttpResponse:
        """Return a page that redirects to the provider.

        `form-action 'self'` also applies to redirects after a form is submitted: Chromium follows
        none to another origin.
        """
        back = self.get_success_url()
        try:
            provider = _provider(self.request, PROVIDER)
            response = _redirect_to_provider(
                self.request, provider, CONFIRM, back, prompt="login", max_age="0"
            )
            there = response.headers["Location"]
        except Exception:  # as in `sign_in`
            logger.exception("The organisation's sign-in can't be reached")
            messages.error(self.request, _sentence(UNREACHABLE))
            return ask_to_confirm(back)
        context = {"organisation": settings.CHATAPP_OIDC_NAME, "there": there}
        return render(self.request, "socialaccount/continue.html", context)


@never_cache
@require_GET
def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    provider = _provider(request, provider_id)
    try:
        state = provider.unstash_redirect_state(request, request.GET.get("state", ""))
    except PermissionDenied:
        logger.warning(
            "The organisation's sign-in returned a state that this browser did not start"
        )
        return not_by_organisation(request)
    if state["process"] == CONFIRM:
        return _confirm(request, provider, state)
    try:
        login = _login(request, provider, state)
        state["is_fresh"] = _time_problem(login) is None
        response: HttpResponse = complete_social_login(request, login)
    except Refused:
        return redirect("socialaccount_login_cancelled")
    except Exception:  # the provider's response can break allauth anywhere
        logger.exception("The organisation's sign-in failed")
        return redirect("socialaccount_login_error")
    return response


@receiver(user_logged_in)
def _confirm_by_fresh_sign_in(
    request: HttpRequest, sociallogin: SocialLogin | None = None, **_: Any
) -> None:
    """Count a sign-in there as a confirmation, unless it silently reused the provider's session."""
    if sociallogin and sociallogin.state.get("is_fresh"):
        confirm(request, ORGANISATION)


def _provider(request: HttpRequest, provider_id: str) -> OpenIDConnectProvider:
    try:
        return get_adapter().get_provider(request, provider_id)
    except SocialApp.DoesNotExist:
        raise Http404("No such sign-in is set up.") from None


def _redirect_to_provider(
    request: HttpRequest,
    provider: OpenIDConnectProvider,
    process: str,
    back: str | None,
    **parameters: str,
) -> HttpResponseRedirect:
    nonce = secrets.token_urlsafe()
    data = {"nonce": nonce, "began": int(time.time()), "user": request.user.pk}
    parameters = provider.get_auth_params() | parameters | {"nonce": nonce}
    response: HttpResponseRedirect = provider.redirect(
        request, process, next_url=back, data=data, auth_params=parameters
    )
    return response


def _confirm(
    request: HttpRequest, provider: OpenIDConnectProvider, state: dict[str, Any]
) -> HttpResponseRedirect:
    try:
        _check_confirmation(request, provider, state)
    except Refused as refused:
        return _refuse(request, state, str(refused))
    except Exception:  # as in `callback`
        logger.exception("The organisation's sign-in failed")
        return _refuse(request, state, FAILED)
    confirm(request, ORGANISATION)
    return HttpResponseRedirect(state["next"])


def _check_confirmation(
    request: HttpRequest, provider: OpenIDConnectProvider, state: dict[str, Any]
) -> None:
    """Raise `Refused`, or any error that the provider's response causes."""
    login = _login(request, provider, state)
    if request.user.pk != state["data"]["user"] or not (
        get_identities(request.user).filter(uid=login.account.uid).exists()
    ):
        raise Refused(SOMEBODY_ELSE)
    if problem := _time_problem(login):
        raise Refused(problem)


def _refuse(request: HttpRequest, state: dict[str, Any], problem: str) -> HttpResponseRedirect:
    sentence = _sentence(problem)
    logger.warning("A confirmation with the organisation's sign-in was refused: %s", sentence)
    if isinstance(request.user, User):
        detail = {"by": PROVIDER, **get_origin_detail(request)}
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
    """Exchange the code for tokens and check them. No account is looked up or stored yet.

    allauth checks audience, issuer and expiry; PKCE ties the code to this browser; the nonce ties
    the token to this attempt. Raises `Refused` if the person cancelled at the provider.
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
    login.account.uid = _check_uid(login, configured_issuer(adapter), state["data"]["nonce"])
    return login


def _check_uid(login: SocialLogin, issuer: str, nonce: str) -> str:
    token = login.account.extra_data["id_token"]
    if token["iss"] != issuer:  # allauth compares it only if the discovery has one
        raise ValueError("The ID token is from another issuer.")
    if not constant_time_compare(token.get("nonce", ""), nonce):
        raise ValueError("The ID token has another nonce.")
    # Userinfo may describe somebody else (OpenID Connect Core, 5.3.2).
    subject = str(token["sub"])
    if any(str(document.get("sub")) != subject for document in get_claim_documents(login.account)):
        raise ValueError("The ID token and the userinfo have different subjects.")
    return build_uid(issuer, subject)


def _time_problem(login: SocialLogin) -> str | None:
    """Return why this was not a fresh sign-in at the provider, or None if it was."""
    at = login.account.extra_data["id_token"].get("auth_time")
    if type(at) is not int:  # bool is a subclass of int
        return NO_TIME
    earliest = login.state["data"]["began"] - CLOCK_SKEW_SECONDS
    return None if earliest <= at <= time.time() + CLOCK_SKEW_SECONDS else NOT_ASKED
