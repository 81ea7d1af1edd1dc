"""A query condition for messages whose moderation results flagged a category, read from their JSON.

Apply it only to flagged messages, which are few and have an index.
"""

from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql.compiler import SQLCompiler

# Covers prompt and reply. Each may have several results (`StoredReply.moderation`).
IN_JSONB = "jsonb_path_query_array({table}moderation, '$.*.results[*].categories[*]') ? %s"
IN_JSON = (
    "EXISTS (SELECT 1 FROM json_each({table}moderation) AS side,"
    " json_each(side.value, '$.results') AS result,"
    " json_each(result.value, '$.categories') AS category WHERE category.value = %s)"
)


class HasCategory(models.Func):
    """Whether a message was flagged with this category: a condition for a query of messages."""

    output_field = models.BooleanField()

    def __init__(self, category: str) -> None:
        super().__init__(models.F("pk"))  # resolves to the table's alias
        self.category = category

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, *_: Any, **__: Any
    ) -> tuple[str, tuple[str, ...]]:
        [column] = self.get_source_expressions()
        table = f"{compiler.quote_name_unless_alias(column.alias)}."
        sql = IN_JSON if connection.vendor == "sqlite" else IN_JSONB
        return f"({sql})".format(table=table), (self.category,)
