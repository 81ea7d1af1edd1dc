"""Sessions as Django keeps them in the database, read by a statement that is made once, and stored
along with whose they are."""

from typing import Any

from allauth.account.internal.stagekit import LOGIN_SESSION_KEY
from allauth.account.utils import url_str_to_user_pk
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import UpdateError
from django.db import DatabaseError, transaction

from chatapp.access import sessions
from chatapp.models import Device, User


class SessionStore(db.SessionStore):
    """By its name Django finds it, since the settings name this module."""

    def load(self) -> dict[str, Any]:
        session = sessions.living(self.session_key) if self.session_key else None
        if session is None:
            self._session_key = None
            return {}
        return self.decode(session.session_data)

    def save(self, must_create: bool = False) -> None:
        if self.session_key is None:
            self.create()  # which calls this again, with a key
            return
        try:
            with transaction.atomic():
                super().save(must_create)
                self._store_whose_it_is(self.session_key)
        except DatabaseError as error:  # as Django's own store says it, of a lock too
            if must_create:
                raise
            raise UpdateError from error

    def _store_whose_it_is(self, key: str) -> None:
        """Nothing for an account that was deleted meanwhile. Who is asked for their second factor
        is signed in nowhere yet, and the session has their name all the same."""
        signed_in, begun = self.get(SESSION_KEY), self.get(LOGIN_SESSION_KEY) or {}
        claimed = signed_in or (begun.get("user_pk") and url_str_to_user_pk(begun["user_pk"]))
        people = User.objects.filter(pk=claimed).values_list("pk", flat=True) if claimed else ()
        Device.objects.bulk_create(
            [Device(session_key=key, user_id=pk, is_signed_in=bool(signed_in)) for pk in people],
            update_conflicts=True,
            update_fields=["user", "is_signed_in"],
            unique_fields=["session_key"],
        )
