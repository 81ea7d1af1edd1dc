"""Statements that are made once, for what each turn asks and stores.

The ORM takes ten times as long to build a statement as the database takes to run it. Here it builds
each the first time, and after that only the values change. All are of the default database.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.expressions import Expression
from django.db.models.sql.compiler import SQLCompiler

M = TypeVar("M", bound=models.Model)


class Slot(Expression):
    """Where a value will stand that is stored as this field has it."""

    def __init__(self, number: int, field: "models.Field[Any, Any]") -> None:
        super().__init__(output_field=field)
        self.number = number

    def as_sql(self, *_: object, **__: object) -> tuple[str, Any]:
        return "%s", (self,)

    def filled(self, values: Sequence[object], connection: BaseDatabaseWrapper) -> Any:
        return self.output_field.get_db_prep_value(values[self.number], connection)


class _Made(NamedTuple):
    model: Any
    sql: str
    parameters: Sequence[Any]  # slots, and values that are always the same
    compiler: SQLCompiler
    converters: dict[int, Any]
    attributes: frozenset[str]  # of the model, in the order of its own


class Query(Generic[M]):
    """What `make` gives for slots of these fields: rows of a model, without what it refers to."""

    def __init__(
        self, make: Callable[..., "models.QuerySet[M]"], *fields: "models.Field[Any, Any]"
    ) -> None:
        self._make = make
        self._slots = [Slot(number, field) for number, field in enumerate(fields)]
        self._made: _Made | None = None

    def all(self, *values: object) -> list[M]:
        made, rows = self._run("{}", values)
        return [
            made.model.from_db(DEFAULT_DB_ALIAS, made.attributes, row)
            for row in made.compiler.apply_converters(rows, made.converters)
        ]

    def first(self, *values: object) -> M | None:
        return next(iter(self.all(*values)), None)

    def count(self, *values: object) -> int:
        _, [(count,)] = self._run("SELECT COUNT(*) FROM ({}) AS counted", values)
        return int(count)

    def _run(self, frame: str, values: Sequence[object]) -> tuple[_Made, list[Any]]:
        connection = connections[DEFAULT_DB_ALIAS]
        made = self._made = self._made or self._make_it(connection)
        parameters = [
            one.filled(values, connection) if isinstance(one, Slot) else one
            for one in made.parameters
        ]
        with connection.cursor() as cursor:
            cursor.execute(frame.format(made.sql), parameters)
            return made, cursor.fetchall()

    def _make_it(self, connection: BaseDatabaseWrapper) -> _Made:
        query = self._make(*self._slots).query
        compiler = query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        columns = [column for column, *_ in compiler.select]
        attributes = frozenset(column.target.attname for column in columns)
        converters = compiler.get_converters(columns)
        return _Made(query.model, sql, parameters, compiler, converters, attributes)


class Insert:
    """Stores new rows; where it is `replacing`, these fields in place of what a row has."""

    def __init__(self, model: type[models.Model], replacing: Iterable[str] = ()) -> None:
        self._fields = model._meta.concrete_fields
        columns = ", ".join(_column(field) for field in self._fields)
        values = ", ".join(["%s"] * len(self._fields))
        self._sql = f"INSERT INTO {model._meta.db_table} ({columns}) VALUES ({values})"  # noqa: S608 - our own names
        if replaced := [_column(model._meta.get_field(name)) for name in replacing]:
            sets = ", ".join(f"{column} = EXCLUDED.{column}" for column in replaced)
            self._sql += f" ON CONFLICT ({_column(model._meta.pk)}) DO UPDATE SET {sets}"

    def run(self, *objects: models.Model) -> None:
        connection = connections[DEFAULT_DB_ALIAS]
        rows = [
            [
                field.get_db_prep_save(field.pre_save(one, add=True), connection)
                for field in self._fields
            ]
            for one in objects
        ]
        with connection.cursor() as cursor:
            cursor.executemany(self._sql, rows)
        for one in objects:
            one._state.adding, one._state.db = False, connection.alias  # noqa: SLF001 - as `save` does


class Update:
    """Stores fields of rows that are there, where those of `where` are as the objects say."""

    def __init__(
        self, model: type[models.Model], fields: Iterable[str], where: Iterable[str] = ("id",)
    ) -> None:
        by_name = {field.name: field for field in model._meta.concrete_fields}
        sets, conditions = [by_name[one] for one in fields], [by_name[one] for one in where]
        self._fields = [*sets, *conditions]
        self._sql = (
            f"UPDATE {model._meta.db_table} SET {', '.join(f'{_column(one)} = %s' for one in sets)}"  # noqa: S608 - our own names
            f" WHERE {' AND '.join(f'{_column(one)} = %s' for one in conditions)}"
        )

    def run(self, *objects: models.Model) -> int:
        """How many of them have such a row."""
        connection = connections[DEFAULT_DB_ALIAS]
        rows = [
            [
                field.get_db_prep_save(getattr(one, field.attname), connection)
                for field in self._fields
            ]
            for one in objects
        ]
        with connection.cursor() as cursor:
            cursor.executemany(self._sql, rows)
            return int(cursor.rowcount)


def _column(field: Any) -> str:
    return f'"{field.column}"'
