"""Open WebUI's database."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from chatapp.transfer import (
    Format,
    SourceChat,
    SourcePerson,
    Unreadable,
    database,
    detect,
    read_chats,
    read_people,
)
from tests.transfer.samples import outline, read_all, webui_turn

SCHEMA = """
CREATE TABLE chat (id VARCHAR, user_id VARCHAR, title TEXT, chat JSON, created_at BIGINT,
    updated_at BIGINT, share_id TEXT, archived BOOLEAN, pinned BOOLEAN, meta JSON, folder_id TEXT,
    current_message_id TEXT);
CREATE TABLE chat_message (id TEXT, chat_id TEXT, user_id TEXT, role TEXT, parent_id TEXT,
    content JSON, output JSON, model_id TEXT, files JSON, sources JSON, done BOOLEAN, error JSON,
    created_at BIGINT);
CREATE TABLE folder (id TEXT, parent_id TEXT, user_id TEXT, name TEXT);
CREATE TABLE user (id VARCHAR, name VARCHAR, email VARCHAR);
INSERT INTO folder VALUES ('f', NULL, 'me', 'Drinks');
INSERT INTO user VALUES ('me', 'Me', 'me@example.com');
"""
INSERT = "INSERT INTO chat ({}) VALUES ({})"
MESSAGES = """
INSERT INTO chat_message (id, chat_id, role, parent_id, content, model_id, created_at)
VALUES ('w-1-u', 'w-1', 'user', NULL, '"Green?"', NULL, 1760000000),
       ('w-1-a', 'w-1', 'assistant', 'u', '"Yes."', 'llama', 1760000001);
UPDATE chat SET current_message_id = 'a';
"""
COLUMNS = ("id", "user_id", "title", "chat", "created_at", "updated_at", "archived", "pinned")
Store = Callable[..., BinaryIO]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return a function that writes chats into a database, runs SQL, and opens the file."""
    opened: list[BinaryIO] = []

    def store_chats(*chats: dict[str, Any], sql: str = "", schema: str = SCHEMA) -> BinaryIO:
        path = tmp_path / "webui.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(schema)
            for chat in chats:
                values = {**chat, "chat": json.dumps(chat["chat"]), "meta": json.dumps({})}
                names = [*COLUMNS, "meta", "folder_id"]
                row = [values[name] for name in names]
                marks = ", ".join("?" * len(names))
                connection.execute(INSERT.format(", ".join(names), marks), row)
            connection.executescript(sql)
            connection.commit()
        opened.append(path.open("rb"))
        return opened[-1]

    yield store_chats
    for file in opened:
        file.close()


def test_chats_with_the_names_of_folders_and_people(store: Store) -> None:
    file = store(webui_turn(folder_id="f"), webui_turn(id="w-2", user_id="unknown"))
    assert detect([file]) is Format.OPEN_WEBUI
    first, second = read_all(file)[0]
    assert outline(first) == [("u", None, "Green or black?"), ("a", "u", "Green.")]
    assert (first.source_id, first.folder, first.owner) == ("w-1", "Drinks", "me")
    assert (first.is_pinned, first.is_archived) == (True, False)
    assert (second.folder, second.owner) == ("", "unknown")


def test_people_with_their_names_and_addresses(store: Store) -> None:
    sql = "INSERT INTO user VALUES ('you', NULL, 'You@Example.com'), (7, ' A  B ', '')"
    assert read_people(store(sql=sql)) == {
        "me": SourcePerson("me", "Me", "me@example.com"),
        "you": SourcePerson("you", "", "You@Example.com"),
        "7": SourcePerson("7", "A B", ""),
    }


@pytest.mark.parametrize(
    "address",
    [
        *("NULL", "x'ff00'", "'a@b.c '", "'a@b.c' || char(10)", "'a@b.c' || char(0) || 'd'"),
        *("'a@b.c' || printf('%300c', 'd')", "printf('%1000000c', 'x')"),
    ],
)
def test_an_odd_address_is_not_changed_into_another(store: Store, address: str) -> None:
    sql = f"UPDATE user SET email = {address}, name = printf('%1000000c', 'n')"  # noqa: S608
    [person] = read_people(store(sql=sql)).values()
    assert person.address == ""
    assert len(person.name) <= 100


@pytest.mark.parametrize(
    "user",
    [
        "SELECT 1",
        "CREATE TABLE user (email)",
        "CREATE VIEW user AS SELECT 'me' AS id, 'you@example.com' AS email",
        "CREATE VIRTUAL TABLE user USING rtree(id, email, other)",
    ],
)
def test_people_are_only_read_from_a_table(store: Store, user: str) -> None:
    assert read_people(store(sql=f"DROP TABLE user; {user}")) == {}


def test_messages_may_be_in_a_table_of_their_own(store: Store) -> None:
    file = store({**webui_turn(), "chat": {"title": "Tea"}}, sql=MESSAGES)
    [chat] = read_all(file)[0]
    assert outline(chat) == [("u", None, "Green?"), ("a", "u", "Yes.")]
    assert chat.messages[1].model == "llama"


