"""Statements that are made once, for what each turn asks and stores.

The ORM takes ten times as long to build a statement as the database takes to run it. Here it builds
each the first time, and after that only the values change. What Django does around each statement,
and to make an object of each row, takes as long again: it is done here as far as these need it. All
are of the default database.
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
R = TypeVar("R")


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
    sql: str
    parameters: Sequence[Any]  # slots, and values that are always the same
    converters: Sequence[tuple[int, Any, Any]]  # of a column, each with what it is told of it
    read: Callable[[list[Any]], Any]  # what is given of a row


class _Selection(Generic[R]):
    def __init__(self, make: Callable[..., Any], *fields: "models.Field[Any, Any]") -> None:
        self._make = make
        self._slots = [Slot(number, field) for number, field in enumerate(fields)]
        self._made: _Made | None = None

    def all(self, *values: object) -> list[R]:
        connection = connections[DEFAULT_DB_ALIAS]
        made = self._made_for(connection)
        found = _run(connection, made.sql, self._filled(made, values, connection)).fetchall()
        return [made.read(_converted(made, row, connection)) for row in found]

    def first(self, *values: object) -> R | None:
        return next(iter(self.all(*values)), None)

    def count(self, *values: object) -> int:
        connection = connections[DEFAULT_DB_ALIAS]
        made = self._made_for(connection)
        sql = f"SELECT COUNT(*) FROM ({made.sql}) AS counted"  # noqa: S608 - the ORM's
        [count] = _run(connection, sql, self._filled(made, values, connection)).fetchone()
        return int(count)

    def _made_for(self, connection: BaseDatabaseWrapper) -> _Made:
        if not self._made:
            self._made = self._make_it(connection)
        return self._made

    def _make_it(self, connection: BaseDatabaseWrapper) -> _Made:
        query = self._make(*self._slots).query
        compiler: Any = query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        columns = [column for column, *_ in compiler.select]
        converters = [
            (place, convert, column)
            for place, (found, column) in compiler.get_converters(columns).items()
            for convert in found
        ]
        return _Made(sql, parameters, converters, self._reader(query.model, compiler))

    def _reader(self, model: Any, compiler: Any) -> Callable[[list[Any]], R]:
        raise NotImplementedError

    @staticmethod
    def _filled(
        made: _Made, values: Sequence[object], connection: BaseDatabaseWrapper
    ) -> list[object]:
        return [
            one.filled(values, connection) if isinstance(one, Slot) else one
            for one in made.parameters
        ]


def _converted(made: _Made, row: Sequence[object], connection: BaseDatabaseWrapper) -> list[object]:
    values = list(row)
    for place, convert, column in made.converters:
        if values[place] is not None:
            values[place] = convert(values[place], column, connection)
    return values


class Values(_Selection[tuple[Any, ...]]):
    """What `make` gives for slots of these fields: a `values_list`."""

    def _reader(self, model: Any, compiler: Any) -> Callable[[list[Any]], tuple[Any, ...]]:
        return tuple


class Query(_Selection[M]):
    """What `make` gives for slots of these fields: rows of a model, with what it is annotated with
    and `select_related` reads along."""

    def __init__(
        self, make: Callable[..., "models.QuerySet[M]"], *fields: "models.Field[Any, Any]"
    ) -> None:
        super().__init__(make, *fields)

    def _reader(self, model: Any, compiler: Any) -> Callable[[list[Any]], M]:
        """As `Model.from_db`: what is not in the row is asked for when it is needed. None of these
        models has anything done at its making, by itself or by a signal."""
        info = compiler.klass_info
        first, last = info["select_fields"][0], info["select_fields"][-1]
        own = slice(first, last + 1)
        attributes = [column.target.attname for column, *_ in compiler.select[own]]
        populators = related_populators(info, compiler.select, DEFAULT_DB_ALIAS)
        annotations = (compiler.annotation_col_map or {}).items()

        def read(values: list[Any]) -> Any:
            one = model.__new__(model)
            one.__dict__.update(zip(attributes, values[own], strict=True))
            state = one.__dict__["_state"] = ModelState()
            state.adding, state.db = False, DEFAULT_DB_ALIAS
            for populator in populators:
                populator.populate(values, one)
            for name, place in annotations:
                setattr(one, name, values[place])
            return one

        return read


class Among(Generic[M]):
    """What `make` gives for slots of this field, for any number of values: so many at a time, and
    the last ones more than once."""

    AT_ONCE = 40

    def __init__(
        self, make: Callable[..., "models.QuerySet[M]"], field: "models.Field[Any, Any]"
    ) -> None:
        self._query = Query(make, *[field] * self.AT_ONCE)

    def all(self, values: Iterable[object]) -> list[M]:
        asked = list(values)
        found: list[M] = []
        for start in range(0, len(asked), self.AT_ONCE):
            some = asked[start : start + self.AT_ONCE]
            found += self._query.all(*some, *[some[-1]] * (self.AT_ONCE - len(some)))
        return found


def new(model: type[M], /, **given: object) -> M:
    """As the model makes one, in a third of the time: neither does it ask signals."""
    fixed, made = _defaults(model)
    one = model.__new__(model)
    one.__dict__.update(fixed, _state=ModelState())
    for name, make in made.items():
        if name not in given:
            one.__dict__[name] = make()
    for name, value in given.items():
        setattr(one, name, value)
    return one


@cache
def _defaults(model: type[models.Model]) -> tuple[dict[str, object], dict[str, Callable[[], Any]]]:
    """Of its attributes: those that are always the same, and what makes the others."""
    fields = model._meta.concrete_fields
    made = {
        one.attname: one.default for one in fields if one.has_default() and callable(one.default)
    }
    fixed = {one.attname: one.get_default() for one in fields if one.attname not in made}
    return fixed, made


class Insert:
    """Stores new rows; where it is `replacing`, these fields in place of what a row has."""

    def __init__(self, model: type[models.Model], replacing: Iterable[str] = ()) -> None:
        fields = model._meta.concrete_fields
        self._columns = [(one, one.attname, _PLAIN.get(type(one))) for one in fields]
        # Some of which have their value only when a row is stored.
        self._times = [one for one in fields if isinstance(one, models.DateField)]
        columns = ", ".join(_column(field) for field in fields)
        self._values = f"({', '.join(['%s'] * len(fields))})"
        self._sql = f"INSERT INTO {model._meta.db_table} ({columns}) VALUES {self._values}"  # noqa: S608 - our own names
        if replaced := [_column(model._meta.get_field(name)) for name in replacing]:
            sets = ", ".join(f"{column} = EXCLUDED.{column}" for column in replaced)
            self._sql += f" ON CONFLICT ({_column(model._meta.pk)}) DO UPDATE SET {sets}"

    @property
    def sql(self) -> str:
        return self._sql

    def row(self, one: models.Model, connection: BaseDatabaseWrapper) -> list[Any]:
        for field in self._times:
            field.pre_save(one, add=True)
        has = vars(one)
        return [  # most as it is: to ask for each would take as long as all else
            value
            if (value := has[name]) is None or type(value) is plain
            else _stored(field, value, connection)
            for field, name, plain in self._columns
        ]

    def run(self, *objects: models.Model) -> None:
        connection = connections[DEFAULT_DB_ALIAS]
        _run_many(connection, self._sql, [self.row(one, connection) for one in objects])
        for one in objects:
            one._state.adding, one._state.db = False, connection.alias  # noqa: SLF001 - as `save` does

    def run_as_one(self, *objects: models.Model) -> None:
        """The same, in one statement: what a PostgreSQL's triggers do of it, they do of all."""
        connection = connections[DEFAULT_DB_ALIAS]
        if connection.vendor == "sqlite" or len(objects) < 2:
            self.run(*objects)
            return
        values = ", ".join([self._values] * len(objects))
        rows = [value for one in objects for value in self.row(one, connection)]
        _run(connection, self._sql.replace(self._values, values, 1), rows)


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

    @property
    def sql(self) -> str:
        return self._sql

    def row(self, one: models.Model, connection: BaseDatabaseWrapper) -> list[Any]:
        return [_stored(field, getattr(one, field.attname), connection) for field in self._fields]

    def run(self, *objects: models.Model) -> int:
        """How many of them have such a row."""
        connection = connections[DEFAULT_DB_ALIAS]
        rows = [self.row(one, connection) for one in objects]
        return int(_run_many(connection, self._sql, rows).rowcount)


