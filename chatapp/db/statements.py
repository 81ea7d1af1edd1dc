"""SQL statements that are compiled once, for what every turn or every chat page needs.

Building a statement in the ORM takes ten times as long as the database takes to run it. Here the
ORM builds each statement the first time only; after that only the values change. Django's work
around each statement and for each model instance takes as long again, so this module does just the
part that these models need. All statements use the default database.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.sqlite3.base import FORMAT_QMARK_REGEX
from django.db.models import query as querysets
from django.db.models.base import ModelState
from django.db.models.expressions import Expression

related_populators: Any = querysets.get_related_populators

M = TypeVar("M", bound=models.Model)


class Parameter(Expression):
    """A placeholder for a value, which is stored the way this field stores it."""

    def __init__(self, number: int, field: "models.Field[Any, Any]") -> None:
        super().__init__(output_field=field)
        self.number = number

    def as_sql(self, *_: object, **__: object) -> tuple[str, Any]:
        return "%s", (self,)

    def prepare_value(self, values: Sequence[object], connection: BaseDatabaseWrapper) -> Any:
        return self.output_field.get_db_prep_value(values[self.number], connection)


class _CompiledQuery(NamedTuple):
    sql: str
    parameters: Sequence[Any]  # slots and constant values
    converters: Sequence[tuple[int, Any, Any]]  # (index, converter, column)
    read: Callable[[list[Any]], Any]  # turns a row into an instance


class Query(Generic[M]):
    """A query that returns model instances, with their annotations and `select_related`.

    `make` gets a slot for each field and returns a queryset.
    """

    def __init__(
        self, make: Callable[..., "models.QuerySet[M]"], *fields: "models.Field[Any, Any]"
    ) -> None:
        self._make = make
        self._slots = [Parameter(number, field) for number, field in enumerate(fields)]
        self._compiled: _CompiledQuery | None = None

    def all(self, *values: object) -> list[M]:
        connection = connections[DEFAULT_DB_ALIAS]
        compiled = self._get_compiled(connection)
        cursor = _run(
            connection, compiled.sql, self._prepare_parameters(compiled, values, connection)
        )
        return [compiled.read(_convert_row(compiled, row, connection)) for row in cursor.fetchall()]

    def first(self, *values: object) -> M | None:
        return next(iter(self.all(*values)), None)

    def count(self, *values: object) -> int:
        connection = connections[DEFAULT_DB_ALIAS]
        compiled = self._get_compiled(connection)
        sql = f"SELECT COUNT(*) FROM ({compiled.sql}) AS counted"  # noqa: S608 - the ORM's
        [count] = _run(
            connection, sql, self._prepare_parameters(compiled, values, connection)
        ).fetchone()
        return int(count)

    def _get_compiled(self, connection: BaseDatabaseWrapper) -> _CompiledQuery:
        if not self._compiled:
            self._compiled = self._compile(connection)
        return self._compiled

    def _compile(self, connection: BaseDatabaseWrapper) -> _CompiledQuery:
        query = self._make(*self._slots).query
        compiler: Any = query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        columns = [column for column, *_ in compiler.select]
        converters = [
            (index, convert, column)
            for index, (field_converters, column) in compiler.get_converters(columns).items()
            for convert in field_converters
        ]
        return _CompiledQuery(sql, parameters, converters, self._reader(query.model, compiler))

    def _reader(self, model: Any, compiler: Any) -> Callable[[list[Any]], M]:
        """Build instances as `Model.from_db` does: fields that are not in the row are deferred.

        It skips `__init__` and the init signals, which none of these models uses.
        """
        info = compiler.klass_info
        first, last = info["select_fields"][0], info["select_fields"][-1]
        own = slice(first, last + 1)
        attributes = [column.target.attname for column, *_ in compiler.select[own]]
        populators = related_populators(info, compiler.select, DEFAULT_DB_ALIAS)
        annotations = (compiler.annotation_col_map or {}).items()

        def read(values: list[Any]) -> Any:
            instance = model.__new__(model)
            instance.__dict__.update(zip(attributes, values[own], strict=True))
            state = instance.__dict__["_state"] = ModelState()
            state.adding, state.db = False, DEFAULT_DB_ALIAS
            for populator in populators:
                populator.populate(values, instance)
            for name, index in annotations:
                setattr(instance, name, values[index])
            return instance

        return read

    @staticmethod
    def _prepare_parameters(
        compiled: _CompiledQuery, values: Sequence[object], connection: BaseDatabaseWrapper
    ) -> list[object]:
        return [
            parameter.prepare_value(values, connection)
            if isinstance(parameter, Parameter)
            else parameter
            for parameter in compiled.parameters
        ]


def _convert_row(
    compiled: _CompiledQuery, row: Sequence[object], connection: BaseDatabaseWrapper
) -> list[object]:
    values = list(row)
    for index, convert, column in compiled.converters:
        if values[index] is not None:
            values[index] = convert(values[index], column, connection)
    return values


class PreparedIn(Generic[M]):
    """A query with an `IN` over any number of values, 40 per statement.

    A shorter batch repeats its last value, so that the statement stays the same.
    """

    AT_ONCE = 40

    def __init__(
        self, make: Callable[..., "models.QuerySet[M]"], field: "models.Field[Any, Any]"
    ) -> None:
        self._query = Query(make, *[field] * self.AT_ONCE)

    def all(self, values: Iterable[object]) -> list[M]:
        all_values = list(values)
        instances: list[M] = []
        for start in range(0, len(all_values), self.AT_ONCE):
            batch = all_values[start : start + self.AT_ONCE]
            instances += self._query.all(*batch, *[batch[-1]] * (self.AT_ONCE - len(batch)))
        return instances


def build(model: type[M], /, **values: object) -> M:
    """Return a new instance in a third of the model's own time; sends no init signals."""
    constants, factories = _defaults(model)
    instance = model.__new__(model)
    instance.__dict__.update(constants, _state=ModelState())
    for name, make in factories.items():
        if name not in values:
            instance.__dict__[name] = make()
    for name, value in values.items():
        setattr(instance, name, value)
    return instance


