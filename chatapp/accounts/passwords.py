"""A password validator that estimates guesses, in addition to Django's own validators."""

from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError

ADVICE = (
    "At least twelve characters that are hard to guess. A few unrelated words work well, with "
    "spaces if you like."
)
GUESSES = 10**8  # fewer take hours to crack if the hash is stolen
NAMES = ("username", "email", "first_name", "last_name")
MAX_LENGTH = 72  # characters checked: more can only make it stronger


class ZxcvbnPasswordValidator:
    """Reject passwords close to common ones, names, or rows of the keyboard."""

    def validate(self, password: str, user: AbstractBaseUser | None = None) -> None:
        from zxcvbn import zxcvbn  # its word lists make the import slow and large

        personal_inputs = [getattr(user, name, "") for name in NAMES]
        estimate = zxcvbn(
            password[:MAX_LENGTH], user_inputs=["chatapp", *filter(None, personal_inputs)]
        )
        if estimate["guesses"] < GUESSES:
            reason = estimate["feedback"]["warning"] or "It consists of common parts."
            raise ValidationError(
                f"This password is too easy to guess. {reason} Use a few unrelated words, or let a "
                "password manager create one.",
                code="password_too_common",
            )

    def get_help_text(self) -> str:
        return (
            "Your password must be hard to guess. A few unrelated words work well, with spaces if "
            "you like."
        )
