"""Links that stand for a right of one person, and the mails that carry them.

A link to a new password holds as long as the old one is not changed, three days at most (Django's
`PasswordResetTokenGenerator`). One that confirms an address says which, signed: until it is
followed, the account has no address, so that none signs in that nobody has shown to be theirs.
"""

import logging
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

from chatapp.db.primary_keys import key_of
from chatapp.models import User, branding

logger = logging.getLogger(__name__)

ADDRESS_SALT = "chatapp.address"


def absolute(request: HttpRequest, path: str) -> str:
    """The path as a whole URL, at the configured origin if there is one."""
    return (
        settings.PUBLIC_ORIGIN + path
        if settings.PUBLIC_ORIGIN
        else request.build_absolute_uri(path)
    )


def sends_mail() -> bool:
    return bool(settings.EMAIL_URL)


def send(name: str, address: str, subject: str, **context: object) -> bool:
    """Whether the mail of this name went out."""
    context["app"] = branding.known().name
    text = render_to_string(f"mail/{name}.txt", context, using="django")
    try:
        send_mail(subject, text, None, [address])
    except (OSError, SMTPException) as error:
        logger.error("A mail could not be sent: %s", error)
        return False
    return True


def password_link(request: HttpRequest, person: User) -> str:
    """By which this person, or whoever has the link, sets a new password."""
    named = urlsafe_base64_encode(str(person.pk).encode())
    token = default_token_generator.make_token(person)
    return absolute(request, reverse("new-password", args=[named, token]))


def person_of_link(named: str, token: str) -> User | None:
    """Whose password the link sets; None where it does not hold."""
    try:
        pk = force_str(urlsafe_base64_decode(named))
    except ValueError:
        return None
    person = User.objects.filter(pk=key_of(pk), is_active=True).first()
    return person if person and default_token_generator.check_token(person, token) else None


def send_confirmation(request: HttpRequest, person: User, address: str) -> bool:
    token = signing.dumps([person.pk, person.email, address], salt=ADDRESS_SALT)
    link = absolute(request, reverse("confirm-address", args=[token]))
    return send("address", address, "Confirm your e-mail address", person=person, link=link)


def confirmed_by(token: str) -> tuple[User, str] | None:
    """The person and the address that the link confirms; None where it does not hold."""
    try:
        pk, before, address = signing.loads(
            token, salt=ADDRESS_SALT, max_age=settings.PASSWORD_RESET_TIMEOUT
        )
    except signing.BadSignature:
        return None
    # Where it has another since, the link is over.
    person = User.objects.filter(pk=pk, email=before, is_active=True).first()
    return (person, address) if person else None