Pair: TypeAlias = "tuple[Insert | Update, models.Model]"


def run_together(*pairs: Pair) -> None:
    """Each of these with one object, none of which needs what another does; in one message to a
    PostgreSQL, for what must not wait for an answer in between."""
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor == "sqlite":
        for statement, one in pairs:
            statement.run(one)
        return
    _run(connection, *_together(pairs, connection))


def run_with_commit(*pairs: Pair) -> None:
    """The same; where the transaction ends with it, the message to a PostgreSQL commits too, and
    it is then that it fails."""
    connection: Any = connections[DEFAULT_DB_ALIAS]
    if connection.vendor == "sqlite":
        run_together(*pairs)
        return
    connection.run_with_commit(*_together(pairs, connection))


def _together(pairs: Sequence[Pair], connection: BaseDatabaseWrapper) -> tuple[str, list[Any]]:
    *others, last = (statement.sql for statement, _ in pairs)
    parts = ", ".join(f"part{number} AS ({sql})" for number, sql in enumerate(others))
    values = [value for statement, one in pairs for value in statement.row(one, connection)]
    return f"WITH {parts} {last}", values


# What a database takes as it is, with most of a row.
_PLAIN = {
    models.CharField: str,
    models.TextField: str,
    models.BooleanField: bool,
    models.FloatField: float,
    models.ForeignKey: int,
    models.PositiveBigIntegerField: int,
    models.PositiveSmallIntegerField: int,
}


