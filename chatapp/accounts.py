"""How accounts come to be: the first by the setup link, all others by an administrator."""

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare, salted_hmac

from chatapp.models import User


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False


def setup_token() -> str | None:
    """The secret of the setup link; None as soon as there is an account, which ends the link."""
    if User.objects.exists():
        return None
    return salted_hmac("chatapp.setup", settings.SECRET_KEY, algorithm="sha256").hexdigest()[:32]


def is_setup_token(token: str) -> bool:
    expected = setup_token()
    return expected is not None and constant_time_compare(token, expected)