@cache
def _defaults(model: type[models.Model]) -> tuple[dict[str, object], dict[str, Callable[[], Any]]]:
    """The defaults of its attributes: constant ones, and the callables that make the others."""
    fields = model._meta.concrete_fields
    factories = {
        field.attname: field.default
        for field in fields
        if field.has_default() and callable(field.default)
    }
    constants = {
        field.attname: field.get_default() for field in fields if field.attname not in factories
    }
    return constants, factories


class Insert:
    """Insert new rows. If a row exists already, the fields named in `replacing` overwrite it."""

    def __init__(self, model: type[models.Model], replacing: Iterable[str] = ()) -> None:
        fields = model._meta.concrete_fields
        self._columns = [(field, field.attname, _PLAIN.get(type(field))) for field in fields]
        # Some of these get their value only in `pre_save`.
        self._times = [field for field in fields if isinstance(field, models.DateField)]
        columns = ", ".join(_column(field) for field in fields)
        self._values = f"({', '.join(['%s'] * len(fields))})"
        self._sql = f"INSERT INTO {model._meta.db_table} ({columns}) VALUES {self._values}"  # noqa: S608 - our own names
        if replaced := [_column(model._meta.get_field(name)) for name in replacing]:
            sets = ", ".join(f"{column} = EXCLUDED.{column}" for column in replaced)
            self._sql += f" ON CONFLICT ({_column(model._meta.pk)}) DO UPDATE SET {sets}"

    @property
    def sql(self) -> str:
        return self._sql

    def row(self, instance: models.Model, connection: BaseDatabaseWrapper) -> list[Any]:
        for field in self._times:
            field.pre_save(instance, add=True)
        has = vars(instance)
        return [  # most values pass unchanged: calling the field for each would double the time
            value
            if (value := has[name]) is None or type(value) is plain
            else _prepare_value(field, value, connection)
            for field, name, plain in self._columns
        ]

    def run(self, *objects: models.Model) -> None:
        connection = connections[DEFAULT_DB_ALIAS]
        _run_many(connection, self._sql, [self.row(row, connection) for row in objects])
        for instance in objects:
            instance._state.adding, instance._state.db = False, connection.alias  # noqa: SLF001 - as `save` does

    def run_as_one(self, *objects: models.Model) -> None:
        """Insert all in one statement, so that PostgreSQL's statement triggers run once."""
        connection = connections[DEFAULT_DB_ALIAS]
        if connection.vendor == "sqlite" or len(objects) < 2:
            self.run(*objects)
            return
        values = ", ".join([self._values] * len(objects))
        rows = [value for instance in objects for value in self.row(instance, connection)]
        _run(connection, self._sql.replace(self._values, values, 1), rows)


