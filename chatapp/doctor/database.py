"""Check the database: reachable, writable, migrated, and with the right time.

The connection is not from a pool, so that an unreachable database is reported immediately.
"""

import secrets
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from django.db import utils
from django.db.backends.base.base import BaseDatabaseWrapper

from chatapp.checks.disk import DiskProblem, find_folder_problem
from chatapp.checks.phrases import clock_result, duration, reason
from chatapp.checks.results import CheckResult, Status, failed, ok, skipped
from chatapp.command_line import MANAGE
from chatapp.db.errors import problem_with
from chatapp.db.schema_version import find_unapplied
from chatapp.doctor.schema import check_schema, check_version

TOLERANCE_SECONDS = 2.0

_UNREACHABLE = "the database can't be reached"


def database(connection: BaseDatabaseWrapper) -> Iterator[CheckResult]:
    """Run all checks of the database and close the connection."""
    if _is_missing(connection):
        missing = DiskProblem(f"{_location(connection)} does not exist", "Run make upgrade.")
        problem = find_folder_problem(Path(_location(connection)).parent)
        yield failed("Reachable", *(problem or missing))
        for what in ("Writable", "Migrated"):
            yield skipped(what, "there is no database yet")
        return
    try:
        started = time.monotonic()
        connection.ensure_connection()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        took = time.monotonic() - started
    except (utils.Error, utils.InterfaceError) as error:
        yield failed("Reachable", *_explain_unreachable(connection, error))
        for what in ("Writable", "Migrated"):
            yield skipped(what, _UNREACHABLE)
        return
    try:
        yield ok("Reachable", f"{_version(connection)}, {_location(connection)}, {duration(took)}")
        yield _check_writable(connection)
        migrations_result = _check_migrations(connection)
        yield check_version(connection)
        yield migrations_result
        if migrations_result.status is Status.OK:
            yield from check_schema(connection)
        if connection.vendor == "postgresql":
            yield _check_clock(connection)
    finally:
        connection.close()


def is_usable(connection: BaseDatabaseWrapper) -> bool:
    """Return whether the database is reachable and migrated, so that models can be queried."""
    if _is_missing(connection):
        return False
    try:
        return not find_unapplied(connection)
    except utils.Error:
        return False
    finally:
        connection.close()


def _is_missing(connection: BaseDatabaseWrapper) -> bool:
    """Return whether the SQLite file is missing. Connecting would create it."""
    name = str(connection.settings_dict["NAME"])
    return connection.vendor == "sqlite" and name.startswith("/") and not Path(name).exists()


def _explain_unreachable(connection: BaseDatabaseWrapper, error: Exception) -> DiskProblem:
    problem = problem_with(connection, error) if connection.vendor == "sqlite" else None
    return problem or DiskProblem(
        f"no, {_location(connection)}: {reason(error, _password(connection))}",
        "Start the database, or set DATABASE_URL to where it is.",
    )


def _check_writable(connection: BaseDatabaseWrapper) -> CheckResult:
    """Create a table, insert a row, and roll both back: migrations need the same rights."""
    table = f"chatapp_doctor_{secrets.token_hex(4)}"
    try:
        # Python's sqlite3 would not begin a transaction for CREATE TABLE.
        connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {table} (id integer)")
            cursor.execute(f"INSERT INTO {table} VALUES (1)")  # noqa: S608 - our own name
    except utils.Error as error:
        fallback = DiskProblem(
            f"no: {reason(error)}",
            "Grant the user of DATABASE_URL the right to create and write tables, and use the "
            "primary server, not a replica.",
        )
        problem = problem_with(connection, error) if connection.vendor == "sqlite" else None
        return failed("Writable", *(problem or fallback))
    finally:
        connection.rollback()
        connection.set_autocommit(True)
    return ok("Writable", "yes, tried and rolled back")


def _check_migrations(connection: BaseDatabaseWrapper) -> CheckResult:
    try:
        unapplied = find_unapplied(connection)
    except utils.Error as error:
        return failed(
            "Migrated",
            reason(error),
            "Grant the user of DATABASE_URL the right to read the tables.",
        )
    if not unapplied:
        return ok("Migrated", "all migrations are applied")
    names = ", ".join(unapplied[:3]) + (", …" if len(unapplied) > 3 else "")
    return failed(
        "Migrated",
        f"{len(unapplied)} not applied: {names}",
        f"Run make upgrade, or {MANAGE} migrate.",
    )


def _check_clock(connection: BaseDatabaseWrapper) -> CheckResult:
    before = time.time()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (theirs,) = cursor.fetchone()
    ours = datetime.fromtimestamp((before + time.time()) / 2, UTC)
    return clock_result("Clock", (theirs - ours).total_seconds(), TOLERANCE_SECONDS)


def _version(connection: BaseDatabaseWrapper) -> str:
    version = ".".join(map(str, connection.get_database_version()))
    return f"{connection.display_name} {version}"


def _location(connection: BaseDatabaseWrapper) -> str:
    """Return the location of the database, without user and password."""
    values = connection.settings_dict
    if connection.vendor == "sqlite":
        return str(values["NAME"])
    port = f":{values['PORT']}" if values["PORT"] else ""
    return f"{values['HOST'] or 'local socket'}{port}/{values['NAME']}"


def _password(connection: BaseDatabaseWrapper) -> str:
    return str(connection.settings_dict.get("PASSWORD") or "")
