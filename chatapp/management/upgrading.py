"""What a version needs before it serves, made where it is not there yet; a look is quick."""

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from chatapp.management import static_sources
from chatapp.management.sentences import in_sentences


def upgrade() -> None:
    """Migrates the database and collects static files; raises `CommandError` where it can't."""
    if _is_to_be_migrated():
        call_command("migrate", verbosity=0)
    if not static_sources.are_collected():
        call_command("collectstatic", interactive=False, verbosity=0)


def _is_to_be_migrated() -> bool:
    with in_sentences():
        executor = MigrationExecutor(connection)
        return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
