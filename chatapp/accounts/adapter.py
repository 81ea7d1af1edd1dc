"""How allauth signs people in here."""

from ipaddress import IPv6Address, ip_address
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest

from chatapp.models import User

MISMATCH = (
    "This name and this password don't open an account. Check both; an administrator can give you "
    "a new password, or switch the account on where it is off."
)
PATIENCE = "There were too many attempts. Wait five minutes, then try again."


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    error_messages = DefaultAccountAdapter.error_messages | {
        "username_password_mismatch": MISMATCH,
        "email_password_mismatch": MISMATCH,
        "too_many_login_attempts": PATIENCE,
        "incorrect_password": "This is not your password. Try again.",
        "enter_current_password": "This is not your password. Try again.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """The address as it is where the server listens on IPv4 too: not one of `::ffff:0:0/96`,
        all of which would be taken for one network."""
        text: str = super().get_client_ip(request)
        address = ip_address(text)
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return str(mapped or address)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """What failed attempts are counted by: the account, by whichever of its names it is tried;
        never the Host, which whoever tries may choose."""
        login = credentials.get("username") or credentials.get("email") or ""
        user = User.by_login(login)
        return f"account:{user.pk}" if user else f"nobody:{login.casefold()}"
