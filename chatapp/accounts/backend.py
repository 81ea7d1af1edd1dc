"""Who a name and a password belong to."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from chatapp.models import User


class Backend(ModelBackend):
    """A username or an e-mail address, and a password.

    One hash is worked out for every attempt, so that the time tells nothing: not whether there is
    such an account, nor whether it is switched off.
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
        user = User.by_login(username or email or "")
        if user is None:
            User().set_password(password)
            return None
        is_right = user.check_password(password)
        return user if is_right and self.user_can_authenticate(user) else None

    def get_user(self, user_id: int) -> User | None:
        """Who is signed in; asked for with every page."""
        user = User.kept(user_id)
        return user if user and self.user_can_authenticate(user) else None
