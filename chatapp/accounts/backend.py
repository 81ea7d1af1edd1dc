"""The authentication backend for usernames, email addresses and passwords."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from chatapp.models import User


class Backend(ModelBackend):
    """Authenticate by username or email address, and password.

    Every attempt computes one hash, so that its duration does not reveal whether the account exists
    or is deactivated.
    """

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        email: str | None = None,
        **_credentials: Any,
    ) -> User | None:
        if password is None:
            return None
        user = User.find_by_login(username or email or "")
        if user is None:
            User().set_password(password)
            return None
        is_right = user.check_password(password)
        return user if is_right and self.user_can_authenticate(user) else None

    def get_user(self, user_id: int) -> User | None:
        """Return the signed-in user, or None if deactivated; called on every request."""
        user = User.find(user_id)
        return user if user and self.user_can_authenticate(user) else None
