"""Tables, columns, indexes and triggers that differ from those of this version."""

import pytest
from django.db import connection

from chatapp.checks.results import Status
from chatapp.doctor.schema import check_schema, check_version, repair_triggers
from tests.doctor import statuses

pytestmark = [pytest.mark.django_db, pytest.mark.database]

DAMAGE = {
    "a missing table": (
        "ALTER TABLE chatapp_promptversion RENAME TO lost",
        "Tables",
        "1 differ: chatapp_promptversion",
    ),
    "a missing column": (
        "ALTER TABLE chatapp_promptversion RENAME COLUMN command TO lost",
        "Tables",
        "1 differ: chatapp_promptversion.command",
    ),
    "a missing index": (
        "DROP INDEX conversations_by_cost",
        "Indexes",
        "1 differ: conversations_by_cost",
    ),
    "an unknown trigger": (
        "CREATE VIEW chatapp_unknown AS SELECT 1 AS one",
        "Triggers",
        "1 differ: chatapp_unknown",
    ),
}


def test_a_new_database_is_that_of_this_version() -> None:
    assert check_version(connection).status is Status.OK
    assert statuses(check_schema(connection)) == dict.fromkeys(
        ("Tables", "Indexes", "Triggers"), Status.OK
    )


@pytest.mark.parametrize(("statement", "what", "detail"), DAMAGE.values(), ids=DAMAGE)
def test_a_difference_is_named(statement: str, what: str, detail: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
    results = {result.what: result for result in check_schema(connection)}
    assert results[what].status is Status.FAILED
    assert detail in str(results[what])
    assert results[what].remedy


def test_repairing_removes_an_unknown_view() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE VIEW chatapp_unknown AS SELECT 1 AS one")
    repair_triggers()
    assert statuses(check_schema(connection))["Triggers"] is Status.OK
