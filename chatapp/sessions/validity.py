"""Checks whether the session that opened a tab's socket is still valid.

It only reads the database. Django's own `get_user` may cycle or flush the session, which a request
may do but a socket must not.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from chatapp.close_codes import CloseCode
from chatapp.db.statements import Query
from chatapp.models import User

Data = Mapping[str, Any]  # what is in a session

_UNEXPIRED = Query(
    lambda key, now: Session.objects.filter(pk=key, expire_date__gt=now),
    Session._meta.pk,
    Session._meta.get_field("expire_date"),
)


class NotSignedIn(Exception):
    """The session is not signed in; holds a sentence for the person and a close code."""

    def __init__(self, code: CloseCode) -> None:
        super().__init__(SENTENCES[code])
        self.code = code


SENTENCES = {
    CloseCode.SIGNED_OUT: (
        "You have been signed out. Sign in again in another tab. Your text has been kept."
    ),
    CloseCode.DEACTIVATED: (
        "This account has been deactivated. Ask an administrator. Your text has been kept."
    ),
}


@dataclass(frozen=True)
class AccessCheck:
    """The result of a check of people and sessions."""

    missing_people: frozenset[int]  # people whose account is deactivated or deleted
    ended_sessions: frozenset[str]  # keys of sessions that are not signed in

    def code(self, user: int, session_key: str) -> CloseCode | None:
        """Return the code to close this person's socket with, or None if it may stay open."""
        if user in self.missing_people:
            return CloseCode.DEACTIVATED
        return CloseCode.SIGNED_OUT if session_key in self.ended_sessions else None


def get_unexpired_session(session_key: str) -> Session | None:
    """Return the unexpired session with this key, signed in or not, or None."""
    return _UNEXPIRED.first(session_key, timezone.now())


@dataclass(frozen=True)
class SignedIn:
    """A signed-in person and the data of their session."""

    person: User
    data: Data


def require_sign_in(session_key: str) -> SignedIn:
    """Return who is signed in on the session. Raises `NotSignedIn`."""
    session = get_unexpired_session(session_key) if session_key else None
    data = _decode_session(session.session_data) if session else {}
    claimed = str(data.get(SESSION_KEY, ""))
    user = User.find(claimed) if claimed.isdecimal() else None
    if user and not user.is_active:
        raise NotSignedIn(CloseCode.DEACTIVATED)
    if not user or not _is_signed_in(user, data):
        raise NotSignedIn(CloseCode.SIGNED_OUT)
    return SignedIn(user, data)


@lru_cache  # read from the database each time, but it seldom changes
def _decode_session(session_data: str) -> Data:
    return MappingProxyType(Session(session_data=session_data).get_decoded())


def get_person(session_key: str) -> User:
    """Return the person who is signed in on the session. Raises `NotSignedIn`."""
    return require_sign_in(session_key).person


def is_deactivated(claimed: object) -> bool:
    """Whether the account that a session names exists and is deactivated."""
    key = str(claimed)
    return key.isdecimal() and User.objects.filter(pk=key, is_active=False).exists()


def check_access(people: Collection[int], sessions: Mapping[str, int]) -> AccessCheck:
    """Check these people, and these sessions: a mapping from session keys to user ids."""
    active = User.objects.filter(is_active=True).in_bulk(list({*people, *sessions.values()}))
    unexpired_sessions = Session.objects.filter(expire_date__gt=timezone.now()).in_bulk(
        list(filter(None, sessions))
    )
    data = {key: session.get_decoded() for key, session in unexpired_sessions.items()}
    ended = {
        key
        for key, user in sessions.items()
        if user not in active or not _is_signed_in(active[user], data.get(key, {}))
    }
    return AccessCheck(frozenset({*people, *sessions.values()} - active.keys()), frozenset(ended))


def _is_signed_in(user: User, data: Data) -> bool:
    """Check a session like Django's `get_user`, including the hash of the password."""
    if str(data.get(SESSION_KEY)) != str(user.pk):
        return False
    if data.get(BACKEND_SESSION_KEY) not in settings.AUTHENTICATION_BACKENDS:
        return False
    hashes = [user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()]
    return any(
        constant_time_compare(data.get(HASH_SESSION_KEY, ""), auth_hash) for auth_hash in hashes
    )
