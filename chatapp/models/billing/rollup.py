"""Daily and monthly sums of the ledger, kept by database triggers in the same transaction.

So code that books, deletes or erases need not update the sums, not even a process of the previous
version; a reply that is booked again counts once; and a turn needs no extra statement. On
PostgreSQL one statement's changes are added up and applied in the order of their key, so
transactions can't deadlock. A ledger row without a day does not count yet: see `ledger`.

The sums are recomputed whenever the triggers are made, because the ledger may have changed without
them.
"""

from datetime import date
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

from chatapp.db.sql_files import read_sql
from chatapp.db.triggers import trigger_source
from chatapp.models.billing.daily_usage import KEY, SUMS
from chatapp.models.billing.usage import Usage
from chatapp.models.platform.calendar import get_day

AT_ONCE = 1000
TABLES = ("dailyusage", "monthlyusage")
# What stands for the names in braces in `sql/`. A change has a sign: 1 for rows to add, or -1.
COLUMNS = {
    "key": ", ".join(KEY),
    "sums": ", ".join(SUMS),
    "changes": ", ".join(
        f"sum(sign * ({value.format(row='changed')})) AS {name}" for name, value in SUMS.items()
    ),
}
# A trigger in SQLite can use no alias for the table; PostgreSQL takes the bare name for ambiguous.
ADDITIONS = {
    "sqlite": ", ".join(f"{name} = {name} + EXCLUDED.{name}" for name in SUMS),
    "postgresql": ", ".join(f"{name} = stored.{name} + EXCLUDED.{name}" for name in SUMS),
}
POSTGRESQL_EVENTS = {
    "insert": {"rows": "SELECT 1 AS sign, * FROM new_rows", "tables": "NEW TABLE AS new_rows"},
    "update": {
        "rows": "SELECT 1 AS sign, * FROM new_rows UNION ALL SELECT -1, * FROM old_rows",
        "tables": "OLD TABLE AS old_rows NEW TABLE AS new_rows",
    },
    "delete": {"rows": "SELECT -1 AS sign, * FROM old_rows", "tables": "OLD TABLE AS old_rows"},
}


def add_up(connection: BaseDatabaseWrapper) -> None:
    """Recompute all sums. On PostgreSQL nobody can book until the transaction ends."""
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("LOCK TABLE chatapp_usage IN SHARE ROW EXCLUSIVE MODE")
        for table in TABLES:
            cursor.execute(f"DELETE FROM chatapp_{table}")
            cursor.execute(
                f"INSERT INTO chatapp_{table} ({', '.join((*KEY, *SUMS))})"
                f" SELECT {', '.join((*KEY, *SUMS))} FROM chatapp_expected{table}"
            )


@trigger_source("DailyUsage", "with_fees", refresh=add_up)  # the last column of the sums
def usage_triggers(vendor: str) -> str:
    columns = {**COLUMNS, "additions": ADDITIONS[vendor]}
    if vendor == "sqlite":
        return read_sql(__file__, "usage_triggers", vendor, **columns)
    triggers = [
        read_sql(__file__, "usage_trigger", vendor, event=event, **pieces, **columns)
        for event, pieces in POSTGRESQL_EVENTS.items()
    ]
    return "\n".join([read_sql(__file__, "usage_views", vendor, **columns), *triggers])


def differences() -> list[tuple[Any, ...]]:
    """Return the keys, each after its table's name, at which the sums differ from the ledger.

    Each table is compared in one statement, so concurrent bookings make no difference.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    differing_keys: list[tuple[Any, ...]] = []
    stored_columns = ", ".join([*KEY, *(f"-{name} AS {name}" for name in SUMS)])
    differs = " OR ".join(f"sum({name}) <> 0" for name in SUMS)
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(
                f"SELECT {', '.join(KEY)} FROM (SELECT {', '.join((*KEY, *SUMS))}"
                f" FROM chatapp_expected{table} UNION ALL"
                f" SELECT {stored_columns} FROM chatapp_{table}) AS compared"
                f" GROUP BY {', '.join(KEY)} HAVING {differs} ORDER BY {', '.join(KEY)}"
            )
            differing_keys += [(table, *row) for row in cursor.fetchall()]
    return differing_keys


def count_misdated() -> int:
    """Return how many rows have a day that is wrong in the installation's time zone, which may have
    been another one when they were booked."""
    dated = Usage.objects.exclude(day=None).values_list("booked_at", "day")
    return sum(get_day(booked_at) != day for booked_at, day in dated.iterator() if booked_at)


def rebuild() -> None:
    """Set the day of each row again, a portion at a time, and recompute all sums."""
    dated = Usage.objects.exclude(day=None).order_by("pk")
    batch = name_days(dated[:AT_ONCE])
    while batch:
        batch = name_days(dated.filter(pk__gt=batch[-1])[:AT_ONCE])
    add_up(connections[DEFAULT_DB_ALIAS])


def name_days(rows: QuerySet[Usage]) -> list[UUID]:
    """Set the day of these rows from the time they were booked, and return their keys.

    A row that is booked again meanwhile is skipped; it sets its own day.
    """
    read = list(rows.values_list("pk", "booked_at", "day"))
    changed: dict[tuple[date | None, date], list[UUID]] = {}
    for pk, booked_at, day in read:
        if booked_at and (right := get_day(booked_at)) != day:
            changed.setdefault((day, right), []).append(pk)
    for (day, right), keys in changed.items():
        Usage.objects.filter(pk__in=keys, day=day).update(day=right)
    return [pk for pk, _, _ in read]
