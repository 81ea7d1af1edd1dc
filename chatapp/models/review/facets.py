"""Maintain the sums and facets of conversations (`conversation_facets`) by database triggers.

Triggers run in the transaction that changes a message. So code that stores replies need not know
of them, not even a process of the previous version, and a turn needs no extra statement.

Concurrent changes to a conversation wait for each other at its row of sums, because adding a facet
reads the day from it. Sums are exact. Facets are only ever added, so that a conversation's tenth
reply by a model writes none; queries that use a facet verify it against the messages.

`facet_triggers.sqlite.sql` and `facet_triggers.postgresql.sql` create the triggers and two views,
`chatapp_expectedsums` and `chatapp_expectedfacets`, which tell the same from the messages as they
are now. Existing messages are added up with the views after `migrate`, a few conversations at a
time, and `differences` compares with them. The tests prove that triggers and views agree.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.apps import AppConfig
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import RunPython, RunSQL
from django.db.models.signals import pre_migrate
from django.dispatch import receiver

from chatapp.db.sql_files import after_migrate, has_field, read_sql
from chatapp.db.triggers import trigger_source

SUMS, FACETS = "chatapp_conversationsums", "chatapp_conversationfact"
AT_ONCE = 200  # conversations


@receiver(pre_migrate)
def before_migrating(
    sender: AppConfig, using: str, plan: Sequence[Any], apps: Any, **_: object
) -> None:
    """Mark all sums as incomplete before a migration that changes rows, which has no triggers."""
    if sender.name == "chatapp" and has_field(apps, "ConversationSums", "is_whole"):
        operations = (operation for migration, _ in plan for operation in migration.operations)
        if any(isinstance(operation, RunPython | RunSQL) for operation in operations):
            mark_incomplete(connections[using])


def mark_incomplete(connection: BaseDatabaseWrapper) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {SUMS} SET is_whole = false")


@trigger_source("Usage", "conversation", refresh=mark_incomplete)
def facet_triggers(vendor: str) -> str:
    return read_sql(__file__, "facet_triggers", vendor)


@after_migrate("Usage", "conversation")
def after_migrating(connection: BaseDatabaseWrapper) -> None:
    """Complete the sums once the migrations are committed, because others wait for a writer."""
    transaction.on_commit(partial(complete, connection.alias), connection.alias)


def complete(using: str = DEFAULT_DB_ALIAS) -> None:
    """Add up the sums and facets of conversations whose sums are incomplete.

    Takes a few conversations at a time, because writes to these wait until they are done.
    """
    connection = connections[using]
    last: Any = None
    while batch := _find_incomplete(connection, last):
        last = batch[-1]
        with transaction.atomic(using):
            _complete(connection, batch)


def _find_incomplete(connection: BaseDatabaseWrapper, last: Any) -> list[Any]:
    """Return the next batch of keys, in order, as the database represents them."""
    after = "" if last is None else "AND id > %s"
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM chatapp_conversation AS conversation WHERE NOT EXISTS"
            f" (SELECT 1 FROM {SUMS} WHERE conversation_id = conversation.id AND is_whole"
            f" AND characters IS NOT NULL) {after}"
            f" ORDER BY id LIMIT {AT_ONCE}",
            [] if last is None else [last],
        )
        return [key for (key,) in cursor.fetchall()]


def _complete(connection: BaseDatabaseWrapper, keys: Sequence[Any]) -> None:
    """Compute the sums and facets of these conversations.

    Their rows of sums are locked first. Later changes add to the new sums; earlier ones are
    visible to the statements after the lock.
    """
    is_sqlite = connection.vendor == "sqlite"  # which has one writer at a time
    stays = "" if is_sqlite else "FOR KEY SHARE OF used"
    among = f"IN ({', '.join(['%s'] * len(keys))})"
    statements = [
        # Any day will do, as the third statement sets the right one.
        f"INSERT INTO {SUMS} (conversation_id, used_on, replies, cost, characters)"
        f" SELECT id, CURRENT_DATE, 0, 0, 0 FROM chatapp_conversation AS used WHERE id {among}"
        f" AND NOT EXISTS (SELECT 1 FROM {SUMS} WHERE conversation_id = used.id)"
        f" ORDER BY id {stays} ON CONFLICT DO NOTHING",
        f"SELECT 1 FROM {SUMS} WHERE conversation_id {among} ORDER BY conversation_id FOR UPDATE",
        f"UPDATE {SUMS} SET is_whole = true, (used_on, replies, cost, characters) ="
        " (SELECT used_on, replies, cost, characters"
        f" FROM chatapp_expectedsums AS expected"
        f" WHERE expected.conversation_id = {SUMS}.conversation_id)"
        f" WHERE conversation_id {among}",
        f"UPDATE {FACETS} SET used_on = (SELECT used_on FROM {SUMS} AS sums"
        f" WHERE sums.conversation_id = {FACETS}.conversation_id) WHERE conversation_id {among}",
        f"INSERT INTO {FACETS} (conversation_id, fact, used_on)"
        " SELECT DISTINCT expected.conversation_id, expected.fact, sums.used_on"
        f" FROM chatapp_expectedfacets AS expected JOIN {SUMS} AS sums"
        " ON sums.conversation_id = expected.conversation_id"
        f" WHERE expected.conversation_id {among} ON CONFLICT DO NOTHING",
    ]
    with connection.cursor() as cursor:
        for statement in statements:
            if not (is_sqlite and statement.endswith("FOR UPDATE")):
                cursor.execute(statement, keys)


def differences() -> list[str]:
    """Return the ids of conversations whose sums or facets disagree with their messages.

    One statement reads it all, so concurrent writes cause no false differences.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    strays = " UNION ALL ".join(
        f"SELECT conversation_id AS id FROM {table} AS stray WHERE NOT EXISTS"
        " (SELECT 1 FROM chatapp_conversation WHERE id = stray.conversation_id)"
        for table in (SUMS, FACETS)
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT expected.conversation_id"
            f" FROM chatapp_expectedsums AS expected"
            f" LEFT JOIN {SUMS} AS kept ON kept.conversation_id = expected.conversation_id"
            " WHERE kept.is_whole IS NOT true OR kept.replies <> expected.replies"
            " OR kept.cost <> expected.cost OR kept.characters IS NULL"
            " OR kept.characters <> expected.characters OR kept.used_on <> expected.used_on"
            f" UNION SELECT kept.conversation_id FROM {FACETS} AS kept JOIN {SUMS} AS sums"
            " ON sums.conversation_id = kept.conversation_id WHERE kept.used_on <> sums.used_on"
            " UNION SELECT expected.conversation_id"
            f" FROM chatapp_expectedfacets AS expected"
            f" WHERE NOT EXISTS (SELECT 1 FROM {FACETS} AS kept"
            " WHERE kept.conversation_id = expected.conversation_id"
            f" AND kept.fact = expected.fact) UNION {strays} ORDER BY 1"
        )
        return [str(UUID(str(key))) for (key,) in cursor.fetchall()]


def rebuild() -> None:
    """Recompute all sums and facets, a few at a time, and delete those of deleted conversations."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        for table in (SUMS, FACETS):
            cursor.execute(
                f"DELETE FROM {table} WHERE NOT EXISTS (SELECT 1 FROM chatapp_conversation"
                f" WHERE id = {table}.conversation_id)"
            )
    mark_incomplete(connections[DEFAULT_DB_ALIAS])
    complete()