def test_messages_are_found_in_one_pass_without_an_index(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand chats used to take a thousand passes over all messages."""
    monkeypatch.setattr(database, "WATCHED_STEPS", 1000)
    chats = [webui_turn(id=f"w-{number}") for number in range(1000)]
    for chat in chats:
        chat["chat"]["history"] = {}
    rows = (f"('{chat['id']}-u', '{chat['id']}', 'user', '\"Green?\"')" for chat in chats)
    sql = f"INSERT INTO chat_message (id, chat_id, role, content) VALUES {','.join(rows)};"  # noqa: S608
    looks: list[int] = []
    entries = list(read_chats([store(*chats, sql=sql)], Format.OPEN_WEBUI, watch=looks.append))
    assert all(isinstance(chat, SourceChat) and len(chat.messages) == 1 for chat in entries)
    assert len(looks) < 200  # of a thousand steps; one pass takes 50, a thousand take 5,000


def test_reading_can_be_ended_in_the_middle_of_a_query(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(_: int) -> None:
        raise KeyError("cancelled")

    monkeypatch.setattr(database, "WATCHED_STEPS", 1)
    file = store(webui_turn())
    with pytest.raises(KeyError):
        detect([file], end)
    with pytest.raises(KeyError):
        read_people(file, end)
    with pytest.raises(KeyError):
        list(read_chats([file], Format.OPEN_WEBUI, watch=end))


def test_a_damaged_chat_does_not_stop_the_others(store: Store) -> None:
    file = store(
        webui_turn(id="1"),
        webui_turn(id="2"),
        webui_turn(id="3"),
        sql="UPDATE chat SET chat = '{' WHERE id = '1'; UPDATE chat SET chat = NULL WHERE id = '2'",
    )
    chats, report = read_all(file)
    assert [chat.source_id for chat in chats] == ["3"]
    assert report.skipped_count == 2


def test_a_chat_that_is_too_large_is_skipped(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "MAX_BYTES", 10_000)
    file = store(
        webui_turn(id="1"),
        webui_turn(id="2"),
        sql="UPDATE chat SET chat = printf('%20000c', 'x') WHERE id = '1'",
    )
    chats, report = read_all(file)
    assert [chat.source_id for chat in chats] == ["2"]
    assert report.skipped[0].reason == "It is larger than 64 MB."


def test_older_versions_have_fewer_tables_and_columns(store: Store) -> None:
    schema = "CREATE TABLE chat (id, user_id, title, chat, created_at, updated_at)"
    row = json.dumps(webui_turn()["chat"])
    sql = INSERT.format("id, user_id, chat", f"'w', 'me', '{row}'")
    [chat] = read_all(store(schema=schema, sql=sql))[0]
    assert (chat.source_id, chat.owner) == ("w", "me")


@pytest.mark.parametrize(
    "schema",
    [
        "CREATE TABLE other (id)",
        "CREATE VIEW chat AS SELECT 1 AS id, randomblob(1000000) AS chat",
        "CREATE VIRTUAL TABLE chat USING rtree(id, chat, other)",
    ],
)
def test_nothing_stored_in_the_database_is_executed(store: Store, schema: str) -> None:
    with pytest.raises(Unreadable, match="isn't Open WebUI's"):
        list(read_all(store(schema=schema)))


def test_a_column_called_rowid_is_not_searched_for_each_chat(store: Store) -> None:
    schema = SCHEMA.replace("chat (id", "chat (rowid TEXT, _ROWID_ TEXT, id", 1)
    chats, _ = read_all(store(*(webui_turn(id=f"{number}") for number in range(3)), schema=schema))
    assert [chat.source_id for chat in chats] == ["0", "1", "2"]


def test_a_table_that_hides_all_names_of_its_rows_is_refused(store: Store) -> None:
    schema = SCHEMA.replace("chat (id", "chat (rowid, oid, _ROWID_, id", 1)
    with pytest.raises(Unreadable):
        read_all(store(webui_turn(), schema=schema))


def test_the_file_stays_as_it_is(store: Store, tmp_path: Path) -> None:
    file = store(webui_turn())
    before = (tmp_path / "webui.db").read_bytes()
    read_all(file)
    assert (tmp_path / "webui.db").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["webui.db"]


@pytest.mark.parametrize("cut", [20, 3000, 9000])
def test_a_damaged_database_is_refused_or_read_in_part(
    store: Store, tmp_path: Path, cut: int
) -> None:
    whole = store(*(webui_turn(id=str(number)) for number in range(50))).read()
    path = tmp_path / "cut.db"
    path.write_bytes(whole[:cut])
    with path.open("rb") as file, pytest.raises(Unreadable, match="damaged"):
        read_all(file)


def test_a_database_must_be_on_disk() -> None:
    with pytest.raises(Unreadable, match="file on disk"):
        detect([BytesIO(b"SQLite format 3\0" + b"\0" * 100)])
