"""Check that the database's tables, indexes and triggers are those of this version."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.apps import apps
from django.db import utils
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model

from chatapp.checks.results import CheckResult, failed, ok
from chatapp.command_line import MANAGE
from chatapp.db.locks import only_one_process
from chatapp.db.schema_version import describe_version, read_applied
from chatapp.db.triggers import find_differences, make_triggers
from chatapp.models.conversations.threads import ledger
from chatapp.models.review import facets
from chatapp.models.search.full_text import POSTGRESQL_INDEXES

Constraints = Mapping[str, Any]  # by name, as Django's introspection returns them

_DAMAGED = (
    "Someone changed the database by hand, or an upgrade was interrupted. Restore a backup with "
    f"{MANAGE} restore, or report this with chatapp's version."
)


def check_version(connection: BaseDatabaseWrapper) -> CheckResult:
    applied = read_applied(connection)
    version = describe_version(applied) if applied else "no version: there are no tables"
    return ok("Schema", f"that of {version}")


def check_schema(connection: BaseDatabaseWrapper) -> Iterator[CheckResult]:
    """Check a database in which all migrations are applied."""
    yield _result("Tables", "tables and columns", _find_missing_columns(connection), _DAMAGED)
    yield _result("Indexes", "indexes and constraints", _find_missing_indexes(connection), _DAMAGED)
    try:
        differences = find_differences(connection)
    except utils.Error as error:
        yield failed("Triggers", "can't be compared", "See the quoted error.", str(error).strip())
        return
    remedy = f"Run {MANAGE} doctor --repair-triggers, which also recomputes the sums they keep."
    yield _result("Triggers", "triggers", differences, remedy)


def repair_triggers() -> None:
    """Make this version's triggers again, and recompute the sums that they maintain."""
    with only_one_process("migrate"):
        make_triggers()
        ledger.complete_all()
        facets.complete()


def _result(what: str, kind: str, names: list[str], remedy: str) -> CheckResult:
    if not names:
        return ok(what, f"all {kind} are those of this version")
    first_names = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    return failed(what, f"{len(names)} differ: {first_names}", remedy)


def _find_missing_columns(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the tables and the columns, as `table.column`, that are missing."""
    missing: list[str] = []
    with connection.cursor() as cursor:
        existing = set(connection.introspection.table_names(cursor))
        for model in _models():
            table = model._meta.db_table
            if table not in existing:
                missing.append(table)
                continue
            columns = {
                column.name
                for column in connection.introspection.get_table_description(cursor, table)
            }
            names = [field.column for field in _stored_fields(model)]
            missing += [f"{table}.{name}" for name in names if name not in columns]
    return missing


def _find_missing_indexes(connection: BaseDatabaseWrapper) -> list[str]:
    missing: list[str] = []
    with connection.cursor() as cursor:
        existing = set(connection.introspection.table_names(cursor))
        for model in _models():
            if model._meta.db_table in existing:
                constraints = connection.introspection.get_constraints(cursor, model._meta.db_table)
                missing += _find_missing_names(constraints, model)
        if connection.vendor == "postgresql":
            table = "chatapp_searchentry"
            names = connection.introspection.get_constraints(cursor, table)
            missing += [name for name in POSTGRESQL_INDEXES if name not in names]
    return missing


def _find_missing_names(constraints: Constraints, model: type[Model]) -> Iterator[str]:
    """Yield the names of missing indexes and constraints; `table.column` for those of a field."""
    options = model._meta
    for expected in (*options.indexes, *options.constraints):
        if expected.name not in constraints:
            yield expected.name
    indexed = {
        tuple(constraint["columns"]) for constraint in constraints.values() if constraint["index"]
    }
    unique = {
        tuple(constraint["columns"])
        for constraint in constraints.values()
        if constraint["unique"] or constraint["primary_key"]
    }
    for field in _stored_fields(model):
        if field.unique or field.db_index:
            group = unique if field.unique else indexed | unique
            if not any(columns == (field.column,) for columns in group):
                yield f"{options.db_table}.{field.column}"


def _models() -> Iterable[type[Model]]:
    models = apps.get_models(include_auto_created=True)
    return [model for model in models if model._meta.managed and not model._meta.proxy]


def _stored_fields(model: type[Model]) -> list[Any]:
    return [field for field in model._meta.local_concrete_fields if field.column]
