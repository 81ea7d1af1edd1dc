"""Django's database session store, which reads by a prepared query and records sessions' owners."""

from typing import Any

from allauth.account.internal.stagekit import LOGIN_SESSION_KEY
from allauth.account.utils import url_str_to_user_pk
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import UpdateError
from django.db import DatabaseError, transaction

from chatapp.models import Device, User
from chatapp.sessions import validity


class SessionStore(db.SessionStore):
    """The store that Django uses: it looks up this class name in `SESSION_ENGINE`."""

    def load(self) -> dict[str, Any]:
        session = validity.get_unexpired_session(self.session_key) if self.session_key else None
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
                self._store_owner(self.session_key)
        except DatabaseError as error:  # like Django's own store, for a lock too
            if must_create:
                raise
            raise UpdateError from error

    def _store_owner(self, key: str) -> None:
        """Record the session's owner, unless the account was deleted meanwhile.

        A session that awaits the second factor is not signed in yet, but has an owner already.
        """
        signed_in, pending = self.get(SESSION_KEY), self.get(LOGIN_SESSION_KEY) or {}
        claimed = signed_in or (pending.get("user_pk") and url_str_to_user_pk(pending["user_pk"]))
        people = User.objects.filter(pk=claimed).values_list("pk", flat=True) if claimed else ()
        Device.objects.bulk_create(
            [Device(session_key=key, user_id=pk, is_signed_in=bool(signed_in)) for pk in people],
            update_conflicts=True,
            update_fields=["user", "is_signed_in"],
            unique_fields=["session_key"],
        )
