"""The SQL of the triggers that maintain sums and facts (`facts`).

For each kind of row: what a change adds to a conversation's sums, and which facts it implies.
"""

from collections.abc import Iterator, Sequence

from chatapp.models.review.conversation_facets import MAX_NAME_LENGTH

SUMS, FACTS = "chatapp_conversationsums", "chatapp_conversationfact"
DAY = {
    "sqlite": "date({row}.updated_at)",
    "postgresql": "({row}.updated_at AT TIME ZONE 'UTC')::date",
}
NAME = {"sqlite": "json_extract(run.value, '$.name')", "postgresql": "run.name #>> '{}'"}
RUNS = {  # tool runs of a reply's earlier rounds, and of its last one
    "sqlite": (
        "json_each({row}.earlier_rounds) AS round, json_each(round.value, '$.tool_runs') AS run",
        "json_each({row}.tool_runs) AS run",
    ),
    "postgresql": (
        "jsonb_path_query({row}.earlier_rounds, '$[*].tool_runs[*].name') AS run(name)",
        "jsonb_path_query({row}.tool_runs, '$[*].name') AS run(name)",
    ),
}
CATEGORY = {"sqlite": "category.value", "postgresql": "category.name #>> '{}'"}
CATEGORIES = {  # those that moderation found in the prompt and the reply (`moderated`)
    "sqlite": (
        "json_each({row}.moderation) AS side, json_each(side.value, '$.results') AS result,"
        " json_each(result.value, '$.categories') AS category"
    ),
    "postgresql": (
        "jsonb_path_query({row}.moderation, '$.*.results[*].categories[*]') AS category(name)"
    ),
}
HAS_ENDED = "{row}.ending NOT IN ('', 'streaming', 'complete')"
COUNTS = "{row}.role = 'assistant' AND {row}.deleted_at IS NULL"
# A message's text counts once it is no longer streaming, so that a checkpoint changes no sum.
STANDS = "{row}.deleted_at IS NULL AND {row}.ending <> 'streaming'"
CHARACTERS = {  # in a message, including its earlier rounds
    "sqlite": (
        "length({row}.content) + (SELECT coalesce(sum(length(json_extract(round.value,"
        " '$.content'))), 0) FROM json_each({row}.earlier_rounds) AS round)"
    ),
    "postgresql": (
        "char_length({row}.content) + (SELECT coalesce(sum(char_length(said.text #>> '{{}}')), 0)"
        " FROM jsonb_path_query({row}.earlier_rounds, '$[*].content') AS said(text))"
    ),
}


def of_reply(vendor: str, row: str) -> list[tuple[str, str, str]]:
    """Return the facts of a reply's row as SQL.

    Each is the fact, the tables it is read from besides the row (or ""), and its condition.
    """
    name = NAME[vendor]
    return [
        (f"'model ' || {row}.model", "", f"{row}.model <> ''"),
        (f"'upstream ' || {row}.upstream_id", "", f"{row}.upstream_id IS NOT NULL"),
        (f"'ending ' || {row}.ending", "", HAS_ENDED.format(row=row)),
        *(
            (
                f"'tool ' || substr({name}, 1, {MAX_NAME_LENGTH})",
                runs.format(row=row),
                f"{name} <> ''",
            )
            for runs in RUNS[vendor]
        ),
        ("'flagged'", "", f"{row}.is_flagged"),
        ("'flagged moderation'", "", f"{row}.is_flagged"),
        (
            f"'category ' || substr({CATEGORY[vendor]}, 1, {MAX_NAME_LENGTH})",
            CATEGORIES[vendor].format(row=row),
            f"{row}.is_flagged AND {CATEGORY[vendor]} <> ''",
        ),
    ]


def of_feedback(row: str) -> list[tuple[str, str, str]]:
    return [
        ("'feedback'", "", "true"),
        (f"'feedback ' || {row}.rating", "", "true"),
        ("'flagged'", "", f"{row}.rating = 'down'"),
    ]


def of_finding(row: str) -> list[tuple[str, str, str]]:
    facts = "'flagged'", "'flagged rule'", f"'flagged rule-' || {row}.rule_id"
    return [(fact, "", "true") for fact in facts]


def _united(facts: Sequence[tuple[str, str, str]]) -> str:
    return " UNION ALL ".join(
        f"SELECT {fact} AS fact {f'FROM {read}' if read else ''} WHERE {where}"
        for fact, read, where in facts
    )


