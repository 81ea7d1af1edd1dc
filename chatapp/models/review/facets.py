"""Maintain the sums and facts of conversations (`conversation_facts`) by database triggers.

Triggers run in the transaction that changes a message. So code that stores replies need not know
of them, not even a process of the previous version, and a turn needs no extra statement.

Concurrent changes to a conversation wait for each other at its row of sums, because adding a fact
reads the day from it. Sums are exact. Facts are only ever added, so that a conversation's tenth
reply by a model writes none; queries that use a fact verify it against the messages.

The triggers are created after every `migrate`, like those of `sequence`. Existing messages are
added up then, a few conversations at a time.
"""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from django.apps import AppConfig
from django.apps import apps as global_apps
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.signals import post_migrate, pre_migrate
from django.dispatch import receiver

from chatapp.models.review.facet_triggers import (
    CHARACTERS,
    COUNTS,
    DAY,
    FACTS,
    STANDS,
    SUMS,
    of_feedback,
    of_finding,
    of_reply,
    triggers,
)

AT_ONCE = 200  # conversations


def make_triggers(connection: BaseDatabaseWrapper) -> None:
    is_sqlite = connection.vendor == "sqlite"
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        for name, table, event, rows, body in triggers(connection.vendor):
            trigger, when = f"chatapp_facts_{name}", f"WHEN ({rows})" if rows else ""
            does = f"BEGIN {body} END" if is_sqlite else f"EXECUTE FUNCTION {trigger}()"
            cursor.execute(f"DROP TRIGGER IF EXISTS {trigger}{'' if is_sqlite else f' ON {table}'}")
            if not is_sqlite:
                cursor.execute(
                    f"CREATE OR REPLACE FUNCTION {trigger}() RETURNS trigger LANGUAGE plpgsql AS"
                    f" $$ BEGIN {body} RETURN NULL; END $$"
                )
            cursor.execute(
                f"CREATE TRIGGER {trigger} AFTER {event} ON {table} FOR EACH ROW {when} {does}"
            )


@receiver(pre_migrate)
def before_migrating(
    sender: AppConfig, using: str, plan: Sequence[Any], apps: Any, **_: object
) -> None:
    """Drop the triggers on SQLite, where a table that another table's trigger names can't be
    recreated. Changes made without triggers are missed, so all sums are marked incomplete."""
    connection = connections[using]
    if sender.name != "chatapp" or connection.vendor != "sqlite" or not plan:
        return
    if "conversationsums" in apps.all_models["chatapp"]:
        with transaction.atomic(using), connection.cursor() as cursor:
            for name, *_rest in triggers(connection.vendor):
                cursor.execute(f"DROP TRIGGER IF EXISTS chatapp_facts_{name}")
            cursor.execute(f"UPDATE {SUMS} SET is_whole = false")


@receiver(post_migrate)
def after_migrating(sender: AppConfig, using: str, apps: Any = global_apps, **_: object) -> None:
    if sender.name == "chatapp" and _has_current_tables(apps):
        make_triggers(connections[using])
        complete(using)


def _has_current_tables(apps: Any) -> bool:
    """False after migrating back: an older version's own `migrate` creates its triggers."""
    sums = apps.all_models["chatapp"].get("conversationsums")
    return sums is not None and any(field.name == "characters" for field in sums._meta.fields)


def complete(using: str = DEFAULT_DB_ALIAS) -> None:
    """Add up the sums and facts of conversations whose sums are incomplete.

    Takes a few conversations at a time, because writes to these wait until they are done.
    """
    connection = connections[using]
    last: Any = None
    while batch := _incomplete(connection, last):
        last = batch[-1]
        with transaction.atomic(using):
            _complete(connection, batch)


def _incomplete(connection: BaseDatabaseWrapper, last: Any) -> list[Any]:
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
    """Compute the sums and facts of these conversations.

    Their rows of sums are locked first. Later changes add to the new sums; earlier ones are
    visible to the statements after the lock.
    """
    vendor = connection.vendor
    among = f"IN ({', '.join(['%s'] * len(keys))})"
    day = DAY[vendor].format(row="used")
    stays = "FOR KEY SHARE OF used" if vendor == "postgresql" else ""
    replies, cost, characters = _truth(vendor, "kept.conversation_id")
    statements = [
        f"INSERT INTO {SUMS} (conversation_id, used_on, replies, cost, characters)"
        f" SELECT id, {day}, 0, 0, 0 FROM chatapp_conversation AS used WHERE id {among}"
        f" AND NOT EXISTS (SELECT 1 FROM {SUMS} WHERE conversation_id = used.id)"
        f" ORDER BY id {stays} ON CONFLICT DO NOTHING",
        f"SELECT 1 FROM {SUMS} WHERE conversation_id {among} ORDER BY conversation_id FOR UPDATE",
        f"UPDATE {SUMS} AS kept SET is_whole = true, replies = {replies}, cost = {cost},"
        f" characters = {characters}, used_on = (SELECT {day} FROM chatapp_conversation AS used"
        f" WHERE used.id = kept.conversation_id) WHERE conversation_id {among}",
        f"UPDATE {FACTS} SET used_on = (SELECT used_on FROM {SUMS} AS sums"
        f" WHERE sums.conversation_id = {FACTS}.conversation_id) WHERE conversation_id {among}",
        *(
            f"INSERT INTO {FACTS} (conversation_id, fact, used_on) SELECT DISTINCT"
            f" reply.conversation_id, {fact}, (SELECT used_on FROM {SUMS} AS sums"
            " WHERE sums.conversation_id = reply.conversation_id)"
            f" FROM {read} WHERE reply.conversation_id {among} AND {where} ON CONFLICT DO NOTHING"
            for fact, read, where in _all_facts(vendor)
        ),
    ]
    with connection.cursor() as cursor:
        for statement in statements:
            if vendor == "postgresql" or not statement.endswith("FOR UPDATE"):
                cursor.execute(statement, keys)


