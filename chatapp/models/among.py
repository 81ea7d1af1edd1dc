"""Whether a row is one of many whose keys are known.

They go to the database as one value: each of thousands that is a parameter of its own costs more
than to find its row.
"""

import json
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql.compiler import SQLCompiler


class IsAmong(models.Func):
    """A condition in a query of what has a UUID as its key."""

    output_field = models.BooleanField()

    def __init__(self, keys: Iterable[UUID]) -> None:
        super().__init__(models.F("pk"))
        self.keys = [one.hex for one in keys]

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, *_: Any, **__: Any
    ) -> tuple[str, tuple[str, ...]]:
        [column] = self.get_source_expressions()
        key, _ = compiler.compile(column)
        if connection.vendor == "sqlite":
            among = "(SELECT value FROM json_each(%s))"
            return f"{key} IN {among}", (json.dumps(self.keys),)
        return f"{key} = ANY(%s::uuid[])", (f"{{{','.join(self.keys)}}}",)
