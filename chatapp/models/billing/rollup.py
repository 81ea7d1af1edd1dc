"""Daily and monthly sums of the ledger, kept by database triggers in the same transaction.

So code that books, deletes or erases need not update the sums, not even a process of the previous
version; a reply that is booked again counts once; and a turn needs no extra statement. On
PostgreSQL one statement's changes are added up and applied in the order of their key, so
transactions can't deadlock. A ledger row without a day does not count yet: see `ledger`.

The sums are recomputed whenever the triggers are made, because the ledger may have changed without
them.
"""

from collections.abc import Iterator
from datetime import date
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

from chatapp.db.triggers import trigger_source
from chatapp.models.billing.daily_usage import KEY, SUMS
from chatapp.models.billing.usage import Usage
from chatapp.models.platform.calendar import get_day

AT_ONCE = 1000
EVENTS = ("insert", "update", "delete")
CHANGED = {  # in PostgreSQL: the new and old rows in one table, with a sign
    "insert": "SELECT 1 AS sign, * FROM came",
    "update": "SELECT 1 AS sign, * FROM came UNION ALL SELECT -1, * FROM gone",
    "delete": "SELECT -1 AS sign, * FROM gone",
}
REFERENCING = {
    "insert": "NEW TABLE AS came",
    "update": "OLD TABLE AS gone NEW TABLE AS came",
    "delete": "OLD TABLE AS gone",
}
MONTH = {
    "sqlite": "date({day}, 'start of month')",
    "postgresql": "date_trunc('month', {day})::date",
}


def _tables(vendor: str) -> dict[str, str]:
    """Return each table with the SQL for the day under which it counts a row."""
    return {"chatapp_dailyusage": "{day}", "chatapp_monthlyusage": MONTH[vendor]}


def _key(day: str, row: str) -> list[str]:
    named = f"coalesce({row}.user_id, 0)", f"{row}.upstream_name", f"{row}.model"
    return [day.format(day=f"{row}.day"), *named]


def _sums(row: str) -> dict[str, str]:
    return {name: expression.format(row=row) for name, expression in SUMS.items()}


def _add(table: str, selected: str) -> str:
    adds = ", ".join(f"{name} = {table}.{name} + EXCLUDED.{name}" for name in SUMS)
    return (
        f"INSERT INTO {table} ({', '.join((*KEY, *SUMS))}) {selected} "
        f"ON CONFLICT ({', '.join(KEY)}) DO UPDATE SET {adds};"
    )


def _for_sqlite() -> dict[str, str]:
    """Return the SQL to run after each event."""
    add = take = ""
    for table, day in _tables("sqlite").items():
        values = ", ".join([*_key(day, "NEW"), *_sums("NEW").values()])
        add += _add(table, f"SELECT {values} WHERE NEW.day IS NOT NULL")
        key = zip(KEY, _key(day, "OLD"), strict=True)
        where = " AND ".join(f"{name} = {value}" for name, value in key)
        less = ", ".join(f"{name} = {name} - {value}" for name, value in _sums("OLD").items())
        take += f"UPDATE {table} SET {less} WHERE {where};"
        take += f"DELETE FROM {table} WHERE {where} AND booked = 0;"
    return {"insert": add, "update": take + add, "delete": take}


def _for_postgresql() -> dict[str, str]:
    bodies = {}
    for event in EVENTS:
        body = ""
        for table, day in _tables("postgresql").items():
            sums = ", ".join(f"sum(sign * ({value}))" for value in _sums("changed").values())
            key = ", ".join(_key(day, "changed"))
            body += _add(
                table,
                f"SELECT {key}, {sums} FROM ({CHANGED[event]}) AS changed WHERE day IS NOT NULL "
                "GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4",
            )
            if event != "insert":
                key = ", ".join(_key(day, "gone"))
                body += (
                    f"DELETE FROM {table} WHERE booked = 0"
                    f" AND ({', '.join(KEY)}) IN (SELECT {key} FROM gone);"
                )
        bodies[event] = body
    return bodies


def _statements(vendor: str, event: str, body: str) -> Iterator[str]:
    name = f"chatapp_usage_{event}"
    if vendor == "sqlite":
        yield f"CREATE TRIGGER {name} AFTER {event} ON chatapp_usage BEGIN {body} END;"
        return
    yield (
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN {body} RETURN NULL; END $$;"
    )
    yield (
        f"CREATE TRIGGER {name} AFTER {event} ON chatapp_usage"
        f" REFERENCING {REFERENCING[event]} FOR EACH STATEMENT EXECUTE FUNCTION {name}();"
    )


def add_up(connection: BaseDatabaseWrapper) -> None:
    """Recompute all sums. On PostgreSQL nobody can book until the transaction ends."""
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("LOCK TABLE chatapp_usage IN SHARE ROW EXCLUSIVE MODE")
        for table, day in _tables(connection.vendor).items():
            cursor.execute(f"DELETE FROM {table}")
            cursor.execute(
                f"INSERT INTO {table} ({', '.join((*KEY, *SUMS))}) {_select_ledger_sums(day)}"
            )


@trigger_source("DailyUsage", "with_fees", refresh=add_up)  # the last column of the sums
def usage_triggers(vendor: str) -> str:
    bodies = _for_sqlite() if vendor == "sqlite" else _for_postgresql()
    return "\n".join(
        statement
        for event, body in bodies.items()
        for statement in _statements(vendor, event, body)
    )


def differences() -> list[tuple[Any, ...]]:
    """Return the keys, each after its table's name, at which the sums differ from the ledger.

    Each table is compared in one statement, so concurrent bookings make no difference.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    differing_keys: list[tuple[Any, ...]] = []
    with connection.cursor() as cursor:
        for table, day in _tables(connection.vendor).items():
            stored_columns = ", ".join([*KEY, *(f"-{name} AS {name}" for name in SUMS)])
            differs = " OR ".join(f"sum({name}) <> 0" for name in SUMS)
            cursor.execute(
                f"SELECT {', '.join(KEY)} FROM ({_select_ledger_sums(day)} UNION ALL"
                f" SELECT {stored_columns} FROM {table}) AS compared"
                f" GROUP BY {', '.join(KEY)} HAVING {differs} ORDER BY {', '.join(KEY)}"
            )
            differing_keys += [(table.removeprefix("chatapp_"), *row) for row in cursor.fetchall()]
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


def _select_ledger_sums(day: str) -> str:
    key = zip(KEY, _key(day, "chatapp_usage"), strict=True)
    columns = [f"{value} AS {name}" for name, value in key]
    columns += [f"sum({value}) AS {name}" for name, value in _sums("chatapp_usage").items()]
    return (
        f"SELECT {', '.join(columns)} FROM chatapp_usage WHERE chatapp_usage.day IS NOT NULL"
        " GROUP BY 1, 2, 3, 4"
    )
