"""Keeps what conversations are found by, in the transaction that changes it: the database does, by
triggers. So whoever stores a reply need not know of it, a process of the version before among them,
and a turn needs no statement more.

A conversation's row of the sums is what all its changes wait for one another at: whoever adds a
fact reads the day there. Sums are exact; facts only ever come, since each is proven where it is
used, so that a conversation's tenth reply by a model writes none.

The triggers are made after every `migrate`, as those of `sequence` are. What was there before them
is added then, a few conversations at a time.
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

from chatapp.models.fact_triggers import (
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
    """On SQLite no table can be made anew that a trigger of another one names. Without triggers
    sums may be missed, and are to be added up anew."""
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
    if sender.name == "chatapp" and _are_known(apps):
        make_triggers(connections[using])
        complete(using)


def _are_known(apps: Any) -> bool:
    """Where the tables are those of a version before, its own `migrate` makes the triggers."""
    sums = apps.all_models["chatapp"].get("conversationsums")
    return sums is not None and any(field.name == "characters" for field in sums._meta.fields)


def complete(using: str = DEFAULT_DB_ALIAS) -> None:
    """Adds up what was there before there were sums, and its facts, a few conversations at a time:
    who writes in one of these waits for as long."""
    connection = connections[using]
    last: Any = None
    while some := _incomplete(connection, last):
        last = some[-1]
        with transaction.atomic(using):
            _complete(connection, some)


def _incomplete(connection: BaseDatabaseWrapper, last: Any) -> list[Any]:
    """Keys as the database has them, in order."""
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
    """Once the rows are locked, whoever changes anything adds to what stands there afterwards, and
    who did so before is seen by the statements after that one."""
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
    """Of a conversation: how many replies there are, what they and its title cost, and how many
    characters stand in it."""
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
    """Of all replies, of what was thought of them, and of what rules found: each fact, where it is
    read and whether."""
    is_reply = "reply.role = 'assistant'"
    rated = "JOIN chatapp_feedback AS rated ON rated.message_id = reply.id"
    for joined, facts in (("", of_reply(vendor, "reply")), (rated, of_feedback("rated"))):
        for fact, read, where in facts:
            tables = f"chatapp_message AS reply {joined}{f', {read}' if read else ''}"
            yield fact, tables, f"{is_reply} AND {where}"
    for fact, _, where in of_finding("reply"):  # prompts among them
        yield fact, "chatapp_rulefinding AS reply", where


def differences() -> list[str]:
    """The keys of the conversations whose sums or facts are not what their messages say; of one
    moment, whoever writes meanwhile."""
    connection = connections[DEFAULT_DB_ALIAS]
    vendor = connection.vendor
    replies, cost, characters = _truth(vendor, "conversation.id")
    lacking = " UNION ALL ".join(
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
            f" UNION {lacking} UNION {strays} ORDER BY 1"
        )
        return [str(UUID(str(key))) for (key,) in cursor.fetchall()]


def rebuild() -> None:
    """Adds up all of them anew, a few at a time, and forgets those of what is gone."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        for table in (SUMS, FACTS):
            cursor.execute(
                f"DELETE FROM {table} WHERE NOT EXISTS (SELECT 1 FROM chatapp_conversation"
                f" WHERE id = {table}.conversation_id)"
            )
        cursor.execute(f"UPDATE {SUMS} SET is_whole = false")
    complete()
