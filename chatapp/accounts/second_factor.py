"""Second factors: encryption of the secrets that allauth stores, and who must have one.

The secrets of authenticator apps and recovery codes are encrypted like upstreams' API keys, and can
be decrypted with SECRET_KEY and its fallbacks.
"""

from functools import cache
from typing import Any

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from chatapp.models import Installation, Upstream, User
from chatapp.models.platform import branding

# Recovery codes only replace one of these; they are no factor on their own.
FACTORS = [Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN]


class MFAAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": "Wrong code. Enter the one that is shown now.",
        "cannot_delete_authenticator": (
            "Staff of this server must have a second factor. Add another one first."
        ),
    }

    def encrypt(self, text: str) -> str:
        return _keys().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Return the secret, or "", which no code matches, if no key can decrypt it."""
        try:
            return _keys().decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            return ""

    def get_totp_issuer(self) -> str:
        return branding.get_branding().name

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        user: User = authenticator.user
        if not _must_have_factor(user):
            return True
        others = Authenticator.objects.filter(user=user, type__in=FACTORS)
        return bool(others.exclude(pk=authenticator.pk).exists())


def rotate() -> int:
    """Re-encrypt all readable secrets with SECRET_KEY; return the number of authenticators."""
    rotated = 0
    for authenticator in Authenticator.objects.exclude(type=Authenticator.Type.WEBAUTHN):
        names = [name for name in ("secret", "seed") if name in authenticator.data]
        clear = {name: MFAAdapter().decrypt(authenticator.data[name]) for name in names}
        if names and all(clear.values()):
            authenticator.data |= {
                name: MFAAdapter().encrypt(value) for name, value in clear.items()
            }
            authenticator.save(update_fields=["data"])
            rotated += 1
    return rotated


@cache
def _keys() -> Fernet | MultiFernet:
    field: Any = Upstream._meta.get_field("api_key")
    keys: Fernet | MultiFernet = field.f
    return keys


def lacks_second_factor(user: Any) -> bool:
    """Return whether the user is staff who must have a second factor and has none."""
    must = isinstance(user, User) and _must_have_factor(user)
    return bool(must and not is_mfa_enabled(user, FACTORS))


def _must_have_factor(user: User) -> bool:
    return (user.administers or user.reviews) and Installation.load().staff_second_factor


def remove_second_factors(person: User) -> bool:
    """Remove a person's second factors and recovery codes; return whether there were any."""
    removed, _ = Authenticator.objects.filter(user=person).delete()
    return bool(removed)
