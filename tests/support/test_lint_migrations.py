"""The migrations that `make check` accepts."""

from pathlib import Path

import pytest
from pytest_django import Settings

from tests.support.lint_migrations import lint
from tests.support.lint_rebuilds import describe_rebuild_under_triggers

MIGRATION = """
from django.db import migrations, models

class Migration(migrations.Migration):
    dependencies = [("chatapp", "0001_initial")]
    operations = [migrations.{operation}]
"""

BAD = {
    "drop a column": "RemoveField('message', 'duration')",
    "drop a table": "DeleteModel('Usage')",
    "rename a column": "RenameField('message', 'duration', 'seconds')",
    "rename a table": "RenameModel('Usage', 'Cost')",
    "require what they leave out": "AddField('message', 'n', models.IntegerField(default=1))",
    "require what may be missing": "AlterField('message', 'duration', models.FloatField())",
    "change a type": "AlterField('message', 'content', models.IntegerField())",
    "forbid a value twice": "AlterField('message', 'model', models.TextField(unique=True))",
}
GOOD = {
    "add a nullable column": "AddField('message', 'n', models.IntegerField(null=True))",
    "add a default of the database": "AddField('message', 'n', models.IntegerField(db_default=1))",
    "add an index": "AddIndex('message', models.Index(fields=['model'], name='message_model'))",
    "add a partial index": "AddIndex('message', models.Index(fields=['model'], name='m', "
    "condition=models.Q(model='x')))",
    "add a table": "CreateModel('Note', [('id', models.AutoField(primary_key=True))])",
    "drop a need": "AlterField('message', 'model', models.CharField(max_length=200, null=True))",
}


@pytest.fixture
def migrations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Path:
    """The app's migrations are those in this folder: the first one, and what a test adds."""
    folder = tmp_path / f"migrations_{tmp_path.name}"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "0001_initial.py").write_text(
        "from importlib import import_module\n"
        "Migration = import_module('chatapp.migrations.0001_initial').Migration\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    settings.MIGRATION_MODULES = {"chatapp": folder.name}
    return folder


@pytest.mark.parametrize("operation", BAD.values(), ids=BAD)
def test_a_migration_that_breaks_old_processes_is_refused(migrations: Path, operation: str) -> None:
    assert lint()
    (migrations / "0002_next.py").write_text(MIGRATION.format(operation=operation))
    assert not lint()


@pytest.mark.parametrize("operation", GOOD.values(), ids=GOOD)
def test_a_migration_that_only_adds_passes(migrations: Path, operation: str) -> None:
    (migrations / "0002_next.py").write_text(MIGRATION.format(operation=operation))
    assert lint()


@pytest.mark.thorough
def test_our_migrations_pass() -> None:
    assert lint()


NOT_ATOMIC = MIGRATION + "    atomic = False\n"


@pytest.mark.django_db  # allows connections; the test makes its own
@pytest.mark.parametrize(("text", "is_good"), [(MIGRATION, True), (NOT_ATOMIC, False)])
def test_a_migration_that_rebuilds_a_table_must_be_atomic(
    migrations: Path, text: str, is_good: bool
) -> None:
    (migrations / "0002_next.py").write_text(text.format(operation=GOOD["drop a need"]))
    problem = describe_rebuild_under_triggers()
    assert ("chatapp.0002_next" not in problem) == is_good, problem