def _stored(field: Any, value: Any, connection: BaseDatabaseWrapper) -> Any:
    """A value as the database takes it."""
    if value is None or type(value) is _PLAIN.get(type(field)):
        return value
    if type(value) is UUID:
        return _adapted(value, connection)
    return field.get_db_prep_save(value, connection)


def rows(sql: str, values: Iterable[object]) -> list[Any]:
    """What a statement of our own gives, as the database has it, for values as Python has them."""
    connection = connections[DEFAULT_DB_ALIAS]
    return _run(connection, sql, [_adapted(value, connection) for value in values]).fetchall()  # type: ignore[no-any-return]


def _adapted(value: object, connection: BaseDatabaseWrapper) -> object:
    if isinstance(value, UUID) and not connection.features.has_native_uuid_field:
        return value.hex
    return value


def _run(connection: BaseDatabaseWrapper, sql: str, parameters: Sequence[Any]) -> Any:
    """A cursor that has run the statement."""
    if not _is_plain(connection):
        cursor = connection.cursor()
        cursor.execute(sql, parameters)
        return cursor
    with connection.wrap_database_errors:
        return connection.connection.execute(_for_sqlite(sql), parameters)


def _run_many(connection: BaseDatabaseWrapper, sql: str, rows: Sequence[Sequence[Any]]) -> Any:
    """A cursor that has run it with each of the rows."""
    if not _is_plain(connection):
        cursor = connection.cursor()
        cursor.executemany(sql, rows)
        return cursor
    with connection.wrap_database_errors:
        return connection.connection.executemany(_for_sqlite(sql), rows)


def _is_plain(connection: BaseDatabaseWrapper) -> bool:
    """Whether the statement may go to the driver as it is: an open SQLite, and nobody looks on.

    Django's cursors are made anew for each statement, and read its text for its parameters' places;
    that takes longer than SQLite does.
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
