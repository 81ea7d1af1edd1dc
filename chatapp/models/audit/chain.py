"""The arithmetic of the chain: pure functions of what an event says.

Each event holds `previous`, the SHA-256 of the whole event before it, that one's HMAC included, and
an HMAC of its own over all that it says. Whoever changes, removes or swaps rows in the database has
not the key and can't make these anew. Because the links need no key, an HMAC that can still be
checked vouches for all events before it: an old SECRET_KEY may be thrown away.
"""

import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

FORM = 1  # of what is hashed
GENESIS = hashlib.sha256(b"chatapp audit").hexdigest()  # what the first event follows
SALT_BYTES = 16

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Said(NamedTuple):
    """What an event says, in the order in which it is hashed."""

    sequence: int
    at: datetime
    action: str
    actor: int | None
    target_type: str
    target: str
    person: int | None
    detail_hash: str  # "" where there is no detail
    key: str  # which one it is signed with
    previous: str

    @property
    def text(self) -> bytes:
        moment = (self.at - _EPOCH) // timedelta(microseconds=1)
        return _text([FORM, self.sequence, moment, *self[2:]])


def signature(secret: bytes, said: Said) -> str:
    return hmac.digest(secret, b"event" + said.text, "sha256").hex()


def link(said: Said, mac: str) -> str:
    """What the next event carries of this one."""
    return hashlib.sha256(said.text + mac.encode()).hexdigest()


def signature_of_head(secret: bytes, sequence: int, last: str, pruned_to: int, key: str) -> str:
    return hmac.digest(secret, b"head" + _text([sequence, last, pruned_to, key]), "sha256").hex()


def salted(salt: str, content: str) -> str:
    """The hash of a detail, from which nobody who lacks the salt can guess it."""
    return hashlib.sha256(_text([salt, content])).hexdigest()


def is_same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _text(parts: list[Any]) -> bytes:
    """JSON, in which no two lists look alike."""
    return json.dumps(parts, separators=(",", ":")).encode()
