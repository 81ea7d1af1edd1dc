"""Sessions as Django keeps them in the database, read by a statement that is made once."""

from typing import Any

from django.contrib.sessions.backends import db

from chatapp.access import sessions


class SessionStore(db.SessionStore):
    """By its name Django finds it, since the settings name this module."""

    def load(self) -> dict[str, Any]:
        session = sessions.living(self.session_key) if self.session_key else None
        if session is None:
            self._session_key = None
            return {}
        return self.decode(session.session_data)
