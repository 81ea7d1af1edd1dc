"""The one-time setup link, printed in the terminal, that creates the first account."""

from django.conf import settings
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac

from chatapp.models import User


def setup_token() -> str | None:
    """Return the setup link's secret; None once there is an account, which invalidates it."""
    if User.objects.exists():
        return None
    return salted_hmac("chatapp.setup", settings.SECRET_KEY, algorithm="sha256").hexdigest()[:32]


def setup_link(own_origin: str) -> str | None:
    """Return the setup link at the public origin, or else at the server's own.

    Returns None once there is an account.
    """
    token = setup_token()
    origin = settings.PUBLIC_ORIGIN or own_origin
    return origin + reverse("setup", args=[token]) if token else None


def is_setup_token(token: str) -> bool:
    expected = setup_token()
    return expected is not None and constant_time_compare(token, expected)
