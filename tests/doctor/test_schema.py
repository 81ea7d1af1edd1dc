"""Tables, columns, indexes and triggers that differ from those of this version."""

import pytest
from django.db import connection

from chatapp.checks.results import Status
from chatapp.doctor.schema import check_schema, check_version, repair_triggers
from tests.doctor import statuses

pytestmark = [pytest.mark.django_db, pytest.mark.database]

TABLE = "ALTER TABLE chatapp_promptversion RENAME TO lost"
COLUMN = "ALTER TABLE chatapp_promptversion RENAME COLUMN command TO lost"
INDEX = "DROP INDEX conversations_by_cost"
VIEW = "CREATE VIEW chatapp_unknown AS SELECT 1 AS one"


def test_a_new_database_is_that_of_this_version() -> None:
    assert check_version(connection).status is Status.OK
    assert statuses(check_schema(connection)) == dict.fromkeys(
        ("Tables", "Indexes", "Triggers"), Status.OK
    )


@pytest.mark.parametrize(
    ("statements", "details"),
    [
        ([TABLE], {"Tables": "1 differ: chatapp_promptversion"}),
        (
            [COLUMN, INDEX, VIEW],
            {
                "Tables": "1 differ: chatapp_promptversion.command",
                "Indexes": "1 differ: conversations_by_cost",
                "Triggers": "1 differ: chatapp_unknown",
            },
        ),
    ],
    ids=["a missing table", "a missing column, a missing index and an unknown view"],
)
def test_differences_are_named(statements: list[str], details: dict[str, str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
    results = {result.what: result for result in check_schema(connection)}
    for what, detail in details.items():
        assert results[what].status is Status.FAILED
        assert detail in str(results[what])
        assert results[what].remedy


def test_repairing_removes_an_unknown_view() -> None:
    with connection.cursor() as cursor:
        cursor.execute(VIEW)
    repair_triggers()
    assert statuses(check_schema(connection))["Triggers"] is Status.OK
