"""Why the database can't be used, as far as its errors and the disk tell, with the remedy."""

from pathlib import Path

from django.db.backends.base.base import BaseDatabaseWrapper

from chatapp.checks.disk import DiskProblem, find_folder_problem
from chatapp.command_line import MANAGE

UPGRADE = f"Run make upgrade, or {MANAGE} migrate."


def problem_with(database: BaseDatabaseWrapper, error: Exception) -> DiskProblem | None:
    """Return what a database error means, or None if that is unknown."""
    if database.vendor == "sqlite":
        name = str(database.settings_dict["NAME"]).removeprefix("file:").partition("?")[0]
        return _find_sqlite_problem(Path(name), str(error))
    return _find_postgresql_problem(error)


def _find_sqlite_problem(file: Path, text: str) -> DiskProblem | None:
    if "is locked" in text:
        return DiskProblem(
            f"another program has locked {file}",
            f"Stop that program or wait for it to finish, then run this again. fuser -v {file} "
            "shows it: often a backup script or an open sqlite3 shell.",
        )
    if "no such table" in text or "no such column" in text:
        return DiskProblem(f"{file} does not have this version's tables", UPGRADE)
    if "not a database" in text or "malformed" in text:
        return DiskProblem(
            f"{file} is damaged or not a SQLite database",
            f"Move it away, and restore a backup with {MANAGE} restore.",
        )
    if problem := find_folder_problem(file.parent):
        return problem
    if "readonly" in text or "unable to open" in text:
        return DiskProblem(
            f"{file} can't be written ({text})",
            "Make the app's user the owner of it and of the files beside it (-wal, -shm), and "
            "check that none is immutable (lsattr).",
        )
    if "disk" in text:  # full, or an I/O error
        return DiskProblem(
            f"{file} can't be read or written correctly: {text}",
            "Check that its disk has free space (df), and what the kernel logged (dmesg).",
        )
    return None


def _find_postgresql_problem(error: BaseException | None) -> DiskProblem | None:
    import psycopg  # a process on SQLite saves 9 MB

    while error and not isinstance(error, psycopg.Error):  # Django wraps it
        error = error.__cause__ or error.__context__
    match error:
        case psycopg.errors.UndefinedTable() | psycopg.errors.UndefinedColumn():
            return DiskProblem("it does not have this version's tables", UPGRADE)
        case psycopg.errors.ReadOnlySqlTransaction():
            return DiskProblem(
                "it is read-only: a replica, or configured so",
                "Point DATABASE_URL to the primary server.",
            )
        case psycopg.errors.InsufficientPrivilege():
            return DiskProblem(
                f"the user of DATABASE_URL lacks a privilege: {_first_line(error)}",
                "Make that user the owner of the database.",
            )
        case psycopg.errors.DiskFull():
            return DiskProblem("its disk is full", "Free some space on PostgreSQL's host.")
        case psycopg.OperationalError():
            return DiskProblem(
                f"it can't be reached: {_first_line(error)}",
                "Check that it is running and that DATABASE_URL points to it.",
            )
    return None


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
