"""A query condition: whether a row's key is among many given keys.

The keys are sent as one value, because thousands of separate parameters cost more than finding
the rows.
"""

import json
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql.compiler import SQLCompiler


class _Keys(models.Field):  # type: ignore[type-arg]
    """Any number of UUIDs, as one parameter."""

    def get_db_prep_value(
        self, value: Iterable[UUID], connection: BaseDatabaseWrapper, prepared: bool = False
    ) -> str:
        keys = [key.hex for key in value]
        return json.dumps(keys) if connection.vendor == "sqlite" else f"{{{','.join(keys)}}}"


class KeyIn(models.Func):
    """Whether the primary key, or the UUID field named by `of`, is among these keys."""

    output_field = models.BooleanField()
    arg_joiner, template = " = ANY(", "%(expressions)s::uuid[])"

    def __init__(self, keys: Iterable[UUID], of: str = "pk") -> None:
        super().__init__(models.F(of), models.Value(list(keys), output_field=_Keys()))

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: Any
    ) -> tuple[str, Any]:
        among = {"arg_joiner": " IN (SELECT value FROM json_each(", "template": "%(expressions)s))"}
        return self.as_sql(compiler, connection, **among)
