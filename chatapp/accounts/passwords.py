"""Which passwords are taken, beside Django's own validators."""

from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError

ADVICE = (
    "Twelve characters or more that are hard to guess: some words that don't belong together do "
    "well, with spaces if you like."
)
GUESSES = 10**8  # those below are found in hours, by who has stolen the hash
NAMES = ("username", "email", "first_name", "last_name")
LONGEST = 72  # characters that are looked at: what comes after can only make it better


class HardToGuess:
    """Refuses what a list of common passwords, names and keyboards' rows would soon lead to."""

    def validate(self, password: str, user: AbstractBaseUser | None = None) -> None:
        from zxcvbn import zxcvbn  # with its lists it takes a while and some room to import

        known = [getattr(user, name, "") for name in NAMES]
        found = zxcvbn(password[:LONGEST], user_inputs=["chatapp", *filter(None, known)])
        if found["guesses"] < GUESSES:
            reason = found["feedback"]["warning"] or "It is made of what many others use."
            raise ValidationError(
                f"This password would soon be guessed. {reason} Take some words that don't belong "
                "together, or let a password manager make one.",
                code="password_too_common",
            )

    def get_help_text(self) -> str:
        return (
            "Your password must be hard to guess: some words that don't belong together do well, "
            "with spaces if you like."
        )
