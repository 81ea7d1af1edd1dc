"""The databases' own text search: it keeps the words that are made here, and finds them again.

SQLite has an FTS5 table of them beside `SearchEntry`, PostgreSQL a `tsvector` in it with a GIN
index. Each word stands there with its owner before it (`000017_packet`), so that a search reads
nothing of what others have, neither for a word that everybody uses nor for what many begin with.

All of it is made after every `migrate`, as the triggers of `sequence` are.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.apps import AppConfig
from django.apps import apps as global_apps
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.db.models.signals import post_migrate
from django.dispatch import receiver

from chatapp.indexing import Phrase, Term

# The words are whole as they come: only a space separates them, and nothing is folded again. The
# table keeps them: to delete from one that does not, SQLite 3.40 would have to be told them.
SQLITE = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS chatapp_words USING fts5("
    # Of two and three letters behind the owner, since very many words may begin with these.
    """words, tokenize = "ascii tokenchars '_'", prefix = '9 10')""",
    "CREATE TRIGGER IF NOT EXISTS chatapp_searchentry_deleted AFTER DELETE ON chatapp_searchentry "
    "BEGIN DELETE FROM chatapp_words WHERE rowid = OLD.id; END",
)
# The words lie beside the rows, so that many rows are read quickly. What is written waits in a list
# for its place in the index; each search reads that list, so it is a short one. Titles are few, and
# have indexes of their own: in that of everything a search reads the places of messages, too.
POSTGRESQL = (
    "ALTER TABLE chatapp_searchentry ADD COLUMN IF NOT EXISTS words tsvector",
    "ALTER TABLE chatapp_searchentry SET (toast_tuple_target = 128)",
    "CREATE INDEX IF NOT EXISTS chatapp_searchentry_titles ON chatapp_searchentry (user_id, id) "
    "WHERE message_id IS NULL",
    "CREATE INDEX IF NOT EXISTS chatapp_searchentry_title_words ON chatapp_searchentry "
    "USING gin (words) WITH (gin_pending_list_limit = 64) WHERE message_id IS NULL",
    "CREATE INDEX IF NOT EXISTS chatapp_searchentry_words ON chatapp_searchentry "
    "USING gin (words) WITH (gin_pending_list_limit = 256)",
)
POSTGRESQL_INDEXES = ("chatapp_searchentry_title_words", "chatapp_searchentry_words")
POSTGRESQL_HAS_IT = (
    "SELECT to_regclass('chatapp_searchentry_words') IS NOT NULL "
    "AND to_regclass('chatapp_searchentry_title_words') IS NOT NULL"
)
MOST_PLACES = 255  # of a word, that a tsvector keeps
MERGED_AT_ONCE = 500  # pages of SQLite's index

# What stands in every hundredth entry is found among the newest, what is rarer by its index:
# thousands of rows that have it are never read to show some.
NEWEST, MOST_NEWEST = 600, 9000  # rows that are read: at first, and once it is known how rare it is


class Row(NamedTuple):
    """An entry as it is stored, with the words that it is found by."""

    id: int
    user: int
    conversation: UUID
    message: UUID | None
    words: Sequence[str]


class Hit(NamedTuple):
    id: int
    conversation: UUID
    message: UUID | None


@receiver(post_migrate)
def after_migrating(sender: AppConfig, using: str, apps: Any = global_apps, **_: object) -> None:
    if sender.name == "chatapp" and "searchentry" in apps.all_models["chatapp"]:
        with connections[using].cursor() as cursor:
            if connections[using].vendor == "sqlite":
                statements: Sequence[str] = SQLITE
            else:
                cursor.execute(POSTGRESQL_HAS_IT)
                statements = () if cursor.fetchone()[0] else POSTGRESQL
            for statement in statements:
                cursor.execute(statement)


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
                [row.id, " ".join(_owned(row.user, row.words))] for row in rows
            ]
            cursor.executemany("INSERT INTO chatapp_words (rowid, words) VALUES (%s, %s)", words)
        else:
            columns, values = f"{columns}, words", f"{values}, %s::tsvector"
            for one, row in zip(stored, rows, strict=True):
                one.append(_tsvector(_owned(row.user, row.words)))
        cursor.executemany(
            f"INSERT INTO chatapp_searchentry ({columns}) VALUES ({values})",  # noqa: S608 - our own names
            stored,
        )


def _owned(user: int, words: Iterable[str]) -> list[str]:
    owner = f"{user:06}_"  # of one length, for the prefixes of SQLite's index
    return [owner + word for word in words]


def _tsvector(words: Iterable[str]) -> str:
    """In PostgreSQL's notation, in which words of letters, digits and marks need no more."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words, 1):
        places.setdefault(word, []).append(place)
    return " ".join(
        f"'{word}':{','.join(map(str, found[:MOST_PLACES]))}" for word, found in places.items()
    )


