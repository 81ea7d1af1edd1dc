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

from chatapp.models.conversation_facts import LONGEST_NAME

AT_ONCE = 200  # conversations
SUMS, FACTS = "chatapp_conversationsums", "chatapp_conversationfact"
DAY = {
    "sqlite": "date({row}.updated_at)",
    "postgresql": "({row}.updated_at AT TIME ZONE 'UTC')::date",
}
NAME = {"sqlite": "json_extract(run.value, '$.name')", "postgresql": "run.name #>> '{}'"}
RUNS = {  # of a reply's earlier rounds, and of its last one
    "sqlite": (
        "json_each({row}.earlier_rounds) AS round, json_each(round.value, '$.tool_runs') AS run",
        "json_each({row}.tool_runs) AS run",
    ),
    "postgresql": (
        "jsonb_path_query({row}.earlier_rounds, '$[*].tool_runs[*].name') AS run(name)",
        "jsonb_path_query({row}.tool_runs, '$[*].name') AS run(name)",
    ),
}
HAS_ENDED = "{row}.ending NOT IN ('', 'streaming', 'complete')"
COUNTS = "{row}.role = 'assistant' AND {row}.deleted_at IS NULL"


def _of_reply(vendor: str, row: str) -> list[tuple[str, str, str]]:
    """What is so of a message's row that is a reply: each fact, where it is read and whether."""
    name = NAME[vendor]
    return [
        (f"'model ' || {row}.model", "", f"{row}.model <> ''"),
        (f"'upstream ' || {row}.upstream_id", "", f"{row}.upstream_id IS NOT NULL"),
        (f"'ending ' || {row}.ending", "", HAS_ENDED.format(row=row)),
        *(
            (f"'tool ' || substr({name}, 1, {LONGEST_NAME})", runs.format(row=row), f"{name} <> ''")
            for runs in RUNS[vendor]
        ),
    ]


def _of_feedback(row: str) -> list[tuple[str, str, str]]:
    return [("'feedback'", "", "true"), (f"'feedback ' || {row}.rating", "", "true")]


def _united(facts: Sequence[tuple[str, str, str]]) -> str:
    return " UNION ALL ".join(
        f"SELECT {fact} AS fact {f'FROM {read}' if read else ''} WHERE {where}"
        for fact, read, where in facts
    )


def _add_facts(vendor: str, conversation: str, facts: str) -> str:
    """Those that are not there, with the day of the sums, which stays what it is meanwhile."""
    lock = " FOR SHARE OF sums" if vendor == "postgresql" else ""
    return (
        f"INSERT INTO {FACTS} (conversation_id, fact, used_on)"
        f" SELECT sums.conversation_id, found.fact, sums.used_on"
        f" FROM {SUMS} AS sums, ({facts}) AS found WHERE sums.conversation_id = {conversation}"
        f"{lock} ON CONFLICT DO NOTHING;"
    )


def _add_sums(vendor: str, conversation: str, replies: str, cost: str) -> str:
    """To a conversation's. PostgreSQL makes the row where there is none yet, so that two who come
    at once wait for one another, and none for a conversation that goes meanwhile; SQLite knows but
    one at a time."""
    add = (
        f"UPDATE {SUMS} SET replies = replies + {replies}, cost = cost + {cost}"
        f" WHERE conversation_id = {conversation};"
    )
    if vendor == "sqlite":
        return add
    return (
        f"{add} IF NOT FOUND THEN"
        f" INSERT INTO {SUMS} AS kept (conversation_id, used_on, replies, cost)"
        f" SELECT id, {DAY[vendor].format(row='used')}, {replies}, {cost}"
        f" FROM chatapp_conversation AS used WHERE id = {conversation} FOR KEY SHARE"
        " ON CONFLICT (conversation_id) DO UPDATE SET"
        " replies = kept.replies + EXCLUDED.replies, cost = kept.cost + EXCLUDED.cost; END IF;"
    )


def _cost_of(row: str) -> str:
    return (
        "coalesce((SELECT booked.cost FROM chatapp_usage AS booked"
        f" WHERE booked.message_id = {row}.id), 0)"
    )


