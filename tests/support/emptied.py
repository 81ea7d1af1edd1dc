"""Empties the database after a test: DELETE, and only from tables that have rows.

Django's flush takes 70 ms on SQLite and 600 on PostgreSQL: it recreates triggers, permissions and
content types, which are still there, and PostgreSQL's TRUNCATE of ninety tables waits for the disk.
"""

from collections.abc import Sequence
from functools import cache

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction

from chatapp.models import AuditHead

OF_MIGRATING = (ContentType, Permission)


def empty(*_: object, **__: object) -> Sequence[str]:
    """Replace Django's `sql_flush`: empty the tables and leave nothing for it to execute."""
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # no triggers, no foreign keys
            cursor.execute("SET LOCAL session_replication_role = replica")
        else:  # the log refuses unless its head says that everything was pruned
            AuditHead.objects.update_or_create(pk=1, defaults={"pruned_to": 2**62})
        while True:
            cursor.execute(_select_filled_tables())
            if not (tables := [table for (table,) in cursor.fetchall()]):
                return ()
            # The head goes last. The next round deletes what triggers wrote meanwhile.
            for table in sorted(tables, key=AuditHead._meta.db_table.__eq__):
                cursor.execute(f'DELETE FROM "{table}"')  # noqa: S608 - Django's own table names


@cache
def _select_filled_tables() -> str:
    tables = set(
        connection.introspection.django_table_names(only_existing=True, include_views=False)
    )
    tables -= {model._meta.db_table for model in OF_MIGRATING}
    return " UNION ALL ".join(
        f"""SELECT '{table}' WHERE EXISTS (SELECT 1 FROM "{table}")"""  # noqa: S608 - Django names it
        for table in sorted(tables)
    )
