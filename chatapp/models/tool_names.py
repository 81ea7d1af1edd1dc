"""Which replies called a tool, by its name: what their JSON says, asked of the database.

PostgreSQL has an index of the names alone. It is made after every `migrate`, as those of
`full_text` are, since SQLite knows none of its kind.
"""

from typing import Any

from django.apps import AppConfig
from django.apps import apps as global_apps
from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.signals import post_migrate
from django.db.models.sql.compiler import SQLCompiler
from django.dispatch import receiver

# Of every round; the last one's calls have a field of their own (`StoredReply`).
NAMES = (
    "(jsonb_path_query_array({table}earlier_rounds, '$[*].tool_runs[*].name')"
    " || jsonb_path_query_array({table}tool_runs, '$[*].name'))"
)
HAS_CALLED = "({table}earlier_rounds <> '[]'::jsonb OR {table}tool_runs <> '[]'::jsonb)"
INDEX = (
    "CREATE INDEX IF NOT EXISTS chatapp_message_tools ON chatapp_message USING gin "
    f"({NAMES.format(table='')}) WITH (fastupdate = off) WHERE {HAS_CALLED.format(table='')}"
)
IN_JSON = (
    "(EXISTS (SELECT 1 FROM json_each({table}earlier_rounds) AS round,"
    " json_each(round.value, '$.tool_runs') AS run"
    " WHERE json_extract(run.value, '$.name') = %s)"
    " OR EXISTS (SELECT 1 FROM json_each({table}tool_runs) AS run"
    " WHERE json_extract(run.value, '$.name') = %s))"
)


class HasCalled(models.Func):
    """Whether a reply called the tool of this name: a condition in a query of messages."""

    output_field = models.BooleanField()

    def __init__(self, tool: str) -> None:
        super().__init__(models.F("pk"))  # which says the table's alias
        self.tool = tool

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, *_: Any, **__: Any
    ) -> tuple[str, tuple[str, ...]]:
        [column] = self.get_source_expressions()
        table = f"{compiler.quote_name_unless_alias(column.alias)}."
        if connection.vendor == "sqlite":
            return IN_JSON.format(table=table), (self.tool, self.tool)
        return f"({HAS_CALLED} AND {NAMES} ? %s)".format(table=table), (self.tool,)


@receiver(post_migrate)
def after_migrating(sender: AppConfig, using: str, apps: Any = global_apps, **_: object) -> None:
    if sender.name == "chatapp" and connections[using].vendor == "postgresql":
        with connections[using].cursor() as cursor:
            cursor.execute(INDEX)