def _booked_for(row: str) -> str:
    """The conversation in which a row of the ledger counts, if any."""
    counts = COUNTS.format(row="reply")
    return (
        f"CASE WHEN {row}.kind = 'title' THEN {row}.message_id ELSE"
        " (SELECT reply.conversation_id FROM chatapp_message AS reply"
        f" WHERE reply.id = {row}.message_id AND {counts}) END"
    )


Trigger = tuple[str, str, str, str, str]
"""Its name, the table, the event, of which rows, and what it does."""


def _triggers(vendor: str) -> Iterator[Trigger]:
    yield from _of_messages(vendor)
    yield from _of_usage(vendor)
    yield from _of_conversations(vendor)
    yield from _of_thumbs(vendor)


def _of_messages(vendor: str) -> Iterator[Trigger]:
    old, new = COUNTS.format(row="OLD"), COUNTS.format(row="NEW")
    of_reply = _add_facts(vendor, "NEW.conversation_id", _united(_of_reply(vendor, "NEW")))

    message = "chatapp_message"
    counted = (
        f"CASE WHEN {new} THEN 1 ELSE 0 END",
        f"CASE WHEN {new} THEN {_cost_of('NEW')} ELSE 0 END",
    )
    added = _add_sums(vendor, "NEW.conversation_id", *counted) + of_reply
    yield "message_came", message, "INSERT", "NEW.role = 'assistant'", added
    ended = HAS_ENDED.format(row="NEW")
    is_new = (
        "NEW.role = 'assistant' AND (NEW.model <> OLD.model OR NEW.upstream_id <> OLD.upstream_id"
        " OR (NEW.upstream_id IS NOT NULL AND OLD.upstream_id IS NULL)"
        f" OR (NEW.ending <> OLD.ending AND {ended})"
        " OR NEW.earlier_rounds <> OLD.earlier_rounds OR NEW.tool_runs <> OLD.tool_runs)"
    )
    made = _add_sums(vendor, "NEW.conversation_id", "0", "0") if vendor == "postgresql" else ""
    columns = "UPDATE OF model, upstream_id, ending, earlier_rounds, tool_runs"
    yield "message_grew", message, columns, is_new, made + of_reply
    sign = f"CASE WHEN {new} THEN 1 ELSE -1 END"
    moved = _add_sums(vendor, "NEW.conversation_id", sign, f"({sign}) * {_cost_of('NEW')}")
    columns = "UPDATE OF deleted_at, role"
    yield "message_moved", message, columns, f"({old}) <> ({new})", moved
    taken = _add_sums(vendor, "OLD.conversation_id", "-1", f"-{_cost_of('OLD')}")
    yield "message_went", message, "DELETE", old, taken


def _of_usage(vendor: str) -> Iterator[Trigger]:
    usage = "chatapp_usage"
    booked = _add_sums(vendor, _booked_for("NEW"), "0", "NEW.cost")
    yield "usage_came", usage, "INSERT", "NEW.cost <> 0", booked
    more = "coalesce(NEW.cost, 0) - coalesce(OLD.cost, 0)"
    booked = _add_sums(vendor, _booked_for("NEW"), "0", f"({more})")
    yield "usage_changed", usage, "UPDATE OF cost", f"{more} <> 0", booked
    booked = _add_sums(vendor, _booked_for("OLD"), "0", "-OLD.cost")
    yield "usage_went", usage, "DELETE", "OLD.cost <> 0", booked


def _of_conversations(vendor: str) -> Iterator[Trigger]:
    day = DAY[vendor]
    day_is_new = f"{day.format(row='OLD')} <> {day.format(row='NEW')}"
    conversation = "chatapp_conversation"
    begun = (
        f"INSERT INTO {SUMS} (conversation_id, used_on, replies, cost, is_whole)"
        f" VALUES (NEW.id, {day.format(row='NEW')}, 0, 0, true) ON CONFLICT DO NOTHING;"
    )
    yield "conversation_came", conversation, "INSERT", "", begun
    used = _add_sums(vendor, "NEW.id", "0", "0") if vendor == "postgresql" else ""
    for table in (SUMS, FACTS):
        used += (
            f"UPDATE {table} SET used_on = {day.format(row='NEW')} WHERE conversation_id = NEW.id;"
        )
    yield "conversation_used", conversation, "UPDATE OF updated_at", day_is_new, used
    gone = "".join(f"DELETE FROM {one} WHERE conversation_id = OLD.id;" for one in (SUMS, FACTS))
    yield "conversation_went", conversation, "DELETE", "", gone


