"""The same search among what everybody wrote, or some people: for who reviews.

Each word stands in the index behind its owner, so it is looked for with each of them in turn. A
word that stands nearly everywhere is looked for in the newest entries alone.
"""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from django.db import connection, transaction

from chatapp.indexing import Term
from chatapp.models.full_text import as_uuid, fts5, rows_of, tsquery
from chatapp.models.users import User

NEWEST = 5000  # entries, in which a common word is looked for
COMMON = 100  # of them that have it
MOST = 2000  # conversations that are found

NOBODY = 0
# The words of the query with the owner of a row or of a person in place of nobody.
OF_OWNER = """
replace(
  %s, '''000000_', '''' || lpad({owner}::text, greatest(6, length({owner}::text)), '0') || '_'
)::tsquery
"""
# By its key of each entry that was found: joined, all messages would be read for a few of them.
STANDS = "(SELECT deleted_at FROM chatapp_message WHERE id = entry.message_id) IS NULL"
POSTGRESQL_NEWEST = f"""
SELECT entry.conversation_id FROM (
  SELECT conversation_id, message_id, user_id, words, id FROM chatapp_searchentry
  {{whose}} ORDER BY id DESC LIMIT %s
) AS entry
WHERE entry.words @@ {OF_OWNER.format(owner="entry.user_id")} AND {STANDS} ORDER BY entry.id DESC
"""  # noqa: S608 - our own
POSTGRESQL_ALL = f"""
SELECT entry.conversation_id, {STANDS} FROM (
  SELECT found.* FROM (SELECT id FROM chatapp_user {{whose}}) AS person CROSS JOIN LATERAL (
    SELECT conversation_id, message_id, id FROM chatapp_searchentry
    WHERE words @@ {OF_OWNER.format(owner="person.id")} OFFSET 0
  ) AS found ORDER BY found.id DESC LIMIT %s
) AS entry ORDER BY entry.id DESC
"""  # noqa: S608 - our own
SQLITE = f"""
SELECT entry.conversation_id, entry.id
FROM chatapp_words
CROSS JOIN chatapp_searchentry AS entry ON entry.id = chatapp_words.rowid
WHERE chatapp_words MATCH %s AND entry.user_id = %s AND {STANDS}
ORDER BY chatapp_words.rowid DESC LIMIT %s
"""  # noqa: S608 - our own


class Everywhere(NamedTuple):
    conversations: list[UUID]
    is_cut: bool  # there may be older ones


def find_everywhere(terms: Sequence[Term], person: int | None = None) -> Everywhere:
    """Those that have all of the terms in a message that was not deleted, or in the title; those of
    `person`, or of anybody."""
    find = _in_sqlite if connection.vendor == "sqlite" else _in_postgresql
    found, is_cut = find(terms, person)
    several = list(dict.fromkeys(found))
    return Everywhere(several[:MOST], is_cut or len(several) > MOST)


def _in_postgresql(terms: Sequence[Term], person: int | None) -> tuple[list[UUID], bool]:
    query = tsquery(NOBODY, terms)
    whose, values = ("WHERE user_id = %s", [person]) if person is not None else ("", [])
    newest = rows_of(POSTGRESQL_NEWEST.format(whose=whose), [*values, NEWEST, query])
    if len(newest) >= COMMON:
        return [as_uuid(row[0]) for row in newest], True
    whose = whose.replace("user_id", "id")
    with transaction.atomic(), connection.cursor() as cursor:
        # To compile it would take ten times as long as it takes to run.
        cursor.execute("SET LOCAL jit = off")
        found = rows_of(POSTGRESQL_ALL.format(whose=whose), [*values, query, NEWEST])
    return [as_uuid(key) for key, stands in found if stands], len(found) == NEWEST


def _in_sqlite(terms: Sequence[Term], person: int | None) -> tuple[list[UUID], bool]:
    people = [person] if person is not None else User.objects.values_list("pk", flat=True)
    of_each = [rows_of(SQLITE, [fts5(one, terms), one, NEWEST]) for one in people]
    found = sorted((row for rows in of_each for row in rows), key=lambda row: -row[1])
    is_cut = any(len(rows) == NEWEST for rows in of_each)
    return [as_uuid(row[0]) for row in found[:NEWEST]], is_cut or len(found) > NEWEST
