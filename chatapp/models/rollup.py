"""Keeps the sums of the ledger, in the transaction that changes it: the database does, by triggers.

So whoever books, deletes or erases need not know of it, a process of the version before among them;
a reply that is booked again counts once; and a turn needs no statement more. On PostgreSQL one
statement's changes are added up and applied in the order of their key, so that no two transactions
wait for each other. A row of the ledger that names no day does not count yet: see `ledger`.

The triggers are made after every `migrate`, as those of `sequence` are.
"""

from collections.abc import Iterator
from datetime import date
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

from chatapp.models.daily_usage import KEY, SUMS
from chatapp.models.usage import Usage

AT_ONCE = 1000
EVENTS = ("insert", "update", "delete")
CHANGED = {  # what PostgreSQL calls the rows of before and after, in one table
    "insert": "SELECT 1 AS sign, * FROM came",
    "update": "SELECT 1 AS sign, * FROM came UNION ALL SELECT -1, * FROM gone",
    "delete": "SELECT -1 AS sign, * FROM gone",
}
REFERENCING = {
    "insert": "NEW TABLE AS came",
    "update": "OLD TABLE AS gone NEW TABLE AS came",
    "delete": "OLD TABLE AS gone",
}
THOSE_THERE = {
    "sqlite": "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'chatapp_usage'",
    "postgresql": "SELECT prosrc FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid"
    " WHERE tgrelid = 'chatapp_usage'::regclass",
}
MONTH = {
    "sqlite": "date({day}, 'start of month')",
    "postgresql": "date_trunc('month', {day})::date",
}


def _tables(vendor: str) -> dict[str, str]:
    """Each table with the day under which it counts a row."""
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
    """What is done after each event, in the database's own words."""
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
        yield f"DROP TRIGGER IF EXISTS {name}"
        yield f"CREATE TRIGGER {name} AFTER {event} ON chatapp_usage BEGIN {body} END"
        return
    yield (
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN {body} RETURN NULL; END $$"
    )
    yield f"DROP TRIGGER IF EXISTS {name} ON chatapp_usage"
    yield (
        f"CREATE TRIGGER {name} AFTER {event} ON chatapp_usage"
        f" REFERENCING {REFERENCING[event]} FOR EACH STATEMENT EXECUTE FUNCTION {name}()"
    )


def make_triggers(connection: BaseDatabaseWrapper) -> None:
    """And adds up anew what others added up, that did it in another way."""
    vendor = connection.vendor
    bodies = _for_sqlite() if vendor == "sqlite" else _for_postgresql()
    with connection.cursor() as cursor:
        cursor.execute(THOSE_THERE[vendor])
        there = [text for (text,) in cursor.fetchall()]
    if all(any(body in text for text in there) for body in bodies.values()):
        return
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        for event, body in bodies.items():
            for statement in _statements(vendor, event, body):
                cursor.execute(statement)
        add_up(connection)


def differences() -> list[tuple[Any, ...]]:
    """The keys, each after its table's name, under which the sums are not what the ledger adds up
    to; of one moment, whoever books meanwhile."""
    connection = connections[DEFAULT_DB_ALIAS]
    found: list[tuple[Any, ...]] = []
    with connection.cursor() as cursor:
        for table, day in _tables(connection.vendor).items():
            kept = ", ".join([*KEY, *(f"-{name} AS {name}" for name in SUMS)])
            differs = " OR ".join(f"sum({name}) <> 0" for name in SUMS)
            cursor.execute(
                f"SELECT {', '.join(KEY)} FROM ({_of_ledger(day)} UNION ALL"
                f" SELECT {kept} FROM {table}) AS compared"
                f" GROUP BY {', '.join(KEY)} HAVING {differs} ORDER BY {', '.join(KEY)}"
            )
            found += [(table.removeprefix("chatapp_"), *row) for row in cursor.fetchall()]
    return found


def misdated() -> int:
    """How many rows name a day that is not theirs in the installation's zone, which may have been
    another one when they were booked."""
    dated = Usage.objects.exclude(day=None).values_list("booked_at", "day")
    return sum(Usage.day_of(booked_at) != day for booked_at, day in dated.iterator() if booked_at)


def rebuild() -> None:
    """Names each row's day anew, a few at a time, and adds up all of it."""
    dated = Usage.objects.exclude(day=None).order_by("pk")
    some = name_days(dated[:AT_ONCE])
    while some:
        some = name_days(dated.filter(pk__gt=some[-1])[:AT_ONCE])
    add_up(connections[DEFAULT_DB_ALIAS])


def add_up(connection: BaseDatabaseWrapper) -> None:
    """All of it; for as long as that takes nobody books."""
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("LOCK TABLE chatapp_usage IN SHARE ROW EXCLUSIVE MODE")
        for table, day in _tables(connection.vendor).items():
            cursor.execute(f"DELETE FROM {table}")
            cursor.execute(f"INSERT INTO {table} ({', '.join((*KEY, *SUMS))}) {_of_ledger(day)}")


def name_days(rows: QuerySet[Usage]) -> list[UUID]:
    """Of these, by when they were booked; returns their keys. One that is booked again meanwhile
    names its day itself."""
    read = list(rows.values_list("pk", "booked_at", "day"))
    changed: dict[tuple[date | None, date], list[UUID]] = {}
    for pk, booked_at, day in read:
        if booked_at and (right := Usage.day_of(booked_at)) != day:
            changed.setdefault((day, right), []).append(pk)
    for (day, right), keys in changed.items():
        Usage.objects.filter(pk__in=keys, day=day).update(day=right)
    return [pk for pk, _, _ in read]


def _of_ledger(day: str) -> str:
    key = zip(KEY, _key(day, "chatapp_usage"), strict=True)
    columns = [f"{value} AS {name}" for name, value in key]
    columns += [f"sum({value}) AS {name}" for name, value in _sums("chatapp_usage").items()]
    return (
        f"SELECT {', '.join(columns)} FROM chatapp_usage WHERE chatapp_usage.day IS NOT NULL"
        " GROUP BY 1, 2, 3, 4"
    )
