"""Imports run in a process of their own, and go on when a server is killed and started again."""

import io
import json
import os
import re
import time
from collections.abc import Iterator
from html import unescape
from signal import SIGKILL
from typing import Any

import httpx
import pytest

from chatapp.realtime.worker.jobs import BROKEN
from tests.imports.uploading import many
from tests.support.live import Person, Server, Site
from tests.support.program import WAIT_SECONDS

CHATS = 400
COUNTED = """
import json
from chatapp.models import Import, Message
job = Import.objects.get(user__username="{0.username}")
messages = Message.objects.filter(conversation__user=job.user)
print(json.dumps([job.user.conversations.count(), messages.count(), job.result["chats"]]))
"""
UNTIL = """
import time
from chatapp.models import Message
messages = Message.objects.filter(conversation__user__username="{0.username}")
give_up_at = time.monotonic() + WAIT_SECONDS
while not messages.filter({1}).count() >= {2}:
    assert time.monotonic() < give_up_at
    time.sleep(0.02)
""".replace("WAIT_SECONDS", str(WAIT_SECONDS))


@pytest.fixture(scope="module")
def server(site: Site) -> Iterator[Server]:
    with site.server() as server:
        yield server


@pytest.fixture
def alice(site: Site) -> Person:
    return site.person()


def test_an_import_outlives_servers_and_stores_and_indexes_each_chat_once(
    server: Server, alice: Person
) -> None:
    with server.visit(alice) as client:
        path = begin_import(client)
        server.stop()
    before = count_rows(server, alice)
    assert 0 < before[0] < CHATS
    server.start()
    server.run(UNTIL.format(alice, "", before[1] + 1))
    server.kill()
    stored = count_rows(server, alice)
    assert before[0] < stored[0] < CHATS
    server.start()
    server.run(UNTIL.format(alice, "", stored[1] + 1))
    server.pause()  # so that only the process that imports can index
    server.run(UNTIL.format(alice, "indexed_at__isnull=False", 2 * CHATS))
    server.resume()
    with server.visit(alice) as client:
        until(client, path, lambda progress: progress["has_ended"] and progress["state"] == "done")
    assert count_rows(server, alice) == [CHATS, 2 * CHATS, CHATS]


def count_rows(server: Server, person: Person) -> list[int]:
    """Count the stored chats and messages, and the chats that the import reports."""
    counts: list[int] = json.loads(server.run(COUNTED.format(person)))
    return counts


def test_an_import_fails_with_a_sentence_if_its_process_is_killed(
    server: Server, alice: Person
) -> None:
    with server.visit(alice) as client:
        path = begin_import(client)
        pids = re.findall(r"Background jobs run in process (\d+)", server.log)
        os.kill(int(pids[-1]), SIGKILL)
        until(client, path, lambda progress: progress["state"] == "failed")
        assert BROKEN in unescape(client.get(path).text)
        server.wait_for(r"The process for background jobs ended with -9")


def begin_import(client: httpx.Client) -> str:
    """Begin to import many chats, and wait until some are stored; return the import's address."""
    path = upload_export(client, json.dumps(many(CHATS)).encode())
    until(client, path, lambda progress: progress["has_ended"])
    post_form(client, f"{path}start/")
    until(client, path, lambda progress: 0 < (progress["percent"] or 0) < 100)
    return path


def upload_export(client: httpx.Client, data: bytes) -> str:
    """Upload an export; return the address of its import."""
    client.get("/imports/").raise_for_status()
    upload_state = post_form(
        client, "/imports/upload/", name="chats.json", size=str(len(data))
    ).json()
    [file] = upload_state["files"]
    parts = io.BytesIO(data)
    offset = 0
    while part := parts.read(upload_state["part"]):
        headers = build_token_header(client) | {
            "Upload-Offset": str(offset),
            "Content-Type": "application/octet-stream",
        }
        answer = client.patch(f"/imports/files/{file['id']}/part/", content=part, headers=headers)
        answer.raise_for_status()
        offset += len(part)
    path: str = post_form(client, f"/imports/read/{upload_state['batch']}/").json()["url"]
    return path


def post_form(client: httpx.Client, path: str, **fields: str) -> httpx.Response:
    answer = client.post(path, data=fields, headers=build_token_header(client))
    assert answer.status_code < 400, answer.text
    return answer


def build_token_header(client: httpx.Client) -> dict[str, str]:
    return {"X-CSRFToken": client.cookies.get("csrftoken") or ""}


def until(client: httpx.Client, path: str, is_so: Any) -> None:
    """Wait until the progress of an import is so."""
    give_up_at = time.monotonic() + WAIT_SECONDS
    while not is_so(client.get(f"{path}progress/").raise_for_status().json()):
        assert time.monotonic() < give_up_at
        time.sleep(0.02)
