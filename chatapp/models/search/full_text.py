"""Store and find words with the database's own full-text search.

SQLite has an FTS5 table beside `SearchEntry`, PostgreSQL a `tsvector` column in it with a GIN
index. Each word is prefixed with its owner (`000017_packet`), so that a search reads nothing of
other people's entries, not even for a common word or a common prefix.

`full_text.sqlite.sql` and `full_text.postgresql.sql` create the table, column and indexes;
`search_trigger.sqlite.sql` deletes the words of a deleted entry.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from chatapp.db.sql_files import after_migrate, read_sql, run_sql
from chatapp.db.triggers import trigger_source
from chatapp.text.indexing import Phrase, Term

POSTGRESQL_INDEXES = ("chatapp_searchentry_title_words", "chatapp_searchentry_words")
POSTGRESQL_HAS_INDEXES = (
    "SELECT to_regclass('chatapp_searchentry_words') IS NOT NULL "
    "AND to_regclass('chatapp_searchentry_title_words') IS NOT NULL"
)
MAX_POSITIONS = 255  # positions of a word that a tsvector keeps
MERGED_AT_ONCE = 500  # pages of SQLite's index

# A word in at least every hundredth entry is looked for in the newest rows, a rarer one by its
# index. So never are thousands of matching rows read to show a few.
NEWEST, MAX_NEWEST = 600, 9000  # rows read at first, and at most once the frequency is known


class Row(NamedTuple):
    """A search entry to be stored, with its words."""

    id: int
    user: int
    conversation: UUID
    message: UUID | None
    words: Sequence[str]


class Hit(NamedTuple):
    id: int
    conversation: UUID
    message: UUID | None


@after_migrate("SearchEntry", "conversation")
def make_index(connection: BaseDatabaseWrapper) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(POSTGRESQL_HAS_INDEXES)
            if cursor.fetchone()[0]:
                return
    run_sql(__file__, "full_text", connection)


@trigger_source("SearchEntry", "conversation")
def search_trigger(vendor: str) -> str:
    return read_sql(__file__, "search_trigger", vendor) if vendor == "sqlite" else ""


def store(rows: Sequence[Row]) -> None:
    is_sqlite = connection.vendor == "sqlite"
    columns = "id, user_id, conversation_id, message_id"
    values = "%s, %s, %s, %s"
    stored: list[list[Any]] = [
        [row.id, row.user, row.conversation.hex, row.message.hex if row.message else None]
        for row in rows
    ]
    with connection.cursor() as cursor:
        if is_sqlite:
            words: list[list[Any]] = [
                [row.id, " ".join(_prefix_words(row.user, row.words))] for row in rows
            ]
            cursor.executemany("INSERT INTO chatapp_words (rowid, words) VALUES (%s, %s)", words)
        else:
            columns, values = f"{columns}, words", f"{values}, %s::tsvector"
            for row_values, row in zip(stored, rows, strict=True):
                row_values.append(_tsvector(_prefix_words(row.user, row.words)))
        cursor.executemany(
            f"INSERT INTO chatapp_searchentry ({columns}) VALUES ({values})",  # noqa: S608 - our own names
            stored,
        )


def _prefix_words(user: int, words: Iterable[str]) -> list[str]:
    owner = f"{user:06}_"  # of a fixed length, for the prefix indexes of SQLite
    return [owner + word for word in words]


def _tsvector(words: Iterable[str]) -> str:
    """Return a tsvector as text; words of letters, digits and marks need no escaping."""
    positions: dict[str, list[int]] = {}
    for position, word in enumerate(words, 1):
        positions.setdefault(word, []).append(position)
    return " ".join(
        f"'{word}':{','.join(map(str, word_positions[:MAX_POSITIONS]))}"
        for word, word_positions in positions.items()
    )


FILTERS = """
conversation.user_id = %s AND conversation.trashed_at IS NULL AND NOT conversation.is_temporary
AND message.deleted_at IS NULL AND entry.id >= %s AND entry.id < %s
"""
JOINS = """
JOIN chatapp_conversation AS conversation ON conversation.id = entry.conversation_id
LEFT JOIN chatapp_message AS message ON message.id = entry.message_id
"""
# CROSS JOIN keeps SQLite from reordering the tables: the newest are read until there are enough.
SQLITE_FINDS = f"""
SELECT entry.id, entry.conversation_id, entry.message_id
FROM chatapp_words CROSS JOIN chatapp_searchentry AS entry ON entry.id = chatapp_words.rowid
{JOINS.replace("JOIN", "CROSS JOIN", 1)}
WHERE chatapp_words MATCH %s AND chatapp_words.rowid >= %s AND chatapp_words.rowid < %s
AND {FILTERS} {{more}} ORDER BY chatapp_words.rowid DESC LIMIT %s
"""  # noqa: S608 - our own
# The inner LIMIT is an optimisation fence, so that a rare word is not looked for in all rows.
POSTGRESQL_FINDS_NEWEST = f"""
SELECT entry.id, entry.conversation_id, entry.message_id FROM (
  SELECT id, conversation_id, message_id, words FROM chatapp_searchentry
  WHERE user_id = %s AND id >= %s AND id < %s {{kind}} ORDER BY id DESC LIMIT %s
) AS entry {JOINS}
WHERE entry.words @@ %s::tsquery AND {FILTERS} {{more}} ORDER BY entry.id DESC LIMIT %s
"""  # noqa: S608 - our own
POSTGRESQL_HAS_OLDER = """
SELECT FROM chatapp_searchentry
WHERE user_id = %s AND id >= %s AND id < %s {kind} ORDER BY id DESC OFFSET %s LIMIT 1
"""
# OFFSET 0 is such a fence too, and keeps the order, so that joined rows are read until the LIMIT.
POSTGRESQL_FINDS = f"""
SELECT entry.id, entry.conversation_id, entry.message_id FROM (
  SELECT id, conversation_id, message_id FROM chatapp_searchentry
  WHERE words @@ %s::tsquery {{kind}} ORDER BY id DESC OFFSET 0
) AS entry {JOINS}
WHERE {FILTERS} {{more}} ORDER BY entry.id DESC LIMIT %s
"""  # noqa: S608 - our own


def find(
    user: int,
    terms: Sequence[Term],
    limit: int,
    ids: tuple[int, int],
    projects: Sequence[UUID] | None = None,
    *,
    conversation: UUID | None = None,
    in_titles: bool = False,
) -> list[Hit]:
    """Return a person's newest entries that match all terms, up to `limit`.

    `ids` is the range of entry ids, its end excluded. `projects`, `conversation` and `in_titles`
    restrict the search to conversations of these projects, to one conversation, and to titles.
    Trashed, deleted and temporary content is not found.
    """
    if projects is not None and not projects:
        return []
    more = (
        f"AND conversation.project_id IN ({', '.join(['%s'] * len(projects))})" if projects else ""
    )
    last = [user, *ids, *(project.hex for project in projects or ())]
    if conversation:
        more += " AND entry.conversation_id = %s"
        last.append(conversation.hex)
    last.append(limit)
    if connection.vendor == "sqlite":
        return _fetch_hits(SQLITE_FINDS.format(more=more), [fts5(user, terms), *ids, *last])
    kind = "AND message_id IS NULL" if in_titles else ""
    newest = POSTGRESQL_FINDS_NEWEST.format(kind=kind, more=more)
    query, rows = tsquery(user, terms), NEWEST
    hits = _fetch_hits(newest, [user, *ids, rows, query, *last])
    needed = 2 * rows * limit // max(1, len(hits))
    if len(hits) < limit and needed <= MAX_NEWEST and not in_titles:
        rows = needed
        hits = _fetch_hits(newest, [user, *ids, rows, query, *last])
    if len(hits) == limit or not fetch_rows(
        POSTGRESQL_HAS_OLDER.format(kind=kind), [user, *ids, rows]
    ):
        return hits
    return _fetch_hits(POSTGRESQL_FINDS.format(kind=kind, more=more), [query, *last])


def _fetch_hits(sql: str, values: Sequence[Any]) -> list[Hit]:
    return [
        Hit(row[0], as_uuid(row[1]), row[2] and as_uuid(row[2])) for row in fetch_rows(sql, values)
    ]


def fetch_rows(sql: str, values: Sequence[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        rows: list[Any] = cursor.fetchall()
        return rows


def as_uuid(value: Any) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)


def fts5(user: int, terms: Iterable[Term]) -> str:
    """Return an FTS5 query: https://sqlite.org/fts5.html#full_text_query_syntax

    Each phrase is a quoted string, so that no word is taken for an operator.
    """

    def phrase(option: Phrase) -> str:
        return f'"{" ".join(_prefix_words(user, option.words))}"{" *" if option.is_prefix else ""}'

    return " AND ".join(f"({' OR '.join(map(phrase, term.options))})" for term in terms)


def tsquery(user: int, terms: Iterable[Term]) -> str:
    """Return a tsquery: https://www.postgresql.org/docs/current/datatype-textsearch.html

    Each word is quoted.
    """

    def phrase(option: Phrase) -> str:
        quoted_words = [f"'{word}'" for word in _prefix_words(user, option.words)]
        return " <-> ".join(quoted_words) + (":*" if option.is_prefix else "")

    return " & ".join(
        f"({' | '.join(f'({phrase(option)})' for option in term.options)})" for term in terms
    )


def clear_deleted(connection: BaseDatabaseWrapper) -> None:
    """Merge SQLite's index, which keeps the words of deleted entries until then.

    Works in steps, so that nobody waits long. PostgreSQL's words are removed by `vacuuming`.
    """
    if connection.vendor != "sqlite":
        return
    # FTS5: a negative number first makes all segments one level, so that all are merged into one.
    pages = -MERGED_AT_ONCE
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO chatapp_words (chatapp_words, rank) VALUES ('usermerge', 2)")
        while _merge(cursor, pages):
            pages = MERGED_AT_ONCE


def _merge(cursor: CursorWrapper, pages: int) -> bool:
    """Run one step; return whether it did anything, by SQLite's count of changes.

    https://sqlite.org/fts5.html#the_merge_command: a step that did nothing changes less than two.
    """
    before = cursor.connection.total_changes
    cursor.execute("INSERT INTO chatapp_words (chatapp_words, rank) VALUES ('merge', %s)", [pages])
    return bool(cursor.connection.total_changes - before >= 2)
