"""Derives the keys of the chain from SECRET_KEY and SECRET_KEY_FALLBACKS.

They are never in the database. All processes and hosts of an installation share SECRET_KEY, so they
sign with the same key.
"""

from functools import lru_cache
from typing import NamedTuple

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


class Key(NamedTuple):
    id: str  # stored in each event that is signed with it; reveals nothing about the key
    secret: bytes


def load_signing_key() -> Key:
    return _derive_key(settings.SECRET_KEY)


def load_verification_keys() -> dict[str, bytes]:
    """Return all keys that events can be checked with, by id."""
    return dict(map(_derive_key, [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]))


@lru_cache
def _derive_key(secret: str) -> Key:
    return Key(
        _derive_bytes(secret, b"chatapp audit key id", 8).hex(),
        _derive_bytes(secret, b"chatapp audit chain", 32),
    )


def _derive_bytes(secret: str, purpose: bytes, size: int) -> bytes:
    """Derive a key with HKDF (RFC 5869), so that no key reveals another."""
    return HKDF(SHA256(), size, salt=None, info=purpose).derive(secret.encode())