class Update:
    """Update fields of existing rows where the columns in `where` match the objects."""

    def __init__(
        self, model: type[models.Model], fields: Iterable[str], where: Iterable[str] = ("id",)
    ) -> None:
        by_name = {field.name: field for field in model._meta.concrete_fields}
        sets, conditions = [by_name[name] for name in fields], [by_name[name] for name in where]
        self._fields = [*sets, *conditions]
        self._sql = (
            f"UPDATE {model._meta.db_table} SET "  # noqa: S608 - our own names
            f"{', '.join(f'{_column(field)} = %s' for field in sets)}"
            f" WHERE {' AND '.join(f'{_column(condition)} = %s' for condition in conditions)}"
        )

    @property
    def sql(self) -> str:
        return self._sql

    def row(self, instance: models.Model, connection: BaseDatabaseWrapper) -> list[Any]:
        return [
            _prepare_value(field, getattr(instance, field.attname), connection)
            for field in self._fields
        ]

    def run(self, *objects: models.Model) -> int:
        """Update the rows and return how many matched."""
        connection = connections[DEFAULT_DB_ALIAS]
        rows = [self.row(instance, connection) for instance in objects]
        return int(_run_many(connection, self._sql, rows).rowcount)


Pair: TypeAlias = "tuple[Insert | Update, models.Model]"


def run_together(*pairs: Pair) -> None:
    """Run each statement with its object; on PostgreSQL in one round trip.

    No statement may depend on another's effect.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor == "sqlite":
        for statement, instance in pairs:
            statement.run(instance)
        return
    _run(connection, *_combine_statements(pairs, connection))


def _combine_statements(
    pairs: Sequence[Pair], connection: BaseDatabaseWrapper
) -> tuple[str, list[Any]]:
    *others, last = (statement.sql for statement, _ in pairs)
    parts = ", ".join(f"part{number} AS ({sql})" for number, sql in enumerate(others))
    values = [
        value for statement, instance in pairs for value in statement.row(instance, connection)
    ]
    return f"WITH {parts} {last}", values


# Types of values that the database driver takes unchanged, which is most of a row.
_PLAIN = {
    models.CharField: str,
    models.TextField: str,
    models.BooleanField: bool,
    models.FloatField: float,
    models.ForeignKey: int,
    models.PositiveBigIntegerField: int,
    models.PositiveSmallIntegerField: int,
}


def _prepare_value(field: Any, value: Any, connection: BaseDatabaseWrapper) -> Any:
    """A value in the form that the database takes."""
    if value is None or type(value) is _PLAIN.get(type(field)):
        return value
    if type(value) is UUID:
        return _adapt_uuid(value, connection)
    return field.get_db_prep_save(value, connection)


def fetch_rows(sql: str, values: Iterable[object]) -> list[Any]:
    """Run our own SQL with Python values; return its rows as the database returns them."""
    connection = connections[DEFAULT_DB_ALIAS]
    return _run(connection, sql, [_adapt_uuid(value, connection) for value in values]).fetchall()  # type: ignore[no-any-return]


def _adapt_uuid(value: object, connection: BaseDatabaseWrapper) -> object:
    if isinstance(value, UUID) and not connection.features.has_native_uuid_field:
        return value.hex
    return value


def _run(connection: BaseDatabaseWrapper, sql: str, parameters: Sequence[Any]) -> Any:
    """Run the statement and return its cursor."""
    if not _is_plain(connection):
        cursor = connection.cursor()
        cursor.execute(sql, parameters)
        return cursor
    with connection.wrap_database_errors:
        return connection.connection.execute(_for_sqlite(sql), parameters)


def _run_many(connection: BaseDatabaseWrapper, sql: str, rows: Sequence[Sequence[Any]]) -> Any:
    """Run the statement once per row and return its cursor."""
    if not _is_plain(connection):
        cursor = connection.cursor()
        cursor.executemany(sql, rows)
        return cursor
    with connection.wrap_database_errors:
        return connection.connection.executemany(_for_sqlite(sql), rows)


def _is_plain(connection: BaseDatabaseWrapper) -> bool:
    """Whether a statement can go straight to the driver: an open SQLite that nothing observes.

    Django makes a new cursor for each statement and scans its text for placeholders, which takes
    longer than SQLite itself.
    """
    if connection.vendor != "sqlite" or connection.connection is None:
        return False
    if connection.execute_wrappers or connection.queries_logged:
        return False
    connection.validate_no_broken_transaction()
    return True


@lru_cache
def _for_sqlite(sql: str) -> str:
    return FORMAT_QMARK_REGEX.sub("?", sql).replace("%%", "%")


def _column(field: Any) -> str:
    return f'"{field.column}"'
