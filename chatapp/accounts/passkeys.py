"""Passkey forms that report an unreadable credential as an error; allauth's own would crash."""

from typing import Any

from allauth.mfa.webauthn import forms

INVALID = "That isn't a valid passkey. Try again, or choose another way."
UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError)


class Readable:
    """Turns what the WebAuthn library raises for an invalid credential into a form error."""

    def full_clean(self: Any) -> None:
        try:
            super().full_clean()  # type: ignore[misc]
        except UNREADABLE:
            self.add_error("credential", INVALID)


class AddForm(Readable, forms.AddWebAuthnForm):  # type: ignore[misc]
    pass


class AuthenticateForm(Readable, forms.AuthenticateWebAuthnForm):  # type: ignore[misc]
    pass


class ReauthenticateForm(Readable, forms.ReauthenticateWebAuthnForm):  # type: ignore[misc]
    pass


class LoginForm(Readable, forms.LoginWebAuthnForm):  # type: ignore[misc]
    pass
