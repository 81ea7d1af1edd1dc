"""The backend, in the module that Django looks for."""

from collections.abc import Callable, Sequence
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Can send the last statements of a transaction and its COMMIT in one message.

    A row that many transactions need stays locked while its holder exchanges messages with the
    database. This saves a round trip.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._pending: list[tuple[str, Sequence[Any]]] = []
        self.execute_wrappers.insert(0, self._execute_after_pending)

    def run_with_commit(self, sql: str, parameters: Sequence[Any]) -> None:
        """Run a statement with the COMMIT, or before the next statement of the transaction.

        If it fails, it raises only then. Outside a transaction it runs immediately.
        """
        self.validate_no_broken_transaction()
        self._pending.append((sql, parameters))
        if not self.in_atomic_block:
            self._send()

    def get_connection_params(self) -> dict[str, Any]:
        # With server-side parameter binding, a message can only contain one statement.
        if self.settings_dict["OPTIONS"].get("server_side_binding"):
            raise ImproperlyConfigured("chatapp.db.postgresql needs server_side_binding to be off")
        params: dict[str, Any] = super().get_connection_params()
        return params

    def _execute_after_pending(self, execute: Callable[..., Any], *statement: Any) -> Any:
        self._send()
        return execute(*statement)

    def _send(self, *last: str) -> None:
        pending, self._pending = self._pending, []
        if pending:
            with self.cursor() as cursor:
                values = [value for _, parameters in pending for value in parameters]
                cursor.execute("; ".join([*(sql for sql, _ in pending), *last]), values)

    def _commit(self) -> None:
        self._send("COMMIT")
        # If the COMMIT was sent, psycopg sees no open transaction and does nothing.
        super()._commit()  # type: ignore[misc]

    def _rollback(self) -> None:
        self._pending.clear()
        super()._rollback()  # type: ignore[misc]

    def _savepoint_rollback(self, sid: str) -> None:
        self._pending.clear()  # all newer than the savepoint, since setting one sends the rest
        super()._savepoint_rollback(sid)  # type: ignore[misc]

    def _close(self) -> None:
        self._pending.clear()
        super()._close()  # type: ignore[misc]
