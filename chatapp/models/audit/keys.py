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


def signing() -> Key:
    return _made_from(settings.SECRET_KEY)


def known() -> dict[str, bytes]:
    """Return all keys that events can be checked with, by id."""
    return dict(map(_made_from, [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]))


@lru_cache
def _made_from(secret: str) -> Key:
    return Key(
        _derived(secret, b"chatapp audit key id", 8).hex(),
        _derived(secret, b"chatapp audit chain", 32),
    )


def _derived(secret: str, purpose: bytes, size: int) -> bytes:
    """Derive a key with HKDF (RFC 5869), so that no key reveals another."""
    return HKDF(SHA256(), size, salt=None, info=purpose).derive(secret.encode())
