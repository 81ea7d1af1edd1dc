"""Triggers around migrations, on the configured database."""

import threading
from collections.abc import Iterator

import pytest
from django.db import connection, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from chatapp.db import triggers
from chatapp.db.triggers import are_current, find_differences, make_triggers, read_definitions
from chatapp.models import Conversation, Message, Usage, User

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _current_afterwards() -> Iterator[None]:
    yield
    make_triggers()


@pytest.fixture
def unchecked_foreign_keys() -> Iterator[None]:
    """As `migrate` does: SQLite rebuilds tables only while foreign keys are unchecked."""
    connection.disable_constraint_checking()
    yield
    connection.enable_constraint_checking()


def names() -> set[str]:
    definitions = read_definitions(connection)
    return {definition.name for definition in definitions if definition.kind != "function"}


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def make_trigger(name: str, table: str, statement: str) -> None:
    """Make a trigger that runs the statement after each insertion, as an older version might."""
    if connection.vendor == "sqlite":
        execute(f"CREATE TRIGGER {name} AFTER INSERT ON {table} BEGIN {statement}; END")
        return
    execute(
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN {statement}; RETURN NULL; END $$"
    )
    execute(f"CREATE TRIGGER {name} AFTER INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION {name}()")


def rebuild_usage(editor: BaseDatabaseSchemaEditor) -> None:
    """Change a column that triggers name: SQLite rebuilds its table for that."""
    old = Usage._meta.get_field("model")
    new = models.CharField(max_length=201)
    new.set_attributes_from_name("model")
    new.model = Usage
    editor.alter_field(Usage, old, new, strict=True)
    editor.alter_field(Usage, new, old, strict=True)


def test_a_migrated_database_has_the_triggers_of_this_version() -> None:
    assert {"chatapp_usage_insert", "chatapp_message_sequence"} <= names()
    assert are_current(connection)


def test_a_migration_runs_without_triggers_and_they_are_there_afterwards(
    unchecked_foreign_keys: None,
) -> None:
    before = names()
    with connection.schema_editor() as editor:
        assert names() == set()
        rebuild_usage(editor)
    assert names() == before


def test_triggers_and_views_of_another_version_do_not_stop_a_migration(
    unchecked_foreign_keys: None,
) -> None:
    make_trigger("chatapp_old", "chatapp_user", "DELETE FROM chatapp_usage WHERE model = 'none'")
    execute("CREATE VIEW chatapp_old_view AS SELECT model FROM chatapp_usage")
    execute("CREATE VIEW chatapp_later_view AS SELECT model FROM chatapp_old_view")
    with connection.schema_editor() as editor:
        rebuild_usage(editor)
    assert {"chatapp_old", "chatapp_old_view", "chatapp_later_view"} <= names()
    make_triggers()
    assert not {"chatapp_old", "chatapp_old_view", "chatapp_later_view"} & names()
    assert are_current(connection)


def test_a_view_that_no_longer_fits_is_left_out(unchecked_foreign_keys: None) -> None:
    execute("CREATE TABLE chatapp_gone (id integer)")
    execute("CREATE VIEW chatapp_of_gone AS SELECT id FROM chatapp_gone")
    make_trigger("chatapp_in_gone", "chatapp_gone", "DELETE FROM chatapp_usage")
    with connection.schema_editor() as editor:
        editor.execute("DROP TABLE chatapp_gone")
    assert "chatapp_in_gone" not in names()
    assert "chatapp_usage_insert" in names()


def test_a_failed_migration_leaves_all_triggers(unchecked_foreign_keys: None) -> None:
    with pytest.raises(ZeroDivisionError), connection.schema_editor():
        raise ZeroDivisionError
    assert find_differences(connection) == []


def test_what_is_missing_or_changed_is_found_and_made_again() -> None:
    on = "" if connection.vendor == "sqlite" else " ON chatapp_message"
    execute(f"DROP TRIGGER chatapp_message_sequence{on}")
    execute(f"DROP TRIGGER chatapp_usage_delete{on.replace('message', 'usage')}")
    if connection.vendor == "sqlite":
        make_trigger("chatapp_usage_delete", "chatapp_usage", "DELETE FROM chatapp_dailyusage")
    else:
        execute("ALTER TABLE chatapp_usage DISABLE TRIGGER chatapp_usage_update")
        execute("DROP FUNCTION chatapp_add_facets")
    execute("DROP VIEW chatapp_expectedsums")
    changed = "delete" if connection.vendor == "sqlite" else "update"
    missing = {"chatapp_message_sequence", "chatapp_usage_delete", "chatapp_expectedsums"}
    missing |= {"chatapp_add_facets"} if connection.vendor == "postgresql" else set()
    assert set(find_differences(connection)) == missing | {f"chatapp_usage_{changed}"}
    make_triggers()
    assert are_current(connection)


def test_comparing_changes_nothing() -> None:
    before = read_definitions(connection)
    find_differences(connection)
    assert read_definitions(connection) == before
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'chatapp%'")
            assert cursor.fetchall() == []


def test_a_migration_waits_for_a_running_transaction_without_blocking_it(
    unchecked_foreign_keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction that holds one table and then needs another would deadlock."""
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    holds, waits = threading.Event(), threading.Event()
    monkeypatch.setattr(triggers.logger, "info", lambda *_: waits.set())

    def turn() -> None:
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("LOCK TABLE chatapp_usage IN ROW EXCLUSIVE MODE")
            holds.set()
            assert waits.wait(60)
            cursor.execute("LOCK TABLE chatapp_conversation IN ROW EXCLUSIVE MODE")
            cursor.execute("COMMIT")
        connection.close()

    thread = threading.Thread(target=turn)
    thread.start()
    assert holds.wait(60)
    with connection.schema_editor() as editor:
        rebuild_usage(editor)
    thread.join()
    assert "chatapp_usage_insert" in names()


def test_sums_are_recomputed_when_the_triggers_are_made(alice: User) -> None:
    chat = Conversation.objects.create(user=alice, title="Sums")
    reply = Message.objects.create(conversation=chat, role="assistant", ending="complete")
    execute("UPDATE chatapp_conversationsums SET is_whole = true")
    assert reply.conversation.sums.is_whole
    make_triggers()
    chat.sums.refresh_from_db()
    assert not chat.sums.is_whole  # `facets.complete` computes it