def _truth(vendor: str, conversation: str) -> tuple[str, str, str]:
    """Return SQL for a conversation's number of replies, cost with its title, and characters."""
    of_it = f"reply.conversation_id = {conversation} AND {COUNTS.format(row='reply')}"
    return (
        f"(SELECT count(*) FROM chatapp_message AS reply WHERE {of_it})",
        "(SELECT coalesce(sum(cost), 0) FROM chatapp_message AS reply"
        f" JOIN chatapp_usage AS booked ON booked.message_id = reply.id WHERE {of_it})"
        " + coalesce((SELECT cost FROM chatapp_usage AS booked"
        f" WHERE booked.message_id = {conversation} AND booked.kind = 'title'), 0)",
        f"(SELECT coalesce(sum({CHARACTERS[vendor].format(row='said')}), 0) FROM chatapp_message"
        f" AS said WHERE said.conversation_id = {conversation} AND {STANDS.format(row='said')})",
    )


def _all_facts(vendor: str) -> Iterator[tuple[str, str, str]]:
    """Yield all facts of replies, of feedback and of rule findings as SQL.

    Each is the fact, the tables it is read from, and its condition.
    """
    is_reply = "reply.role = 'assistant'"
    rated = "JOIN chatapp_feedback AS rated ON rated.message_id = reply.id"
    for joined, facts in (("", of_reply(vendor, "reply")), (rated, of_feedback("rated"))):
        for fact, read, where in facts:
            tables = f"chatapp_message AS reply {joined}{f', {read}' if read else ''}"
            yield fact, tables, f"{is_reply} AND {where}"
    for fact, _, where in of_finding("reply"):  # prompts among them
        yield fact, "chatapp_rulefinding AS reply", where


def differences() -> list[str]:
    """Return the ids of conversations whose sums or facts disagree with their messages.

    One statement reads it all, so concurrent writes cause no false differences.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    vendor = connection.vendor
    replies, cost, characters = _truth(vendor, "conversation.id")
    missing = " UNION ALL ".join(
        f"SELECT reply.conversation_id AS id FROM {read} WHERE {where} AND NOT EXISTS (SELECT 1"
        f" FROM {FACTS} AS kept WHERE kept.conversation_id = reply.conversation_id"
        f" AND kept.fact = {fact})"
        for fact, read, where in _all_facts(vendor)
    )
    strays = " UNION ALL ".join(
        f"SELECT conversation_id AS id FROM {table} AS stray WHERE NOT EXISTS"
        " (SELECT 1 FROM chatapp_conversation WHERE id = stray.conversation_id)"
        for table in (SUMS, FACTS)
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conversation.id FROM chatapp_conversation AS conversation"
            f" LEFT JOIN {SUMS} AS kept ON kept.conversation_id = conversation.id"
            f" WHERE kept.is_whole IS NOT true OR kept.replies <> {replies} OR kept.cost <> {cost}"
            f" OR kept.characters IS NULL OR kept.characters <> {characters}"
            f" OR kept.used_on <> {DAY[vendor].format(row='conversation')}"
            f" UNION SELECT kept.conversation_id FROM {FACTS} AS kept JOIN {SUMS} AS sums"
            " ON sums.conversation_id = kept.conversation_id WHERE kept.used_on <> sums.used_on"
            f" UNION {missing} UNION {strays} ORDER BY 1"
        )
        return [str(UUID(str(key))) for (key,) in cursor.fetchall()]


def rebuild() -> None:
    """Recompute all sums and facts, a few at a time, and delete those of deleted conversations."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        for table in (SUMS, FACTS):
            cursor.execute(
                f"DELETE FROM {table} WHERE NOT EXISTS (SELECT 1 FROM chatapp_conversation"
                f" WHERE id = {table}.conversation_id)"
            )
        cursor.execute(f"UPDATE {SUMS} SET is_whole = false")
    complete()
