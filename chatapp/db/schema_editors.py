"""Schema editors of the app's two database backends, which run migrations without triggers.

See `chatapp.db.triggers` for the reason. Each migration drops them and restores them in its own
transaction, so processes of the previous version never lack theirs.
"""

import sys
from types import TracebackType
from typing import Self

from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from chatapp.db.triggers import Definition, drop_triggers, restore_triggers


class WithoutTriggers(BaseDatabaseSchemaEditor):
    """A schema editor for which no trigger or view exists until its transaction ends.

    A migration that isn't atomic keeps them, because others could write while they are gone.
    """

    _dropped_definitions: list[Definition] | None = None

    def __enter__(self) -> Self:
        super().__enter__()
        if self.connection.in_atomic_block and not self.collect_sql:
            try:
                self._dropped_definitions = drop_triggers(self.connection)
            except BaseException:
                super().__exit__(*sys.exc_info())
                raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._dropped_definitions is not None and error is None:
            try:
                for statement in self.deferred_sql:
                    self.execute(statement, None)
                self.deferred_sql.clear()
                restore_triggers(self.connection, self._dropped_definitions)
            except BaseException:
                super().__exit__(*sys.exc_info())
                raise
        super().__exit__(kind, error, traceback)
