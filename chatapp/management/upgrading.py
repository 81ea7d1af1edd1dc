"""What a new version needs before it serves. Checking whether it is there is quick."""

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from chatapp.management import static_sources
from chatapp.management.sentences import in_sentences


def upgrade() -> None:
    """Migrate the database and collect static files, if necessary. Raises `CommandError`."""
    if _needs_migrations():
        call_command("migrate", verbosity=0)
    if not static_sources.are_collected():
        call_command("collectstatic", interactive=False, verbosity=0)


def _needs_migrations() -> bool:
    with in_sentences():
        executor = MigrationExecutor(connection)
        return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