def _add_facts(vendor: str, conversation: str, facts: str) -> str:
    """Return SQL that adds missing facts with the day of the sums, whose row it locks."""
    lock = " FOR SHARE OF sums" if vendor == "postgresql" else ""
    return (
        f"INSERT INTO {FACTS} (conversation_id, fact, used_on)"
        f" SELECT sums.conversation_id, found.fact, sums.used_on"
        f" FROM {SUMS} AS sums, ({facts}) AS found WHERE sums.conversation_id = {conversation}"
        f"{lock} ON CONFLICT DO NOTHING;"
    )


def _add_sums(
    vendor: str, conversation: str, replies: str = "0", cost: str = "0", characters: str = "0"
) -> str:
    """Return SQL that adds to a conversation's sums.

    On PostgreSQL a missing row is created, so that concurrent transactions wait for each other
    there, but not if the conversation is being deleted. SQLite has one writer at a time.
    """
    more = {"replies": replies, "cost": cost, "characters": characters}
    added = ", ".join(f"{name} = {name} + {value}" for name, value in more.items() if value != "0")
    add = (
        f"UPDATE {SUMS} SET {added or 'replies = replies'} WHERE conversation_id = {conversation};"
    )
    if vendor == "sqlite":
        return add
    return (
        f"{add} IF NOT FOUND THEN"
        f" INSERT INTO {SUMS} AS kept (conversation_id, used_on, {', '.join(more)})"
        f" SELECT id, {DAY[vendor].format(row='used')}, {', '.join(more.values())}"
        f" FROM chatapp_conversation AS used WHERE id = {conversation} FOR KEY SHARE"
        " ON CONFLICT (conversation_id) DO UPDATE SET"
        f" {', '.join(f'{name} = kept.{name} + EXCLUDED.{name}' for name in more)}; END IF;"
    )


def _cost_of(row: str) -> str:
    return (
        "coalesce((SELECT booked.cost FROM chatapp_usage AS booked"
        f" WHERE booked.message_id = {row}.id), 0)"
    )


def _booked_for(row: str) -> str:
    """Return SQL for the conversation in which a row of the ledger counts, or NULL."""
    counts = COUNTS.format(row="reply")
    return (
        f"CASE WHEN {row}.kind = 'title' THEN {row}.message_id ELSE"
        " (SELECT reply.conversation_id FROM chatapp_message AS reply"
        f" WHERE reply.id = {row}.message_id AND {counts}) END"
    )


Trigger = tuple[str, str, str, str, str]
"""Its name, table, event, condition on the row ("" for all rows), and body."""


def triggers(vendor: str) -> Iterator[Trigger]:
    yield from _of_messages(vendor)
    yield from _of_texts(vendor)
    yield from _of_usage(vendor)
    yield from _of_conversations(vendor)
    yield from _of_thumbs(vendor)
    found = _add_facts(vendor, "NEW.conversation_id", _united(of_finding("NEW")))
    if vendor == "postgresql":
        found = _add_sums(vendor, "NEW.conversation_id") + found
    yield "finding_came", "chatapp_rulefinding", "INSERT", "", found


def _of_messages(vendor: str) -> Iterator[Trigger]:
    old, new = COUNTS.format(row="OLD"), COUNTS.format(row="NEW")
    facts = _add_facts(vendor, "NEW.conversation_id", _united(of_reply(vendor, "NEW")))

    message = "chatapp_message"
    counted = (
        f"CASE WHEN {new} THEN 1 ELSE 0 END",
        f"CASE WHEN {new} THEN {_cost_of('NEW')} ELSE 0 END",
    )
    added = _add_sums(vendor, "NEW.conversation_id", *counted) + facts
    yield "message_came", message, "INSERT", "NEW.role = 'assistant'", added
    ended = HAS_ENDED.format(row="NEW")
    is_new = (
        "NEW.role = 'assistant' AND (NEW.model <> OLD.model OR NEW.upstream_id <> OLD.upstream_id"
        " OR (NEW.upstream_id IS NOT NULL AND OLD.upstream_id IS NULL)"
        f" OR (NEW.ending <> OLD.ending AND {ended}) OR (NEW.is_flagged AND"
        " (NOT OLD.is_flagged OR NEW.moderation <> OLD.moderation OR OLD.moderation IS NULL))"
        " OR NEW.earlier_rounds <> OLD.earlier_rounds OR NEW.tool_runs <> OLD.tool_runs)"
    )
    made = _add_sums(vendor, "NEW.conversation_id") if vendor == "postgresql" else ""
    columns = (
        "UPDATE OF model, upstream_id, ending, earlier_rounds, tool_runs, is_flagged, moderation"
    )
    yield "message_grew", message, columns, is_new, made + facts
    sign = f"CASE WHEN {new} THEN 1 ELSE -1 END"
    moved = _add_sums(vendor, "NEW.conversation_id", sign, f"({sign}) * {_cost_of('NEW')}")
    columns = "UPDATE OF deleted_at, role"
    yield "message_moved", message, columns, f"({old}) <> ({new})", moved
    taken = _add_sums(vendor, "OLD.conversation_id", "-1", f"-{_cost_of('OLD')}")
    yield "message_went", message, "DELETE", old, taken


