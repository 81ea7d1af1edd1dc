"""What allauth keeps of a second factor, and who must have one.

The secrets of apps and of recovery codes are encrypted as the keys of upstreams are, and can be
read with the fallbacks of SECRET_KEY.
"""

from functools import cache
from typing import Any

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from chatapp.models import Installation, Upstream, User, branding

# A sign-in can be done by these; recovery codes stand in for them, and are none by themselves.
FACTORS = [Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN]


class MFAAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": "This code does not fit. Take the one that is shown now, and try again.",
        "cannot_delete_authenticator": (
            "Staff of this server must have a second factor. Add another one first."
        ),
    }

    def encrypt(self, text: str) -> str:
        return _keys().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """ "" where none of the keys fits, which no code does."""
        try:
            return _keys().decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            return ""

    def get_totp_issuer(self) -> str:
        return branding.known().name

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        user: User = authenticator.user
        if not _must_have_one(user):
            return True
        others = Authenticator.objects.filter(user=user, type__in=FACTORS)
        return bool(others.exclude(pk=authenticator.pk).exists())


def rotate() -> int:
    """Encrypts all that can be read anew, by SECRET_KEY; says of how many authenticators."""
    rotated = 0
    for one in Authenticator.objects.exclude(type=Authenticator.Type.WEBAUTHN):
        names = [name for name in ("secret", "seed") if name in one.data]
        clear = {name: MFAAdapter().decrypt(one.data[name]) for name in names}
        if names and all(clear.values()):
            one.data |= {name: MFAAdapter().encrypt(value) for name, value in clear.items()}
            one.save(update_fields=["data"])
            rotated += 1
    return rotated


@cache
def _keys() -> Fernet | MultiFernet:
    field: Any = Upstream._meta.get_field("api_key")
    keys: Fernet | MultiFernet = field.f
    return keys


def lacks_second_factor(user: Any) -> bool:
    """Whether this is one of the staff who must have one, and has none yet."""
    must = isinstance(user, User) and _must_have_one(user)
    return bool(must and not is_mfa_enabled(user, FACTORS))


def _must_have_one(user: User) -> bool:
    return (user.is_staff or user.reviews) and Installation.this().staff_second_factor


def remove_second_factors(person: User) -> bool:
    """Whether there were any. Who has lost theirs signs in by the password alone, and adds anew."""
    removed, _ = Authenticator.objects.filter(user=person).delete()
    return bool(removed)
