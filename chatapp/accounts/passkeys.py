"""Forms of passkeys that take whatever they are sent: allauth's own fail on what is none."""

from typing import Any

from allauth.mfa.webauthn import forms

NONE = "That was no passkey. Try again, or choose another way."
UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError)


class Readable:
    """The library that reads a credential raises all of these for what is none."""

    def full_clean(self: Any) -> None:
        try:
            super().full_clean()  # type: ignore[misc]
        except UNREADABLE:
            self.add_error("credential", NONE)


class AddForm(Readable, forms.AddWebAuthnForm):  # type: ignore[misc]
    pass


class AuthenticateForm(Readable, forms.AuthenticateWebAuthnForm):  # type: ignore[misc]
    pass


class ReauthenticateForm(Readable, forms.ReauthenticateWebAuthnForm):  # type: ignore[misc]
    pass


class LoginForm(Readable, forms.LoginWebAuthnForm):  # type: ignore[misc]
    pass
