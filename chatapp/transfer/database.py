"""Reads the chats of all people from Open WebUI's database, `webui.db`, which is SQLite.

Known is the schema of 0.3 to 0.12: tables `chat`, `chat_message`, `folder` and `user`, as in
backend/open_webui/models of open-webui/open-webui (commits 00059776 and 02530d50).

The file may come from anybody, so nothing that is stored in it is executed: it is opened for
reading only, views and functions are refused, and values have a limit.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from chatapp.transfer.elements import (
    BROKEN,
    MAX_BYTES,
    TOO_LARGE,
    BrokenElement,
    Watch,
    decode_element,
    ignore_bytes,
)
from chatapp.transfer.records import SourcePerson, Unreadable
from chatapp.transfer.values import identifier, line, mapping, text

MAGIC = b"SQLite format 3\0"
MAX_ROWS = 1_000_000
MAX_MESSAGES = 10_000_000  # of all chats together
WATCHED_STEPS = 100_000  # of SQLite's machine, a few milliseconds
MAX_PEOPLE = 100_000
MAX_ADDRESS = 254  # characters
MAX_NAME = 100
DAMAGED = "This database is damaged, or it isn't Open WebUI's."
NO_FILE = "A database can only be read from a file on disk."
_COLUMNS = (
    *("id", "user_id", "title", "chat", "created_at", "updated_at", "archived", "pinned", "meta"),
    *("folder_id", "current_message_id"),
)
# Columns of `chat_message`, and the fields of a chat's JSON that have the same values.
_FIELDS = {
    "role": "role",
    "parent_id": "parentId",
    "content": "content",
    "output": "output",
    "model_id": "model",
    "files": "files",
    "sources": "sources",
    "done": "done",
    "error": "error",
    "created_at": "timestamp",
}
_KNOWN = {"chat": _COLUMNS, "chat_message": ("id", *_FIELDS), "user": ("id", "email", "name")}
_ROW_KEYS = ("rowid", "_rowid_", "oid")
_JSON = frozenset({"chat", "meta", "content", "output", "files", "sources", "error"})


class Database:
    """The chats of a database, its people, and the names of folders."""

    def __init__(self, file: BinaryIO, watch: Watch = ignore_bytes) -> None:
        """Raise `Unreadable` if the file is damaged or has other tables."""
        self._watch = watch
        self._ended_by: Exception | None = None
        self._places: _MessageIndex | None = None
        self._connection = _connect(file)
        self._connection.set_progress_handler(self._poll_watch, WATCHED_STEPS)
        try:
            self._columns = {table: self._list_columns(table) for table in ("chat", "chat_message")}
            if not {"id", "chat"} <= set(self._columns["chat"]):
                raise Unreadable(DAMAGED)
            self.folders = self._names("folder", "name")
        except sqlite3.Error as error:
            self.close()
            raise self._ended_by or Unreadable(DAMAGED) from error

    def people(self) -> dict[str, SourcePerson]:
        """Return the accounts by their ids; none if there is no table of them."""
        people_by_id: dict[str, SourcePerson] = {}
        try:
            names = self._list_columns("user")
            query = f'SELECT {", ".join(names)} FROM "user" LIMIT {MAX_PEOPLE}'  # noqa: S608 - names of our own
            for row in self._connection.execute(query) if "id" in names else ():
                values = {name: _value(name, value) for name, value in zip(names, row, strict=True)}
                id, name = identifier(values["id"]), line(values.get("name"), MAX_NAME)
                people_by_id.setdefault(id, SourcePerson(id, name, _address(values.get("email"))))
        except sqlite3.Error as error:
            raise self._ended_by or Unreadable(DAMAGED) from error
        return people_by_id

    def close(self) -> None:
        self._connection.close()
        if self._places:
            self._places.close()

    def chats(self) -> Iterator[dict[str, Any] | BrokenElement]:
        """Yield the chats as an export has them, one at a time."""
        try:
            key = self._row_key("chat")
            for (rowid,) in self._connection.execute(f"SELECT {key} FROM chat"):  # noqa: S608 - a name of ours
                yield self._chat(key, rowid)
        except sqlite3.Error as error:
            raise self._ended_by or Unreadable(DAMAGED) from error

    def _poll_watch(self) -> bool:
        """Return whether what runs is to end. SQLite calls it now and then."""
        try:
            self._watch(0)
        except Exception as error:  # noqa: BLE001 - SQLite hides it, so it is raised later
            self._ended_by = error
        return self._ended_by is not None

    def _row_key(self, table: str) -> str:
        """Return a name of the number by which SQLite finds a row of a table at once.

        A column of the same name would hide it, and each row would be looked for in all rows.
        """
        hidden = self._all_columns(table)
        if free := [name for name in _ROW_KEYS if name not in hidden]:
            return free[0]
        raise Unreadable(DAMAGED)

    def _chat(self, key: str, rowid: int) -> dict[str, Any] | BrokenElement:
        names = self._columns["chat"]
        try:
            stored_row = self._row("chat", names, key, rowid)
            row = {name: _value(name, value) for name, value in zip(names, stored_row, strict=True)}
            if isinstance(row.get("chat"), BrokenElement):
                return row["chat"]  # type: ignore[no-any-return]
            content = mapping(row.get("chat"))
            history = mapping(content.get("history"))
            if not history.get("messages") and not content.get("messages"):
                messages = self._messages(identifier(row.get("id")))
                row["chat"] = content | {"history": history | {"messages": messages}}
        except sqlite3.DataError:
            return BrokenElement(TOO_LARGE)
        except sqlite3.Error:
            if self._ended_by:
                raise
            return BrokenElement(BROKEN)
        return row

    def _messages(self, chat: str) -> dict[str, Any]:
        """Return the messages of a chat whose JSON has none."""
        messages_by_id: dict[str, Any] = {}
        names = self._columns["chat_message"]
        if not names:
            return messages_by_id
        key, size = self._row_key("chat_message"), 0
        if self._places is None:
            self._places = _MessageIndex()
            query = f"SELECT {key}, chat_id FROM chat_message LIMIT {MAX_MESSAGES}"  # noqa: S608 - names of our own
            self._places.add(self._connection.execute(query))
        for rowid in self._places.find_rows(chat):
            row = self._row("chat_message", names, key, rowid)
            size += sum(len(value) for value in row if isinstance(value, bytes))
            if size > MAX_BYTES:
                raise sqlite3.DataError(TOO_LARGE)
            values = {name: _value(name, value) for name, value in zip(names, row, strict=True)}
            id = identifier(values.pop("id", None)).removeprefix(f"{chat}-")
            messages_by_id[id] = {
                _FIELDS[name]: value for name, value in values.items() if value is not None
            }
        return messages_by_id

    def _row(self, table: str, names: list[str], key: str, rowid: int) -> tuple[Any, ...]:
        query = f"SELECT {', '.join(names)} FROM {table} WHERE {key} = ?"  # noqa: S608 - names of our own
        row: tuple[Any, ...] | None = self._connection.execute(query, [rowid]).fetchone()
        if row is None:  # an index has it, but not the table
            raise sqlite3.DatabaseError(BROKEN)
        return row

    def _list_columns(self, table: str) -> list[str]:
        """Return which of the known columns a table has; none if it is absent or a view."""
        query = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?"
        statement = self._connection.execute(query, [table]).fetchone()
        if not statement or not statement[0].upper().startswith(b"CREATE TABLE"):
            return []
        present = self._all_columns(table)
        return [name for name in _KNOWN[table] if name in present]

    def _all_columns(self, table: str) -> set[str]:
        """Return the names of a table's columns in lower case, which SQLite doesn't distinguish."""
        selected = self._connection.execute(f'SELECT * FROM "{table}" LIMIT 0')  # noqa: S608 - a name of our own
        return {column[0].lower() for column in selected.description}

    def _names(self, table: str, column: str) -> dict[str, str]:
        try:
            query = f'SELECT id, {column} FROM "{table}" LIMIT {MAX_ROWS}'  # noqa: S608 - names of our own
            rows = self._connection.execute(query).fetchall()
        except sqlite3.OperationalError:  # an older version
            return {}
        return {identifier(_value("id", id)): line(_value(column, name)) for id, name in rows}


class _MessageIndex:
    """An index of the messages of each chat, since the database may have none.

    It is in a temporary file, as there may be millions.
    """

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", check_same_thread=False)
        self._connection.execute(
            "CREATE TABLE place (chat, message, PRIMARY KEY (chat, message)) WITHOUT ROWID"
        )

    def add(self, messages: Iterable[tuple[int, Any]]) -> None:
        """Add messages, as their rows and the ids of their chats."""
        entries = ((identifier(_value("chat_id", chat)), rowid) for rowid, chat in messages)
        self._connection.executemany("INSERT OR IGNORE INTO place VALUES (?, ?)", entries)

    def find_rows(self, chat: str) -> list[int]:
        """Return the rows of a chat's messages, in their order."""
        query = "SELECT message FROM place WHERE chat = ? ORDER BY message LIMIT ?"
        return [rowid for (rowid,) in self._connection.execute(query, [chat, MAX_ROWS])]

    def close(self) -> None:
        self._connection.close()


def _connect(file: BinaryIO) -> sqlite3.Connection:
    try:
        uri = f"file:/dev/fd/{file.fileno()}?mode=ro&immutable=1"
    except OSError as error:
        raise Unreadable(NO_FILE) from error
    try:
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise Unreadable(DAMAGED) from error
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_BYTES)
    connection.set_authorizer(_authorize)
    connection.text_factory = bytes
    return connection


def _authorize(action: int, *names: str | None) -> int:
    """Allow to read tables, but no view or trigger to do so, whose name is the last."""
    is_allowed = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ) and names[-1] is None
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def _address(value: object) -> str:
    """Return an address as it is; "" if it can't be one, since a changed one may be another's."""
    address = text(value)
    return address if address == value and address == line(address, MAX_ADDRESS) else ""


def _value(name: str, value: Any) -> Any:
    """Return a column's value: JSON decoded, texts as text."""
    if not isinstance(value, bytes):
        return value
    if name not in _JSON:
        return value.decode("utf-8", "replace")
    return decode_element(value)