def _of_texts(vendor: str) -> Iterator[Trigger]:
    old, new = STANDS.format(row="OLD"), STANDS.format(row="NEW")
    before, after = (CHARACTERS[vendor].format(row=row) for row in ("OLD", "NEW"))

    message = "chatapp_message"
    added = _add_sums(vendor, "NEW.conversation_id", characters=after)
    yield "text_came", message, "INSERT", new, added
    more = f"(CASE WHEN {new} THEN {after} ELSE 0 END) - (CASE WHEN {old} THEN {before} ELSE 0 END)"
    columns = "UPDATE OF content, earlier_rounds, ending, deleted_at"
    differs = "NEW.content <> OLD.content OR NEW.earlier_rounds <> OLD.earlier_rounds"
    is_new = f"({old}) <> ({new}) OR (({new}) AND ({differs}))"
    changed = _add_sums(vendor, "NEW.conversation_id", characters=more)
    yield "text_changed", message, columns, is_new, changed
    taken = _add_sums(vendor, "OLD.conversation_id", characters=f"-({before})")
    yield "text_went", message, "DELETE", old, taken


def _of_usage(vendor: str) -> Iterator[Trigger]:
    usage = "chatapp_usage"
    booked = _add_sums(vendor, _booked_for("NEW"), cost="NEW.cost")
    yield "usage_came", usage, "INSERT", "NEW.cost <> 0", booked
    more = "coalesce(NEW.cost, 0) - coalesce(OLD.cost, 0)"
    booked = _add_sums(vendor, _booked_for("NEW"), cost=f"({more})")
    yield "usage_changed", usage, "UPDATE OF cost", f"{more} <> 0", booked
    booked = _add_sums(vendor, _booked_for("OLD"), cost="-OLD.cost")
    yield "usage_went", usage, "DELETE", "OLD.cost <> 0", booked


def _of_conversations(vendor: str) -> Iterator[Trigger]:
    day = DAY[vendor]
    day_is_new = f"{day.format(row='OLD')} <> {day.format(row='NEW')}"
    conversation = "chatapp_conversation"
    begun = (
        f"INSERT INTO {SUMS} (conversation_id, used_on, replies, cost, characters, is_whole)"
        f" VALUES (NEW.id, {day.format(row='NEW')}, 0, 0, 0, true) ON CONFLICT DO NOTHING;"
    )
    yield "conversation_came", conversation, "INSERT", "", begun
    used = _add_sums(vendor, "NEW.id") if vendor == "postgresql" else ""
    for table in (SUMS, FACTS):
        used += (
            f"UPDATE {table} SET used_on = {day.format(row='NEW')} WHERE conversation_id = NEW.id;"
        )
    yield "conversation_used", conversation, "UPDATE OF updated_at", day_is_new, used
    gone = "".join(f"DELETE FROM {one} WHERE conversation_id = OLD.id;" for one in (SUMS, FACTS))
    yield "conversation_went", conversation, "DELETE", "", gone


def _of_thumbs(vendor: str) -> Iterator[Trigger]:
    of = "(SELECT conversation_id FROM chatapp_message WHERE id = NEW.message_id)"
    rated = _add_facts(vendor, of, _united(of_feedback("NEW")))
    if vendor == "postgresql":
        rated = _add_sums(vendor, of) + rated
    yield "feedback_came", "chatapp_feedback", "INSERT", "", rated
    yield (
        "feedback_changed",
        "chatapp_feedback",
        "UPDATE OF rating",
        "NEW.rating <> OLD.rating",
        rated,
    )
