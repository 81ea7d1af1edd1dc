"""Why the database can't be used, as far as its errors and the disk tell, with the cure."""

from pathlib import Path

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper

from chatapp.disk import Trouble, trouble_of_folder

UPGRADE = "Run make upgrade, or manage.py migrate."


def trouble_with(database: BaseDatabaseWrapper, error: Exception) -> Trouble | None:
    """What a database's error means; None where that is not known."""
    if database.vendor == "sqlite":
        name = str(database.settings_dict["NAME"]).removeprefix("file:").partition("?")[0]
        return _of_sqlite(Path(name), str(error))
    return _of_postgresql(_psycopgs(error))


def _of_sqlite(file: Path, text: str) -> Trouble | None:
    if "is locked" in text:
        return Trouble(
            f"another program has locked {file}",
            f"End it, or wait until it has ended, and run this again. fuser -v {file} names it: a "
            "backup script perhaps, or an open sqlite3.",
        )
    if "no such table" in text or "no such column" in text:
        return Trouble(f"{file} does not have this version's tables", UPGRADE)
    if "not a database" in text or "malformed" in text:
        return Trouble(
            f"{file} is damaged, or no SQLite database",
            "Move it away, and bring a backup back with manage.py restore.",
        )
    if trouble := trouble_of_folder(file.parent):
        return trouble
    if "readonly" in text or "unable to open" in text:
        return Trouble(
            f"{file} can't be written ({text})",
            "Let the app's user own it and the files beside it (-wal, -shm), and see that none is "
            "immutable (lsattr).",
        )
    if "disk" in text:  # full, or an I/O error
        return Trouble(
            f"{file} can't be read or written as it should: {text}",
            "See that its disk has room (df), and what the kernel says of it (dmesg).",
        )
    return None


def _psycopgs(error: BaseException) -> BaseException | None:
    """Its own error, of which Django made others."""
    known: BaseException | None = error
    while known and not isinstance(known, psycopg.Error):
        known = known.__cause__ or known.__context__
    return known


def _of_postgresql(error: BaseException | None) -> Trouble | None:
    match error:
        case psycopg.errors.UndefinedTable() | psycopg.errors.UndefinedColumn():
            return Trouble("it does not have this version's tables", UPGRADE)
        case psycopg.errors.ReadOnlySqlTransaction():
            return Trouble(
                "it can only be read: it is a replica, or was set to be",
                "Let DATABASE_URL name the primary server.",
            )
        case psycopg.errors.InsufficientPrivilege():
            return Trouble(
                f"the user of DATABASE_URL may not do what is needed: {_first_line(error)}",
                "Let that user own the database.",
            )
        case psycopg.errors.DiskFull():
            return Trouble("its disk is full", "Make room on PostgreSQL's host.")
        case psycopg.OperationalError():
            return Trouble(
                f"it can't be reached: {_first_line(error)}",
                "See that it runs, and that DATABASE_URL names it.",
            )
    return None


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
