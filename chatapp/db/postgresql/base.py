"""The backend itself, by the name that Django looks for."""

from collections.abc import Callable, Sequence
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """One that sends the last statements of a transaction and its COMMIT in one message.

    A row that all wait for is held for as long as its holder talks with the database; so they are
    one way there and back fewer.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._left: list[tuple[str, Sequence[Any]]] = []
        self.execute_wrappers.insert(0, self._after_what_is_left)

    def run_with_commit(self, sql: str, parameters: Sequence[Any]) -> None:
        """Runs it when the transaction is committed, or before whatever else is run in it: only
        then does it fail. Outside of one it is run at once."""
        self.validate_no_broken_transaction()
        self._left.append((sql, parameters))
        if not self.in_atomic_block:
            self._send()

    def get_connection_params(self) -> dict[str, Any]:
        # With parameters that the server binds, a message has one statement.
        if self.settings_dict["OPTIONS"].get("server_side_binding"):
            raise ImproperlyConfigured("chatapp.db.postgresql needs server_side_binding to be off")
        params: dict[str, Any] = super().get_connection_params()
        return params

    def _after_what_is_left(self, execute: Callable[..., Any], *statement: Any) -> Any:
        self._send()
        return execute(*statement)

    def _send(self, *last: str) -> None:
        left, self._left = self._left, []
        if left:
            with self.cursor() as cursor:
                values = [value for _, parameters in left for value in parameters]
                cursor.execute("; ".join([*(sql for sql, _ in left), *last]), values)

    def _commit(self) -> None:
        self._send("COMMIT")
        # Where that was sent, there is nothing left to do for psycopg.
        super()._commit()  # type: ignore[misc]

    def _rollback(self) -> None:
        self._left.clear()
        super()._rollback()  # type: ignore[misc]

    def _savepoint_rollback(self, sid: str) -> None:
        self._left.clear()  # all of it is newer: to set a savepoint sends what there is
        super()._savepoint_rollback(sid)  # type: ignore[misc]

    def _close(self) -> None:
        self._left.clear()
        super()._close()  # type: ignore[misc]
