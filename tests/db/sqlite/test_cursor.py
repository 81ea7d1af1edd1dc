"""A failed cursor may be collected in another thread while its own waits for the database."""

import gc
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from django.db import OperationalError
from django.db.utils import ConnectionHandler

pytestmark = pytest.mark.django_db  # required to open any database

BEGIN = "BEGIN IMMEDIATE"
LONG = 60_000  # ms


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("many", [False, True])
def test_no_thread_waits_for_the_statement_of_another(tmp_path: Path, many: bool) -> None:
    path = tmp_path / "database"
    settings = {"default": {"ENGINE": "chatapp.db.sqlite", "NAME": path}}
    failed, is_waiting = threading.Event(), threading.Event()
    errors: list[OperationalError] = []
    outcomes: list[str] = []

    def write() -> None:
        database = ConnectionHandler(settings)["default"]
        with database.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 0")
        try:
            if many:
                database.cursor().executemany("INSERT INTO one VALUES (%s)", [[1]])
            else:
                database.cursor().execute(BEGIN)
        except OperationalError as error:
            errors.append(error)
        failed.set()
        with database.cursor() as cursor:
            cursor.execute(f"PRAGMA busy_timeout = {LONG}")
        database.connection.set_trace_callback(lambda _: is_waiting.set())
        try:
            database.cursor().execute(BEGIN)
            outcomes.append("written")
        except OperationalError:
            outcomes.append("gave up")
        database.close()

    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE one (a)")
        other.execute(BEGIN)
        writing = threading.Thread(target=write)
        writing.start()
        assert failed.wait(LONG / 1000)
        assert is_waiting.wait(LONG / 1000)
        assert errors
        errors.clear()
        gc.collect()
        other.execute("ROLLBACK")
        writing.join()
    assert outcomes == ["written"]
