"""Copy SQLite's file with its online backup API: https://www.sqlite.org/backup.html."""

import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from django.core.management.base import CommandError
from django.db import connection

from chatapp.management.backups.archive import read_chunks, write
from chatapp.management.backups.database import (
    Snapshot,
    audit_head,
    count_rows,
    read_migrations,
    refuse_difference,
    refuse_rows,
)
from chatapp.management.backups.progress import Progress

PAGES_AT_ONCE = 1000


@contextmanager
def snapshot(directory: Path, progress: Progress) -> Iterator[Snapshot]:
    """Copy the database into a temporary file in `directory` while others write to it."""
    if not _file().exists():
        raise CommandError(f"There is nothing to back up: {_file()} does not exist.")
    with tempfile.TemporaryDirectory(prefix=".backup-", dir=directory) as folder:
        copy = Path(folder, "database")
        _copy(copy, progress)
        with closing(sqlite3.connect(copy)) as database:
            tables = _tables(database)
            rows, migrations = (
                count_rows(database.execute, tables),
                read_migrations(database.execute, tables),
            )
            head = audit_head(database.execute, tables)
        with copy.open("rb") as stream:
            yield Snapshot(rows, migrations, head, copy.stat().st_size, read_chunks(stream))


def _copy(target: Path, progress: Progress) -> None:
    with closing(sqlite3.connect(_file())) as source, closing(sqlite3.connect(target)) as copy:
        # A read transaction keeps one snapshot. Without it, each write by another process would
        # restart the copy.
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        [page_size] = source.execute("PRAGMA page_size").fetchone()

        def report_pages(status: int, remaining: int, total: int) -> None:
            progress.total = total * page_size
            progress.reach((total - remaining) * page_size)

        source.backup(copy, pages=PAGES_AT_ONCE, progress=report_pages)
        copy.execute("PRAGMA journal_mode=DELETE")  # so that there is only one file


def refuse_unless_empty() -> None:
    """Raise `CommandError` if the database has rows or is open elsewhere."""
    if not _file().exists():
        return
    with closing(sqlite3.connect(_file(), timeout=0)) as database:
        try:
            refuse_rows(
                count_rows(database.execute, _tables(database)),
                "Restore into an empty database: set DATA_DIR to a new directory.",
            )
            # Fails if another connection is open: leaving WAL mode needs exclusive access.
            database.execute("PRAGMA journal_mode=DELETE")
        except sqlite3.OperationalError as error:
            raise CommandError(
                f"The database is in use ({error}). Stop the app, then restore."
            ) from error


def restore(chunks: Iterable[bytes], rows: Mapping[str, int], directory: Path) -> None:
    """Put the database in place: all of it, or nothing."""
    part = directory / "database"
    write(part, chunks)
    with closing(sqlite3.connect(part)) as database:
        try:
            refuse_difference(count_rows(database.execute, _tables(database)), rows)
        except sqlite3.DatabaseError as error:
            raise CommandError(
                f"The database in this backup is damaged ({error}). Nothing was changed. Restore "
                "another backup."
            ) from error
    part.rename(_file())


def _tables(database: sqlite3.Connection) -> list[str]:
    """Return the ordinary tables. Virtual tables and their shadow tables derive from others."""
    tables = database.execute(
        "SELECT name FROM pragma_table_list "
        "WHERE schema = 'main' AND type = 'table' AND name NOT GLOB 'sqlite_*'"
    )
    return [name for [name] in tables]


def _file() -> Path:
    return Path(connection.settings_dict["NAME"])
