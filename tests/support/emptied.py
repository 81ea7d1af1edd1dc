"""What a test wrote goes after it, by DELETE and from where there is something.

Django's own way takes 70 ms of SQLite and 600 of PostgreSQL: it makes triggers, permissions and
content types anew, which are still there, and PostgreSQL's TRUNCATE of ninety tables waits for the
disk.
"""

from collections.abc import Sequence
from functools import cache

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction

from chatapp.models import AuditHead

OF_MIGRATING = (ContentType, Permission)


def empty(*_: object, **__: object) -> Sequence[str]:
    """In place of Django's `sql_flush`: leaves nothing for it to execute."""
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL session_replication_role = replica")  # no trigger, no key
        else:  # the log refuses unless its head says that all was pruned
            AuditHead.objects.update_or_create(pk=1, defaults={"pruned_to": 2**62})
        while True:
            cursor.execute(_with_rows())
            if not (tables := [table for (table,) in cursor.fetchall()]):
                return ()
            # The head goes last; what a trigger writes meanwhile goes with the next round.
            for table in sorted(tables, key=AuditHead._meta.db_table.__eq__):
                cursor.execute(f'DELETE FROM "{table}"')  # noqa: S608 - Django names it


@cache
def _with_rows() -> str:
    tables = set(
        connection.introspection.django_table_names(only_existing=True, include_views=False)
    )
    tables -= {model._meta.db_table for model in OF_MIGRATING}
    return " UNION ALL ".join(
        f"""SELECT '{table}' WHERE EXISTS (SELECT 1 FROM "{table}")"""  # noqa: S608 - Django names it
        for table in sorted(tables)
    )
