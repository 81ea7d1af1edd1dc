"""Helpers that read, alter and restore archives."""

import json
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import psycopg

from tests.support.live import run

KEY = "sk-very-secret"
REPORT = "5a7f8b3c-0000-4000-8000-000000000001"  # an attachment
MAKE_CONVERSATION = f"""
import uuid
from chatapp.models import Attachment, Conversation, Message, StoredFile, Upstream, User
upstream = Upstream.objects.create(name="Kept", base_url="http://127.0.0.1:9/v1", api_key="{KEY}")
chat = Conversation(user=User.objects.get(username="olive"), title="Kept")
prompt, reply = chat.ask(uuid.uuid4(), "Hello", None, upstream, "m", uuid.uuid4())
Message.objects.filter(pk=reply.pk).update(content="Half of")
file = StoredFile.store(b"Sales fell", chat.user_id)
fields = dict(user=chat.user, message=prompt, name="report.txt", size=10, state="ready")
Attachment.objects.create(pk="{REPORT}", file=file, **fields)
print(chat.get_absolute_url())
"""
Json = dict[str, Any]  # a manifest
Change = Callable[[Json, dict[str, bytes]], None]  # alters a manifest and its members


def restore(environment: dict[str, str], file: Path) -> "subprocess.CompletedProcess[str]":
    return run(environment, "manage.py", "restore", str(file), check=False)


def refusal(environment: dict[str, str], file: Path) -> str:
    """Return the error of a restore that fails, and check that it changed nothing."""
    before = tables(environment)
    done = restore(environment, file)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert tables(environment) == before
    remaining_names = {path.name for path in Path(environment["DATA_DIR"]).iterdir()}
    assert remaining_names <= {"secret_key", "static", "recordings"} | {
        n for n in remaining_names if ".sqlite3" in n
    }
    return done.stderr


def tables(environment: dict[str, str]) -> set[str]:
    if url := environment.get("DATABASE_URL"):
        with psycopg.connect(url) as connection:
            query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            return {name for [name] in connection.execute(query)}
    file = Path(environment["DATA_DIR"], "chatapp.sqlite3")
    if not file.exists():
        return set()
    with closing(sqlite3.connect(file)) as connection:
        return {name for [name] in connection.execute("SELECT name FROM sqlite_master")}


def read_manifest(file: Path) -> Json:
    with ZipFile(file) as archive:
        manifest: Json = json.loads(archive.read("manifest.json"))
    return manifest


def alter_archive(file: Path, target: Path, change: Change) -> Path:
    """Write a copy of the archive with its manifest and members changed."""
    manifest = read_manifest(file)
    with ZipFile(file) as archive:
        members = {name: archive.read(name) for name in manifest["members"]}
    change(manifest, members)
    with ZipFile(target, "w", ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("manifest.json", json.dumps(manifest))
    return target


def connect_database(environment: dict[str, str]) -> Any:
    if url := environment.get("DATABASE_URL"):
        return psycopg.connect(url)
    return sqlite3.connect(Path(environment["DATA_DIR"], "chatapp.sqlite3"), timeout=20)
