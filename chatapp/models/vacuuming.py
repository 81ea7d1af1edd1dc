"""What PostgreSQL's files still have of people who were erased.

A deleted row stays in its table until a vacuum, and its words stay in the search's indexes even
after one: a GIN index never lets go of a word that it knew
(https://www.postgresql.org/docs/current/gin.html). So after an erasure these indexes are written
anew, and then every table is vacuumed, and the planner's statistics, which have some values of each
column. Old bytes may lie in the free space of a page until it is written again.
"""

from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper

from chatapp.models.full_text import POSTGRESQL_INDEXES
from chatapp.models.locks import only_one_process

LOCK = "vacuum"
PATIENCE = "10min"  # with who reads since before, as a backup does; then it waits for another hour
LAST_ERASURE = "SELECT max(at) FROM chatapp_auditevent WHERE action = 'person.erased'"
# By hand: the one that runs by itself may leave indexes out.
LAST_VACUUM = (
    "SELECT last_vacuum FROM pg_stat_user_tables WHERE relid = 'chatapp_message'::regclass"
)


def vacuum_erased(connection: BaseDatabaseWrapper) -> bool:
    """Whether somebody was erased since it was last done; outside of a transaction. Others read and
    write meanwhile."""
    if connection.vendor != "postgresql" or not _is_wanted(connection):
        return False
    with only_one_process(LOCK):
        if not _is_wanted(connection):  # another process has done it by now
            return False
        _vacuum(connection)
    return True


def _is_wanted(connection: BaseDatabaseWrapper) -> bool:
    erased = _moment(connection, LAST_ERASURE)
    vacuumed = _moment(connection, LAST_VACUUM)
    return erased is not None and (vacuumed is None or vacuumed < erased)


def _moment(connection: BaseDatabaseWrapper, sql: str) -> datetime | None:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        row = cursor.fetchone()
    return row[0] if row else None


def _vacuum(connection: BaseDatabaseWrapper) -> None:
    """The messages last of all tables, by which it is known that all of it was done. An index that
    is written anew waits for whoever sees rows that are deleted, so that no vacuum leaves them."""
    tables = set(
        connection.introspection.django_table_names(only_existing=True, include_views=False)
    )
    ordered = sorted(tables, key=lambda table: (table == "chatapp_message", table))
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{PATIENCE}'")
        try:
            for index in POSTGRESQL_INDEXES:
                for unfinished in (f"{index}_ccnew", f"{index}_ccold"):
                    cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {unfinished}")
                cursor.execute(f"REINDEX INDEX CONCURRENTLY {index}")
            for table in ordered:
                cursor.execute(f'VACUUM (ANALYZE, INDEX_CLEANUP ON) "{table}"')
            cursor.execute("VACUUM pg_catalog.pg_statistic")  # where this role owns the database
        finally:
            if connection.connection and not connection.connection.closed:
                cursor.execute("RESET lock_timeout")
