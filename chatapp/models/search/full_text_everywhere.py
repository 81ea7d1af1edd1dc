"""Full-text search over the conversations of everybody, or of one person, for reviewers.

In the index each word is prefixed with its owner, so it is looked for once per person. Rare terms
are looked for by the index, the other terms in the rows found so. If all terms are common, only the
newest entries are searched.
"""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from django.db import connection, transaction

from chatapp.models.accounts.users import User
from chatapp.models.search.full_text import as_uuid, fetch_rows, fts5, tsquery
from chatapp.text.indexing import Term

COUNTED = 1000  # newest entries in which terms are counted, to see how common they are
COMMON, COMMON_OF_ONE = 20, 100  # matches that make a term common: for everybody, for one person
NEWEST, NEWEST_OF_ONE = 5000, 2500  # newest entries that are searched for common terms
MAX_ENTRIES, MAX_CONVERSATIONS = (
    2500,
    1000,
)  # entries found at most, and conversations returned at most

NOBODY, LAST = 0, 2**63 - 1
# A query's words with their owner, `NOBODY`, replaced by that of a row or by a person.
OF_OWNER = """
replace(
  %s, '''000000_', '''' || lpad({owner}::text, greatest(6, length({owner}::text)), '0') || '_'
)::tsquery
"""
OF_ROW, OF_PERSON = OF_OWNER.format(owner="user_id"), OF_OWNER.format(owner="id")
# Deleted messages are few and have an index; a join would read a message for each entry.
IS_NOT_DELETED = """
NOT EXISTS (
  SELECT 1 FROM chatapp_message AS message
  WHERE message.id = entry.message_id AND message.deleted_at IS NOT NULL
)
"""
POSTGRESQL_COUNT = f"count(*) FILTER (WHERE words @@ {OF_ROW})"
POSTGRESQL_COUNTS = """
SELECT {counts} FROM (
  SELECT user_id, words FROM chatapp_searchentry WHERE id < %s {owned} ORDER BY id DESC LIMIT %s
) AS entry
"""
POSTGRESQL_FOUND = f"""
SELECT (SELECT count(*) FROM looked_at), ARRAY(
  SELECT conversation_id FROM entry WHERE {IS_NOT_DELETED}
  GROUP BY conversation_id ORDER BY max(id) DESC LIMIT %s
)
"""  # noqa: S608 - our own
POSTGRESQL_NEWEST = f"""
WITH looked_at AS MATERIALIZED (
  SELECT conversation_id, message_id, user_id, words, id FROM chatapp_searchentry
  WHERE id < %s {{owned}} ORDER BY id DESC LIMIT %s
), entry AS (SELECT conversation_id, message_id, id FROM looked_at WHERE words @@ {OF_ROW})
{POSTGRESQL_FOUND}
"""  # noqa: S608 - our own
POSTGRESQL_RARE = f"""
WITH looked_at AS MATERIALIZED (
  SELECT conversation_id, message_id, found.id
  FROM (SELECT {{queries}} FROM chatapp_user WHERE true {{owned}} OFFSET 0) AS person
  CROSS JOIN LATERAL (
    SELECT conversation_id, message_id, words, id FROM chatapp_searchentry
    WHERE words @@ rare OFFSET 0
  ) AS found WHERE found.id < %s {{proven}} ORDER BY found.id DESC LIMIT %s
), entry AS (SELECT * FROM looked_at)
{POSTGRESQL_FOUND}
"""  # noqa: S608 - our own
SQLITE = f"""
SELECT entry.conversation_id, entry.id
FROM chatapp_words
CROSS JOIN chatapp_searchentry AS entry ON entry.id = chatapp_words.rowid
WHERE chatapp_words MATCH %s AND chatapp_words.rowid < %s
AND entry.user_id = %s AND {IS_NOT_DELETED}
ORDER BY chatapp_words.rowid DESC LIMIT %s
"""  # noqa: S608 - our own


class EverywhereResult(NamedTuple):
    conversations: list[UUID]
    is_cut: bool  # whether there may be older ones


def find_everywhere(
    terms: Sequence[Term], person: int | None = None, before: int = LAST
) -> EverywhereResult:
    """Return conversations with all terms in a message that is not deleted, or in the title.

    Only those of `person`, if given, and only in entries with an id below `before`. Newest first.
    """
    find = _in_sqlite if connection.vendor == "sqlite" else _in_postgresql
    conversations, is_cut = find(terms, person, before)
    return EverywhereResult(
        conversations[:MAX_CONVERSATIONS], is_cut or len(conversations) > MAX_CONVERSATIONS
    )


def _in_postgresql(
    terms: Sequence[Term], person: int | None, before: int
) -> tuple[list[UUID], bool]:
    if person is None:
        owned, values, enough, newest = "", [], COMMON, NEWEST
    else:
        owned, values, enough, newest = "AND {} = %s", [person], COMMON_OF_ONE, NEWEST_OF_ONE
    of_person, of_row = owned.format("id"), owned.format("user_id")
    counts = POSTGRESQL_COUNTS.format(
        counts=", ".join([POSTGRESQL_COUNT] * len(terms)), owned=of_row
    )
    each = [tsquery(NOBODY, [term]) for term in terms]
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        # JIT compilation would take ten times as long as running the statement.
        cursor.execute("SET LOCAL jit = off")
        [having] = fetch_rows(counts, [*each, before, *values, COUNTED])
        common = [term for term, count in zip(terms, having, strict=True) if count >= enough]
        rare = [term for term in terms if term not in common]
        limit = MAX_ENTRIES if rare else newest
        if rare:
            queries, proven = f"{OF_PERSON} AS rare", ""
            looked_for = [tsquery(NOBODY, rare)]
            if common:
                queries, proven = f"{queries}, {OF_PERSON} AS rest", "AND words @@ rest"
                looked_for.append(tsquery(NOBODY, common))
            find = POSTGRESQL_RARE.format(queries=queries, owned=of_person, proven=proven)
            parameters = [*looked_for, *values, before, limit]
        else:
            find = POSTGRESQL_NEWEST.format(owned=of_row)
            parameters = [before, *values, limit, tsquery(NOBODY, common)]
        [(count, conversations)] = fetch_rows(find, [*parameters, MAX_CONVERSATIONS + 1])
    return conversations, count == limit


def _in_sqlite(terms: Sequence[Term], person: int | None, before: int) -> tuple[list[UUID], bool]:
    people = [person] if person is not None else User.objects.values_list("pk", flat=True)
    by_person = [
        fetch_rows(SQLITE, [fts5(user, terms), before, user, MAX_ENTRIES]) for user in people
    ]
    newest_rows = sorted((row for rows in by_person for row in rows), key=lambda row: -row[1])
    is_cut = len(newest_rows) > MAX_ENTRIES or any(len(rows) == MAX_ENTRIES for rows in by_person)
    return list(dict.fromkeys(as_uuid(row[0]) for row in newest_rows[:MAX_ENTRIES])), is_cut