def _of_thumbs(vendor: str) -> Iterator[Trigger]:
    of = "(SELECT conversation_id FROM chatapp_message WHERE id = NEW.message_id)"
    rated = _add_facts(vendor, of, _united(_of_feedback("NEW")))
    if vendor == "postgresql":
        rated = _add_sums(vendor, of, "0", "0") + rated
    yield "feedback_came", "chatapp_feedback", "INSERT", "", rated
    yield (
        "feedback_changed",
        "chatapp_feedback",
        "UPDATE OF rating",
        "NEW.rating <> OLD.rating",
        rated,
    )


def make_triggers(connection: BaseDatabaseWrapper) -> None:
    is_sqlite = connection.vendor == "sqlite"
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        for name, table, event, rows, body in _triggers(connection.vendor):
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
            for name, *_rest in _triggers(connection.vendor):
                cursor.execute(f"DROP TRIGGER IF EXISTS chatapp_facts_{name}")
            cursor.execute(f"UPDATE {SUMS} SET is_whole = false")


@receiver(post_migrate)
def after_migrating(sender: AppConfig, using: str, apps: Any = global_apps, **_: object) -> None:
    if sender.name == "chatapp" and "conversationsums" in apps.all_models["chatapp"]:
        make_triggers(connections[using])
        complete(using)


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
            f" (SELECT 1 FROM {SUMS} WHERE conversation_id = conversation.id AND is_whole) {after}"
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
    replies, cost = _truth("kept.conversation_id")
    statements = [
        f"INSERT INTO {SUMS} (conversation_id, used_on, replies, cost) SELECT id, {day}, 0, 0"
        f" FROM chatapp_conversation AS used WHERE id {among} AND NOT EXISTS (SELECT 1 FROM {SUMS}"
        f" WHERE conversation_id = used.id) ORDER BY id {stays} ON CONFLICT DO NOTHING",
        f"SELECT 1 FROM {SUMS} WHERE conversation_id {among} ORDER BY conversation_id FOR UPDATE",
        f"UPDATE {SUMS} AS kept SET is_whole = true, replies = {replies}, cost = {cost},"
        f" used_on = (SELECT {day} FROM chatapp_conversation AS used"
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


def _truth(conversation: str) -> tuple[str, str]:
    """Of a conversation: how many replies there are, and what they and its title cost."""
    of_it = f"reply.conversation_id = {conversation} AND {COUNTS.format(row='reply')}"
    return (
        f"(SELECT count(*) FROM chatapp_message AS reply WHERE {of_it})",
        "(SELECT coalesce(sum(cost), 0) FROM chatapp_message AS reply"
        f" JOIN chatapp_usage AS booked ON booked.message_id = reply.id WHERE {of_it})"
        " + coalesce((SELECT cost FROM chatapp_usage AS booked"
        f" WHERE booked.message_id = {conversation} AND booked.kind = 'title'), 0)",
    )


def _all_facts(vendor: str) -> Iterator[tuple[str, str, str]]:
    """Of all replies, and of what was thought of them: each fact, where it is read and whether."""
    rated = "JOIN chatapp_feedback AS rated ON rated.message_id = reply.id"
    for joined, facts in (("", _of_reply(vendor, "reply")), (rated, _of_feedback("rated"))):
        for fact, read, where in facts:
            tables = f"chatapp_message AS reply {joined}{f', {read}' if read else ''}"
            yield fact, tables, f"reply.role = 'assistant' AND {where}"


def differences() -> list[str]:
    """The keys of the conversations whose sums or facts are not what their messages say; of one
    moment, whoever writes meanwhile."""
    connection = connections[DEFAULT_DB_ALIAS]
    vendor = connection.vendor
    replies, cost = _truth("conversation.id")
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