FILTERS = """
conversation.user_id = %s AND conversation.trashed_at IS NULL AND NOT conversation.is_temporary
AND message.deleted_at IS NULL AND entry.id >= %s AND entry.id < %s
"""
JOINS = """
JOIN chatapp_conversation AS conversation ON conversation.id = entry.conversation_id
LEFT JOIN chatapp_message AS message ON message.id = entry.message_id
"""
# The order of the tables is that of the statement: the newest are read until there are enough.
SQLITE_FINDS = f"""
SELECT entry.id, entry.conversation_id, entry.message_id
FROM chatapp_words CROSS JOIN chatapp_searchentry AS entry ON entry.id = chatapp_words.rowid
{JOINS.replace("JOIN", "CROSS JOIN", 1)}
WHERE chatapp_words MATCH %s AND chatapp_words.rowid >= %s AND chatapp_words.rowid < %s
AND {FILTERS} {{more}} ORDER BY chatapp_words.rowid DESC LIMIT %s
"""  # noqa: S608 - our own
# LIMIT has this planned for itself, so that no rare word is looked for in all rows.
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
# OFFSET does that, too, and keeps the order, in which what is joined is read until it is enough.
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
    most: int,
    ids: tuple[int, int],
    projects: Sequence[UUID] | None = None,
    *,
    conversation: UUID | None = None,
    in_titles: bool = False,
) -> list[Hit]:
    """The newest of a person's entries that have all of the terms, and whose id is in the range.

    With `projects`, only of conversations in one of these; of this `conversation` alone where one
    is named; `in_titles`, of titles alone. What is in
    the trash, deleted or temporary is not found.
    """
    if projects is not None and not projects:
        return []
    more = (
        f"AND conversation.project_id IN ({', '.join(['%s'] * len(projects))})" if projects else ""
    )
    last = [user, *ids, *(one.hex for one in projects or ())]
    if conversation:
        more += " AND entry.conversation_id = %s"
        last.append(conversation.hex)
    last.append(most)
    if connection.vendor == "sqlite":
        return _hits(SQLITE_FINDS.format(more=more), [fts5(user, terms), *ids, *last])
    kind = "AND message_id IS NULL" if in_titles else ""
    newest = POSTGRESQL_FINDS_NEWEST.format(kind=kind, more=more)
    query, rows = tsquery(user, terms), NEWEST
    found = _hits(newest, [user, *ids, rows, query, *last])
    needed = 2 * rows * most // max(1, len(found))
    if len(found) < most and needed <= MOST_NEWEST and not in_titles:
        rows = needed
        found = _hits(newest, [user, *ids, rows, query, *last])
    if len(found) == most or not rows_of(
        POSTGRESQL_HAS_OLDER.format(kind=kind), [user, *ids, rows]
    ):
        return found
    return _hits(POSTGRESQL_FINDS.format(kind=kind, more=more), [query, *last])


def _hits(sql: str, values: Sequence[Any]) -> list[Hit]:
    return [
        Hit(row[0], as_uuid(row[1]), row[2] and as_uuid(row[2])) for row in rows_of(sql, values)
    ]


def rows_of(sql: str, values: Sequence[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        rows: list[Any] = cursor.fetchall()
        return rows


def as_uuid(value: Any) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)


def fts5(user: int, terms: Iterable[Term]) -> str:
    """https://sqlite.org/fts5.html#full_text_query_syntax, with each word in a string."""

    def phrase(one: Phrase) -> str:
        return f'"{" ".join(_owned(user, one.words))}"{" *" if one.is_prefix else ""}'

    return " AND ".join(f"({' OR '.join(map(phrase, term.options))})" for term in terms)


def tsquery(user: int, terms: Iterable[Term]) -> str:
    """https://www.postgresql.org/docs/current/datatype-textsearch.html, likewise."""

    def phrase(one: Phrase) -> str:
        found = [f"'{word}'" for word in _owned(user, one.words)]
        return " <-> ".join(found) + (":*" if one.is_prefix else "")

    return " & ".join(
        f"({' | '.join(f'({phrase(one)})' for one in term.options)})" for term in terms
    )


def clear_deleted(connection: BaseDatabaseWrapper) -> None:
    """Writes SQLite's index anew without what was deleted, whose words it keeps until then.

    Step by step, so that nobody waits long; PostgreSQL's are gone after `vacuuming`.
    """
    if connection.vendor != "sqlite":
        return
    pages = -MERGED_AT_ONCE  # that all of it is to be one, not only what is of the same size
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO chatapp_words (chatapp_words, rank) VALUES ('usermerge', 2)")
        while _merge(cursor, pages):
            pages = MERGED_AT_ONCE


def _merge(cursor: CursorWrapper, pages: int) -> bool:
    """Whether there was something to be done; SQLite counts what it changed for that."""
    counted = cursor.connection.total_changes
    cursor.execute("INSERT INTO chatapp_words (chatapp_words, rank) VALUES ('merge', %s)", [pages])
    return bool(cursor.connection.total_changes - counted >= 2)
