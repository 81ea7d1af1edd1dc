"""Finds the version of the database's schema by the migrations that are applied."""

from collections.abc import Collection
from pathlib import Path

from django.apps import apps
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

# The last migration of each release. Each release adds a line.
RELEASES = {
    "0.1.0": "0001_initial",
    "0.2.0": "0002_processes",
    "0.3.0": "0007_usage_and_clock",
    "0.4.0": "0042_stored_bytes",
    "0.5.0": "0044_saved_filters",
    "0.6.0": "0080_fees_and_concessions",
}


def find_unapplied(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the migrations that this version needs and the database lacks, as `app.name`.

    Looking at the names of files comes first, because Django's loader takes a tenth of a second.
    """
    applied = set(MigrationRecorder(connection).applied_migrations())
    if _find_migrations() <= applied:
        return []
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def read_applied(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the names of the app's own migrations that are applied, in their order."""
    applied = MigrationRecorder(connection).applied_migrations()
    return sorted(name for app, name in applied if app == "chatapp")


def describe_version(applied: Collection[str]) -> str:
    """Return whose schema this is, as "version 0.5.0" or "a version after 0.5.0 (0066_…)"."""
    releases = [name for name, last in RELEASES.items() if last in applied]
    if not releases:
        return f"a version before {next(iter(RELEASES))}"
    release, newest = releases[-1], max(applied)
    if RELEASES[release] == newest:
        return f"version {release}"
    return f"a version after {release} ({newest})"


def _find_migrations() -> set[tuple[str, str]]:
    """Return all migrations of the installed apps, by the names of their files."""
    return {
        (config.label, file.stem)
        for config in apps.get_app_configs()
        for file in Path(config.path, "migrations").glob("[!_]*.py")
    }
