"""The link that the terminal prints, by which the first account is made."""

from django.conf import settings
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac

from chatapp.models import User


def setup_token() -> str | None:
    """The secret of the setup link; None as soon as there is an account, which ends the link."""
    if User.objects.exists():
        return None
    return salted_hmac("chatapp.setup", settings.SECRET_KEY, algorithm="sha256").hexdigest()[:32]


def setup_link(origin: str) -> str | None:
    """The link at this origin; None as soon as there is an account."""
    token = setup_token()
    return origin + reverse("setup", args=[token]) if token else None


def is_setup_token(token: str) -> bool:
    expected = setup_token()
    return expected is not None and constant_time_compare(token, expected)
