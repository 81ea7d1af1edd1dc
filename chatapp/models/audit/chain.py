"""Computes the hashes and signatures of the chain: pure functions of an event's fields.

Each event contains `previous`, the SHA-256 of the event before it including that event's HMAC, and
an HMAC over its own fields. Anyone who changes, removes or swaps rows in the database lacks the key
to recompute them. Because the links need no key, an HMAC that can still be checked vouches for all
events before it, so an old SECRET_KEY may be discarded.
"""

import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

FORMAT_VERSION = 1  # version of the hashed data
GENESIS = hashlib.sha256(b"chatapp audit").hexdigest()  # the first event's `previous`
SALT_BYTES = 16

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class EventFields(NamedTuple):
    """The fields of an event, in the order in which they are hashed."""

    sequence: int
    at: datetime
    action: str
    actor: int | None
    target_type: str
    target: str
    person: int | None
    detail_hash: str  # "" if there is no detail
    key: str  # id of the key that it is signed with
    previous: str

    @property
    def text(self) -> bytes:
        moment = (self.at - _EPOCH) // timedelta(microseconds=1)
        return _text([FORMAT_VERSION, self.sequence, moment, *self[2:]])


def signature(secret: bytes, fields: EventFields) -> str:
    return hmac.digest(secret, b"event" + fields.text, "sha256").hex()


def link(fields: EventFields, mac: str) -> str:
    """Return the hash of this event that the next event contains."""
    return hashlib.sha256(fields.text + mac.encode()).hexdigest()


def signature_of_head(secret: bytes, sequence: int, last: str, pruned_to: int, key: str) -> str:
    return hmac.digest(secret, b"head" + _text([sequence, last, pruned_to, key]), "sha256").hex()


def hash_detail(salt: str, content: str) -> str:
    """Return the hash of a detail; without the salt, the detail can't be guessed from it."""
    return hashlib.sha256(_text([salt, content])).hexdigest()


def is_same(digest: str, other: str) -> bool:
    return hmac.compare_digest(digest.encode(), other.encode())


def _text(parts: list[Any]) -> bytes:
    """Encode as JSON, in which different lists never look the same."""
    return json.dumps(parts, separators=(",", ":")).encode()
