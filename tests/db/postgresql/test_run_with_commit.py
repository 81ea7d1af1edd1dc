"""The last statements of a transaction are sent with its COMMIT, as if they had run before it."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import DataError, IntegrityError, connection, transaction
from psycopg.pq import Trace

from chatapp.db.postgresql.base import DatabaseWrapper
from chatapp.models import Suggestion, audit

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="needs PostgreSQL"),
]

database: Any = connection
INSERT = "INSERT INTO chatapp_suggestion (id, text, position) VALUES (%s, %s, 0)"
# PostgreSQL rejects the first when it runs, and the second when it is committed.
DUPLICATE = INSERT, [1, "twice"]
DANGLING = "INSERT INTO chatapp_user_groups (user_id, group_id) VALUES (%s, %s)", [987, 987]


def insert(number: int) -> None:
    database.run_with_commit(INSERT, [number, f"number{number}"])


def stored() -> list[int]:
    """Return the rows that another connection sees."""
    with closing(connection.copy()) as other, other.cursor() as cursor:
        cursor.execute("SELECT id FROM chatapp_suggestion ORDER BY id")
        return [number for (number,) in cursor.fetchall()]


@contextmanager
def sent_messages() -> Iterator[list[str]]:
    """Collect the messages sent to PostgreSQL, each as the first words of its statements."""
    messages: list[str] = []
    connection.ensure_connection()
    with tempfile.TemporaryFile("w+") as file:
        session = connection.connection.pgconn
        session.trace(file.fileno())
        session.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
        yield messages
        session.untrace()
        file.seek(0)
        sent = re.findall(r'^F\t\d+\tQuery\t "(.*)"$', file.read(), re.MULTILINE)
        messages += ["; ".join(re.findall(r"(?:^|; )(\w+)", message)) for message in sent]


# When statements run


def test_the_last_statements_are_sent_with_the_commit() -> None:
    with sent_messages() as messages, transaction.atomic():
        assert Suggestion.objects.count() == 0
        insert(1)
        insert(2)
        assert stored() == []
    assert messages == ["BEGIN", "SELECT", "INSERT; INSERT; COMMIT"]
    assert stored() == [1, 2]


def test_a_transaction_may_consist_of_deferred_statements_only() -> None:
    with sent_messages() as messages, transaction.atomic():
        insert(1)
    assert messages == ["BEGIN", "INSERT; COMMIT"]
    assert stored() == [1]


def test_later_statements_see_the_deferred_ones() -> None:
    with sent_messages() as messages, transaction.atomic(), connection.cursor() as older:
        insert(1)
        assert Suggestion.objects.count() == 1
        insert(2)
        older.execute("UPDATE chatapp_suggestion SET position = 1")
        assert older.rowcount == 2
        insert(3)
        older.executemany("UPDATE chatapp_suggestion SET position = %s", [[2]])
        assert older.rowcount == 3
        insert(4)
        assert len(list(Suggestion.objects.iterator())) == 4
    assert messages.count("INSERT") == 4
    assert messages[-1] == "COMMIT"


def test_outside_a_transaction_a_statement_runs_immediately() -> None:
    with sent_messages() as messages:
        insert(1)
    assert messages == ["INSERT"]
    assert stored() == [1]


def test_on_commit_callbacks_see_the_deferred_statements() -> None:
    found: list[list[int]] = []
    with transaction.atomic():
        transaction.on_commit(lambda: found.append(stored()))
        insert(1)
    assert found == [[1]]


# When statements don't run


def test_a_rollback_discards_deferred_statements() -> None:
    with transaction.atomic():
        insert(1)
        transaction.set_rollback(True)
    with transaction.atomic():
        insert(2)
    assert stored() == [2]


def test_closing_the_connection_discards_deferred_statements() -> None:
    with transaction.atomic():
        insert(1)
        connection.close()
    with transaction.atomic():
        insert(2)
    assert stored() == [2]


def test_rolling_back_to_a_savepoint_discards_only_later_statements() -> None:
    with transaction.atomic():
        insert(1)
        with transaction.atomic():
            insert(2)
        with transaction.atomic():
            insert(3)
            transaction.set_rollback(True)
        with pytest.raises(IntegrityError), transaction.atomic():
            insert(1)
        with transaction.atomic(), connection.cursor() as cursor:
            with pytest.raises(DataError):
                cursor.execute("SELECT 1 / 0")
            insert(4)
            transaction.set_rollback(True)
        insert(5)
    assert stored() == [1, 2, 5]


# When statements fail


@pytest.mark.parametrize("rejected", [DUPLICATE, DANGLING])
def test_a_statement_that_fails_with_the_commit_rolls_back_the_transaction(
    rejected: tuple[str, list[object]],
) -> None:
    done: list[str] = []

    @transaction.atomic
    def fail() -> None:
        transaction.on_commit(lambda: done.append("in vain"))
        Suggestion.objects.create(pk=2, text="before it")
        insert(3)
        database.run_with_commit(*rejected)
        insert(4)

    insert(1)
    with pytest.raises(IntegrityError):
        fail()
    assert (stored(), done) == ([1], [])
    with transaction.atomic():
        insert(5)
    assert stored() == [1, 5]


def test_a_statement_that_fails_before_the_next_statement_raises_there() -> None:
    insert(1)
    with transaction.atomic():
        database.run_with_commit(*DUPLICATE)
        with pytest.raises(IntegrityError):
            Suggestion.objects.count()
        transaction.set_rollback(True)
    assert stored() == [1]


def test_no_statement_runs_in_a_broken_transaction() -> None:
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(transaction.TransactionManagementError):
            insert(1)
    assert stored() == []


def test_server_side_binding_is_rejected() -> None:
    settings = connection.settings_dict | {"OPTIONS": {"server_side_binding": True}}
    with pytest.raises(ImproperlyConfigured, match="server_side_binding"):
        DatabaseWrapper(settings).get_connection_params()


# The use in the audit log


def test_a_transaction_that_ends_with_an_audit_event_takes_three_messages() -> None:
    def sign_in() -> None:
        with transaction.atomic():
            audit.record("person.signed_in", actor=None, detail={"ip": "192.0.2.1"})

    sign_in()
    with sent_messages() as messages:
        sign_in()
    assert messages == ["BEGIN", "SELECT", "WITH; COMMIT"]
    assert audit.verify().events == 2
