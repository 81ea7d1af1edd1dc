"""What the database's files still have of people who were erased.

PostgreSQL: a deleted row stays in its table until a vacuum, and its words stay in the search's
indexes even after one: a GIN index never lets go of a word that it knew
(https://www.postgresql.org/docs/current/gin.html). So after an erasure these indexes are written
anew, and then every table is vacuumed, and the planner's statistics, which have some values of each
column. Old bytes may lie in the free space of a page until it is written again.

SQLite: what is deleted is overwritten where it lies (`secure_delete`), and not where it lay before
the rows around it moved to another page, as they do whenever pages fill or empty. So the search's
index is written anew, then the whole file, and the write-ahead log is emptied.
"""

from datetime import datetime
from pathlib import Path

from django.db.backends.base.base import BaseDatabaseWrapper

from chatapp.models.connections import empty_write_ahead_log
from chatapp.models.full_text import POSTGRESQL_INDEXES, clear_deleted
from chatapp.models.locks import only_one_process

LOCK = "vacuum"
PATIENCE = "10min"  # with who reads since before, as a backup does; then it waits for another hour
LAST_ERASURE = (
    "SELECT {} FROM chatapp_auditevent WHERE action = 'person.erased' "
    "ORDER BY sequence DESC LIMIT 1"
)
# By hand: the one that runs by itself may leave indexes out.
LAST_VACUUM = (
    "SELECT last_vacuum FROM pg_stat_user_tables WHERE relid = 'chatapp_message'::regclass"
)
# SQLite keeps no such moment: in this number of its file stands the erasure that it was done after.
VACUUMED = "PRAGMA user_version"
# Nobody writes to SQLite meanwhile, some 9 seconds for a GB, and who waits does so for 20 at most.
MOST_WHILE_SERVING = 10**9  # bytes
READER_SECONDS = 1.0  # that the log waits for who reads; where that is too short, for another hour


def vacuum_erased(connection: BaseDatabaseWrapper, *, is_serving: bool = False) -> bool:
    """Whether somebody was erased since it was last done; outside of a transaction.

    Others read meanwhile, and on PostgreSQL write. Where `is_serving`, a file of SQLite's for which
    they would wait too long is left alone.
    """
    if connection.vendor == "sqlite":
        is_wanted, vacuum = _is_wanted_by_sqlite, _vacuum_sqlite
        if is_serving and is_large(connection):
            return False
    else:
        is_wanted, vacuum = _is_wanted_by_postgresql, _vacuum_postgresql
    if not is_wanted(connection):
        return False
    with only_one_process(LOCK):
        if not is_wanted(connection):  # another process has done it by now
            return False
        vacuum(connection)
    return True


def is_large(connection: BaseDatabaseWrapper) -> bool:
    """Whether it is a file of SQLite's that no server writes anew by itself."""
    if connection.vendor != "sqlite":
        return False
    return Path(connection.settings_dict["NAME"]).stat().st_size > MOST_WHILE_SERVING


def stop_vacuum(connection: BaseDatabaseWrapper) -> None:
    """Ends at once the one that this session is in; from another thread."""
    if (session := connection.connection) is not None:
        session.interrupt() if connection.vendor == "sqlite" else session.cancel()


def _one(connection: BaseDatabaseWrapper, sql: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        row = cursor.fetchone()
    return row[0] if row else None


def _is_wanted_by_sqlite(connection: BaseDatabaseWrapper) -> bool:
    return _erasure(connection) not in (None, _one(connection, VACUUMED))


def _vacuum_sqlite(connection: BaseDatabaseWrapper) -> None:
    erasure = _erasure(connection)
    clear_deleted(connection)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute(f"{VACUUMED} = {erasure}")
    empty_write_ahead_log(connection, READER_SECONDS)


def _erasure(connection: BaseDatabaseWrapper) -> int | None:
    """The last one as a number of 28 bits, which is hardly that of another."""
    mac = _one(connection, LAST_ERASURE.format("mac"))
    return int(str(mac)[:7], 16) if mac else None


def _is_wanted_by_postgresql(connection: BaseDatabaseWrapper) -> bool:
    erased, vacuumed = _one(connection, LAST_ERASURE.format("at")), _one(connection, LAST_VACUUM)
    return isinstance(erased, datetime) and not (
        isinstance(vacuumed, datetime) and vacuumed >= erased
    )


def _vacuum_postgresql(connection: BaseDatabaseWrapper) -> None:
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
