"""Audit events for signing in and out, failed sign-ins and confirmations, and second factors."""

from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db import transaction
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.views.generic import FormView

from chatapp.accounts.adapter import AccountAdapter
from chatapp.accounts.staff import View
from chatapp.models import User, audit


def get_origin_detail(request: HttpRequest | None) -> dict[str, str]:
    """Return the request's client address, for an audit event's detail."""
    if request is None or "REMOTE_ADDR" not in request.META:
        return {}
    return {"ip": AccountAdapter().get_client_ip(request)}


@receiver(user_logged_in)
def _record_sign_in(request: HttpRequest, user: User, **_: Any) -> None:
    """Save the session in the event's transaction, not after the response."""
    with transaction.atomic():
        request.session.save()
        audit.record("person.signed_in", actor=user, about=user, detail=get_origin_detail(request))


@receiver(user_logged_out)
def _record_sign_out(request: HttpRequest, user: User | None, **_: Any) -> None:
    if user and user.pk:  # an account that was just erased has no pk and must not be named again
        with transaction.atomic():
            audit.record(
                "person.signed_out", actor=user, about=user, detail=get_origin_detail(request)
            )


@receiver(user_login_failed)
def _record_failed_sign_in(
    credentials: dict[str, Any], request: HttpRequest | None, **_: Any
) -> None:
    """Record the account that was tried, never what was typed.

    It may be a password typed into the wrong field, or a name of no account, which no erasure could
    remove from the log.
    """
    user = getattr(request, "user", None)
    if isinstance(user, User):
        with transaction.atomic():
            detail = get_origin_detail(request)
            audit.record("person.confirmation_failed", actor=user, about=user, detail=detail)
        return
    typed = str(credentials.get("username") or credentials.get("email") or "")
    with transaction.atomic():
        about = User.find_by_login(typed)
        audit.record(
            "person.sign_in_failed", actor=None, about=about, detail=get_origin_detail(request)
        )


def records_factors(view_class: "type[FormView[Any]]") -> View:
    """Return a view that records which second factors its form adds or removes, as it does so."""

    class Recording(view_class):  # type: ignore[misc, valid-type]
        def form_valid(self, form: Any) -> HttpResponse:
            person = self.request.user
            assert isinstance(person, User)
            own = Authenticator.objects.filter(user=person)
            with transaction.atomic():
                before = dict(own.values_list("pk", "type"))
                response: HttpResponse = super().form_valid(form)
                _record_factors(person, before, dict(own.values_list("pk", "type")))
            return response

    view: View = Recording.as_view()
    return view


def _record_factors(person: User, before: dict[int, str], after: dict[int, str]) -> None:
    for action, keys in (
        ("factor.added", after.keys() - before.keys()),
        ("factor.removed", before.keys() - after.keys()),
    ):
        for pk in sorted(keys):
            detail = {"kind": str(Authenticator.Type((after | before)[pk]).label)}
            audit.record(action, actor=person, about=person, detail=detail)
