"""A query condition for replies that called a tool of a given name, read from their JSON.

No index covers it; the conversation facets say which conversations to look in.
"""

from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql.compiler import SQLCompiler

# Covers all rounds; the last round's calls have a field of their own (`StoredReply`).
NAMES = (
    "(jsonb_path_query_array({table}earlier_rounds, '$[*].tool_runs[*].name')"
    " || jsonb_path_query_array({table}tool_runs, '$[*].name'))"
)
HAS_CALLED = "({table}earlier_rounds <> '[]'::jsonb OR {table}tool_runs <> '[]'::jsonb)"
IN_JSON = (
    "(EXISTS (SELECT 1 FROM json_each({table}earlier_rounds) AS round,"
    " json_each(round.value, '$.tool_runs') AS run"
    " WHERE json_extract(run.value, '$.name') = %s)"
    " OR EXISTS (SELECT 1 FROM json_each({table}tool_runs) AS run"
    " WHERE json_extract(run.value, '$.name') = %s))"
)


class HasCalled(models.Func):
    """Whether a reply called the tool of this name: a condition for a query of messages."""

    output_field = models.BooleanField()

    def __init__(self, tool: str) -> None:
        super().__init__(models.F("pk"))  # resolves to the table's alias
        self.tool = tool

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, *_: Any, **__: Any
    ) -> tuple[str, tuple[str, ...]]:
        [column] = self.get_source_expressions()
        table = f"{compiler.quote_name_unless_alias(column.alias)}."
        if connection.vendor == "sqlite":
            return IN_JSON.format(table=table), (self.tool, self.tool)
        return f"({HAS_CALLED} AND {NAMES} ? %s)".format(table=table), (self.tool,)
