"""Remove what the database's files still hold of people who were erased.

PostgreSQL: a deleted row stays in its table until a vacuum, and its words stay in the search
indexes even after one, because a GIN index never removes a word
(https://www.postgresql.org/docs/current/gin.html). So after an erasure these indexes are rebuilt
and then all tables are vacuumed, and so are the planner's statistics, which contain some values of
each column. Old bytes may remain in the free space of a page until it is written again.

SQLite: deleted content is overwritten in place (`secure_delete`), but not where it was before the
rows around it moved to another page, as happens whenever pages fill or empty. So the search index
is rebuilt, then the whole file, and the write-ahead log is emptied.
"""

from contextlib import suppress
from datetime import datetime
from pathlib import Path

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper

from chatapp.db.connections import empty_write_ahead_log
from chatapp.db.locks import only_one_process
from chatapp.models.search.full_text import POSTGRESQL_INDEXES, clear_deleted

LOCK = "vacuum"
LOCK_TIMEOUT = "10min"  # for old readers such as a backup; after that, try again in an hour
LAST_ERASURE = (
    "SELECT {} FROM chatapp_auditevent WHERE action = 'person.erased' "
    "ORDER BY sequence DESC LIMIT 1"
)
# The last manual vacuum: an automatic one may skip indexes.
LAST_VACUUM = (
    "SELECT last_vacuum FROM pg_stat_user_tables WHERE relid = 'chatapp_message'::regclass"
)
# SQLite records no such moment, so the file's user_version identifies the last erasure.
VACUUMED = "PRAGMA user_version"
# SQLite blocks writers meanwhile, for some 9 seconds per GB, and they wait 20 seconds at most.
MAX_WHILE_SERVING = 10**9  # bytes
READER_SECONDS = 1.0  # to wait for readers of the log; if they take longer, try again in an hour


def vacuum_erased(connection: BaseDatabaseWrapper, *, is_serving: bool = False) -> bool:
    """Vacuum if somebody was erased since the last time, and return whether it did.

    Call it outside of a transaction. Others can read meanwhile, and on PostgreSQL write. If
    `is_serving`, a large SQLite file is left alone, since writers would wait too long.
    """
    if connection.vendor == "sqlite":
        is_due, vacuum = _is_due_on_sqlite, _vacuum_sqlite
        if is_serving and is_large(connection):
            return False
    else:
        is_due, vacuum = _is_due_on_postgresql, _vacuum_postgresql
    if not is_due(connection):
        return False
    with only_one_process(LOCK):
        if not is_due(connection):  # another process has just done it
            return False
        vacuum(connection)
    return True


def is_large(connection: BaseDatabaseWrapper) -> bool:
    """Whether it is a SQLite file that is too large to vacuum while serving."""
    if connection.vendor != "sqlite":
        return False
    return Path(connection.settings_dict["NAME"]).stat().st_size > MAX_WHILE_SERVING


def stop_vacuum(connection: BaseDatabaseWrapper) -> None:
    """Interrupt the vacuum that this connection runs. Call it from another thread."""
    if (session := connection.connection) is None:
        return
    with suppress(Error), connection.wrap_database_errors:  # it has just ended and been closed
        session.interrupt() if connection.vendor == "sqlite" else session.cancel()


def _fetch_value(connection: BaseDatabaseWrapper, sql: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        row = cursor.fetchone()
    return row[0] if row else None


def _is_due_on_sqlite(connection: BaseDatabaseWrapper) -> bool:
    return _find_last_erasure(connection) not in (None, _fetch_value(connection, VACUUMED))


def _vacuum_sqlite(connection: BaseDatabaseWrapper) -> None:
    erasure = _find_last_erasure(connection)
    clear_deleted(connection)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute(f"{VACUUMED} = {erasure}")
    empty_write_ahead_log(connection, READER_SECONDS)


def _find_last_erasure(connection: BaseDatabaseWrapper) -> int | None:
    """Return 28 bits that identify the last erasure, or None."""
    mac = _fetch_value(connection, LAST_ERASURE.format("mac"))
    return int(str(mac)[:7], 16) if mac else None


def _is_due_on_postgresql(connection: BaseDatabaseWrapper) -> bool:
    erased, vacuumed = (
        _fetch_value(connection, LAST_ERASURE.format("at")),
        _fetch_value(connection, LAST_VACUUM),
    )
    return isinstance(erased, datetime) and not (
        isinstance(vacuumed, datetime) and vacuumed >= erased
    )


def _vacuum_postgresql(connection: BaseDatabaseWrapper) -> None:
    """Rebuild the search indexes and vacuum all tables, the messages last.

    So the time of the messages' vacuum shows that everything was done. Rebuilding an index waits
    for transactions that can still see deleted rows, so the vacuum can remove them all.
    """
    tables = connection.introspection.table_names()
    ordered = sorted(tables, key=lambda table: (table == "chatapp_message", table))
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
        try:
            for index in POSTGRESQL_INDEXES:
                for unfinished in (f"{index}_ccnew", f"{index}_ccold"):
                    cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {unfinished}")
                cursor.execute(f"REINDEX INDEX CONCURRENTLY {index}")
            for table in ordered:
                cursor.execute(f'VACUUM (ANALYZE, INDEX_CLEANUP ON) "{table}"')
            cursor.execute("VACUUM pg_catalog.pg_statistic")  # works if this role owns the database
        finally:
            if connection.connection and not connection.connection.closed:
                cursor.execute("RESET lock_timeout")
