"""Links that authorise one person, and the emails that carry them.

A password link is valid until the password changes, three days at most (Django's
`PasswordResetTokenGenerator`). A confirmation link contains the address, signed: the account has no
address until the link is confirmed, so that nobody can sign in with an unconfirmed one.
"""

import logging
from dataclasses import dataclass
from smtplib import SMTPException

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core import signing
from django.core.mail import send_mail
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.encoding import force_str
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode

from chatapp.db.primary_keys import parse_pk
from chatapp.models import User
from chatapp.models.platform import branding

logger = logging.getLogger(__name__)

ADDRESS_SALT = "chatapp.address"


@dataclass(frozen=True)
class LinkToShare:
    """A link that an administrator has to copy."""

    link: str
    address: str = ""  # whom it is for, if known
    has_failed: bool = False  # to be sent by email


def absolute(request: HttpRequest, path: str) -> str:
    """Return the path as an absolute URL, at `PUBLIC_ORIGIN` if it is set."""
    return (
        settings.PUBLIC_ORIGIN + path
        if settings.PUBLIC_ORIGIN
        else request.build_absolute_uri(path)
    )


def sends_mail() -> bool:
    return bool(settings.EMAIL_URL)


def send(name: str, address: str, subject: str, **context: object) -> bool:
    """Send the email template `name` and return whether that succeeded."""
    context["app"] = branding.get_branding().name
    text = render_to_string(f"mail/{name}.txt", context, using="django")
    try:
        send_mail(subject, text, None, [address])
    except (OSError, SMTPException) as error:
        logger.error("Could not send an email: %s", error)
        return False
    return True


def password_link(request: HttpRequest, person: User) -> str:
    """Return a link that sets a new password for the person; anyone who has it can use it."""
    uid = urlsafe_base64_encode(str(person.pk).encode())
    token = default_token_generator.make_token(person)
    return absolute(request, reverse("new-password", args=[uid, token]))


def find_person_by_link(uid: str, token: str) -> User | None:
    """Return the person whose password the link sets, or None if it is invalid."""
    try:
        pk = force_str(urlsafe_base64_decode(uid))
    except ValueError:
        return None
    person = User.objects.filter(pk=parse_pk(pk), is_active=True).first()
    return person if person and default_token_generator.check_token(person, token) else None


def send_confirmation(request: HttpRequest, person: User, address: str) -> bool:
    token = signing.dumps([person.pk, person.email, address], salt=ADDRESS_SALT)
    link = absolute(request, reverse("confirm-address", args=[token]))
    return send("address", address, "Confirm your email address", person=person, link=link)


def read_confirmation(token: str) -> tuple[User, str] | None:
    """Return the person and the address that the link confirms, or None if it is invalid."""
    try:
        pk, before, address = signing.loads(
            token, salt=ADDRESS_SALT, max_age=settings.PASSWORD_RESET_TIMEOUT
        )
    except signing.BadSignature:
        return None
    # The link is invalid once the account has another address.
    person = User.objects.filter(pk=pk, email=before, is_active=True).first()
    return (person, address) if person else None
