"""Dump and restore PostgreSQL with pg_dump and pg_restore.

They get the connection's parameters from environment variables, because every user of the machine
can read a command line.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import psycopg
from django.core.management.base import CommandError
from django.db import connection
from psycopg import sql
from psycopg.pq import Conninfo

from chatapp.management.backups.archive import read_chunks
from chatapp.management.backups.database import (
    Snapshot,
    audit_head,
    count_rows,
    read_migrations,
    refuse_difference,
    refuse_rows,
)
from chatapp.management.backups.progress import Progress


@contextmanager
def snapshot(directory: Path, progress: Progress) -> Iterator[Snapshot]:
    """Dump the database while others write to it, and count the rows in the same snapshot."""
    with _session() as session:
        _require("pg_dump", session)
        session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        tables = _tables(session)
        rows, migrations = (
            count_rows(session.execute, tables),
            read_migrations(session.execute, tables),
        )
        exported = session.execute("SELECT pg_export_snapshot()").fetchone()
        assert exported
        head = audit_head(session.execute, tables)
        yield Snapshot(rows, migrations, head, 0, _dump(session, exported[0]))


def _dump(session: psycopg.Connection, snapshot_id: str) -> Iterator[bytes]:
    command = [
        "pg_dump",
        "--format=custom",
        f"--snapshot={snapshot_id}",
        "--no-owner",
        "--no-privileges",
    ]
    command += ["--compress=0"]  # the archive compresses
    with _run(command, session, stdout=subprocess.PIPE) as process:
        assert process.stdout
        yield from read_chunks(process.stdout)


def refuse_unless_empty() -> None:
    """Raise `CommandError` if the database has rows or other connections."""
    with _session() as session:
        _require("pg_restore", session)
        refuse_rows(
            count_rows(session.execute, _tables(session)),
            "Restore into an empty database: set DATABASE_URL to a new one.",
        )
        others = session.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ).fetchone()
        assert others
        if others[0]:
            raise CommandError(
                f"The database is in use (connections: {others[0]}). Stop the app and all other "
                "clients, then restore."
            )


def restore(chunks: Iterable[bytes], rows: Mapping[str, int], directory: Path) -> None:
    """Restore the dump in one transaction: all of it, or nothing."""
    with _session() as session:
        for table in _tables(session):  # they are empty, and may be from another version
            session.execute(sql.SQL("DROP TABLE {} CASCADE").format(sql.Identifier(table)))
        for function in _list_functions(session):
            session.execute(sql.SQL("DROP FUNCTION {}").format(sql.Identifier(function)))
        session.commit()
        command = ["pg_restore", "--single-transaction", "--exit-on-error"]
        command += ["--no-owner", "--no-privileges", f"--dbname={session.info.dbname}"]
        with _run(command, session, stdin=subprocess.PIPE) as process:
            assert process.stdin
            # pg_restore's own error is reported.
            with suppress(BrokenPipeError), process.stdin as stdin:
                for chunk in chunks:
                    stdin.write(chunk)
        refuse_difference(count_rows(session.execute, _tables(session)), rows)


def _session() -> psycopg.Connection:
    """Open a connection outside Django's pool, which would open several."""
    try:
        return psycopg.connect(**connection.get_connection_params())
    except psycopg.OperationalError as error:
        raise CommandError(f"The database can't be reached: {error}") from error


def _tables(session: psycopg.Connection) -> list[str]:
    tables = session.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    return [name for [name] in tables]


def _list_functions(session: psycopg.Connection) -> list[str]:
    """Return the names of the app's functions, which its triggers call."""
    functions = session.execute(
        "SELECT proname FROM pg_proc WHERE pronamespace = current_schema()::regnamespace"
        " AND proname LIKE 'chatapp\\_%'"
    )
    return [name for [name] in functions]


def _require(tool: str, session: psycopg.Connection) -> None:
    """Raise `CommandError` if the tool is missing or too old for the server."""
    server = session.info.server_version // 10000
    remedy = f"Install PostgreSQL's client programs, version {server} or newer, and run this again."
    try:
        output = subprocess.run(  # noqa: S603 - our own arguments
            [tool, "--version"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise CommandError(f"{tool} can't be run: it is not on the PATH. {remedy}") from error
    version = re.search(r"(\d+)", output.stdout)
    if not version or int(version[1]) < server:
        raise CommandError(
            f"{tool} is too old for PostgreSQL {server}: {output.stdout.strip()}. {remedy}"
        )


@contextmanager
def _run(
    command: list[str],
    session: psycopg.Connection,
    stdin: int | None = None,
    stdout: int | None = None,
) -> "Iterator[subprocess.Popen[bytes]]":
    """Run a tool. Raises `CommandError` with its output if it fails."""
    environment = os.environ | _connection_variables(session)
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(  # noqa: S603 - our own arguments
            command, env=environment, stdin=stdin, stdout=stdout, stderr=errors
        ) as process:
            try:
                yield process
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            raise CommandError(f"{command[0]} failed and left nothing behind: {_read_text(errors)}")


def _read_text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace").strip()


def _connection_variables(session: psycopg.Connection) -> dict[str, str]:
    """Return the environment variables that make libpq connect as this session did."""
    info = session.info
    names = {option.keyword.decode(): option.envvar for option in Conninfo.get_defaults()}
    values = info.get_parameters() | {"password": info.password}
    variables = ((names.get(keyword), value) for keyword, value in values.items())
    return {name.decode(): value for name, value in variables if name and value}
