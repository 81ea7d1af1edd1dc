"""Pages for people who can't sign in: invitations, sign-up, forgotten passwords, and the links that
they are sent by email."""

from typing import Any

from allauth.core import ratelimit
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from chatapp.accounts import links
from chatapp.accounts.confirmation import confirm
from chatapp.accounts.forms import AcceptForm, AddressForm, NewPasswordForm, SignUpForm
from chatapp.models import Installation, Invitation, Refused, User, audit
from chatapp.models.platform.invitations import SELF_SERVICE

BACKEND = settings.AUTHENTICATION_BACKENDS[0]


def _without_referrer(response: HttpResponse) -> HttpResponse:
    """Keep the link's token out of the Referer of style sheets, and so out of a proxy's log."""
    response["Referrer-Policy"] = "strict-origin"
    return response


@require_http_methods(["GET", "POST"])
@never_cache
def accept(request: HttpRequest, token: str) -> HttpResponse:
    """Show an invitation and create the invited person's account."""
    if request.user.is_authenticated:
        return _without_referrer(render(request, "account/invited_already.html"))
    try:
        invitation = Invitation.get_by_token(token)
        form = AcceptForm(request.POST or None, address=invitation.address)
        if form.is_valid() and (response := _create_account(request, invitation, form)):
            return response
    except Refused as refused:
        page = render(request, "account/invitation_refused.html", {"why": str(refused)})
        page.status_code = 410
        return _without_referrer(page)
    context = {"form": form, "invitation": invitation}
    return _without_referrer(render(request, "account/accept.html", context))


def _create_account(
    request: HttpRequest, invitation: Invitation, form: AcceptForm
) -> HttpResponse | None:
    """Create the account and sign in; None if the name was taken meanwhile. Raises `Refused`."""
    person: User = form.save(commit=False)
    typed = "" if invitation.address else person.email
    if typed and links.sends_mail():
        person.email = ""  # until the person confirms it
    try:
        with transaction.atomic():
            invitation.accept(person)
    except IntegrityError:
        form.add_error("username", "This username is taken. Choose a different one.")
        return None
    if typed and links.sends_mail() and links.send_confirmation(request, person, typed):
        messages.info(request, f"To sign in with {typed}, open the link that was sent there.")
    login(request, person, BACKEND)
    confirm(request)
    return redirect("chat")


@require_http_methods(["GET", "POST"])
@never_cache
def sign_up(request: HttpRequest) -> HttpResponse:
    """Send an invitation to an address whose domain may sign up."""
    if request.user.is_authenticated:
        return redirect("chat")
    installation = Installation.load()
    if installation.signup != Installation.SignUp.DOMAINS or not links.sends_mail():
        return render(request, "account/signup_closed.html")
    form = SignUpForm(request.POST or None)
    if form.is_valid():
        address = form.cleaned_data["email"]
        if not ratelimit.consume(request, action="signup", key=address.casefold()):
            return render(request, "429.html", {"retry_after": 3600}, status=429)
        if not installation.takes_address(address):
            form.add_error("email", "Addresses of this domain can't sign up here.")
        else:
            _invite(request, address)
            return render(request, "account/link_sent.html", {"address": address})
    return render(request, "account/signup.html", {"form": form})


def _invite(request: HttpRequest, address: str) -> None:
    """Send an invitation, a password link if there is an account, or nothing if it is deactivated.

    The page is the same each time, so that it does not reveal who has an account.
    """
    if existing_user := User.objects.filter(email__iexact=address).first():
        if existing_user.is_active:
            _send_password_link(request, existing_user)
        return
    invitation = Invitation(address=address, expires_at=timezone.now() + SELF_SERVICE)
    token = invitation.make_token()
    with transaction.atomic():
        invitation.save()
        detail = {"by": "themselves"}
        audit.record("person.invited", actor=None, about=invitation, detail=detail)
    link = links.absolute(request, reverse("accept-invitation", args=[token]))
    links.send("invitation", address, "Your account", link=link, invitation=invitation)


@require_GET
def whom_to_ask(request: HttpRequest) -> HttpResponse:
    """Say whom to ask for a new password on a server that sends no email."""
    return render(request, "account/password_reset.html", {"form": None})


@require_http_methods(["GET", "POST"])
@never_cache
def forgotten_password(request: HttpRequest) -> HttpResponse:
    """Send a link to set a new password, if the server sends email."""
    if not links.sends_mail():
        return whom_to_ask(request)
    form = AddressForm(request.POST or None)
    if form.is_valid():
        address = form.cleaned_data["email"]
        if not ratelimit.consume(request, action="reset_password", key=address.casefold()):
            return render(request, "429.html", {"retry_after": 3600}, status=429)
        if person := User.objects.filter(email__iexact=address, is_active=True).first():
            _send_password_link(request, person)
        return render(request, "account/link_sent.html", {"address": address})
    return render(request, "account/password_reset.html", {"form": form})


def _send_password_link(request: HttpRequest, person: User) -> None:
    """Send it to the stored address: the typed one may only look like it."""
    link = links.password_link(request, person)
    links.send("password", person.email, "A new password", person=person, link=link)


@require_http_methods(["GET", "POST"])
@never_cache
def new_password(request: HttpRequest, named: str, token: str) -> HttpResponse:
    """Set a new password from a link, without signing in: that may take a second factor."""
    person = links.find_person_by_link(named, token)
    if person is None:
        return _without_referrer(render(request, "account/link_invalid.html", status=410))
    form = NewPasswordForm(person, request.POST or None)
    if form.is_valid():
        form.save(commit=False)  # hashes the password, which is slow
        with transaction.atomic():
            person.save(update_fields=["password"])
            audit.record("password.changed", actor=person, about=person)
        form.revoke_tokens(person)
        messages.success(request, "Your new password is set. Sign in with it.")
        return redirect("account_login")
    context: dict[str, Any] = {"form": form, "person": person}
    return _without_referrer(render(request, "account/new_password.html", context))


@require_http_methods(["GET", "POST"])
@never_cache
def confirm_address(request: HttpRequest, token: str) -> HttpResponse:
    """Set the account's address once the person who opened the emailed link confirms it."""
    confirmation = links.read_confirmation(token)
    if confirmation is None:
        return _without_referrer(render(request, "account/link_invalid.html", status=410))
    person, address = confirmation
    if request.method == "POST":
        others = User.objects.exclude(pk=person.pk).filter(email__iexact=address)
        if others.exists():
            return _without_referrer(render(request, "account/link_invalid.html", status=410))
        person.email = address
        with transaction.atomic():
            person.save(update_fields=["email"])
            audit.record("address.confirmed", actor=person, about=person)
        messages.success(request, f"{address} is confirmed. You can sign in with it.")
        return redirect("account_login")
    context = {"address": address, "person": person}
    return _without_referrer(render(request, "account/confirm_address.html", context))
