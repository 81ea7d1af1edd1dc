"""Imports run in a process of their own, and go on when a server is killed and started again."""

import io
import json
import os
import re
import time
from html import unescape
from signal import SIGKILL
from typing import Any

import httpx

from chatapp.realtime.worker.jobs import BROKEN
from tests.imports.uploading import many
from tests.support.live import Site
from tests.support.program import WAIT_SECONDS

CHATS = 400
COUNTED = """
import django, json
django.setup()
from chatapp.models import Conversation, Import, Message
job = Import.objects.get()
print(json.dumps([Conversation.objects.count(), Message.objects.count(), job.result["chats"]]))
"""

INDEXED = """
import django
django.setup()
from chatapp.models import Message
print(Message.objects.exclude(indexed_at=None).count())
"""


def test_a_killed_import_goes_on_and_stores_each_chat_once(site: Site) -> None:
    with site.server() as server:
        alice = site.person()
        with server.visit(alice) as client:
            path = uploaded(client, json.dumps(many(CHATS)).encode())
            until(client, path, lambda told: told["has_ended"])
            posted(client, f"{path}start/")
            until(client, path, lambda told: 0 < (told["percent"] or 0) < 100)
            server.kill()
            stored = json.loads(server.run(COUNTED))
            assert 0 < stored[0] < CHATS
            server.start()
        with server.visit(alice) as client:
            until(client, path, lambda told: told["has_ended"] and told["state"] == "done")
        assert json.loads(server.run(COUNTED)) == [CHATS, 2 * CHATS, CHATS]


def test_an_import_that_is_stopped_goes_on_elsewhere(site: Site) -> None:
    with site.server() as server:
        alice = site.person()
        with server.visit(alice) as client:
            path = uploaded(client, json.dumps(many(CHATS)).encode())
            until(client, path, lambda told: told["has_ended"])
            posted(client, f"{path}start/")
            until(client, path, lambda told: 0 < (told["percent"] or 0) < 100)
            server.stop()
            server.start()
        with server.visit(alice) as client:
            until(client, path, lambda told: told["has_ended"] and told["state"] == "done")
        assert json.loads(server.run(COUNTED)) == [CHATS, 2 * CHATS, CHATS]


def test_the_process_that_imports_also_indexes(site: Site) -> None:
    with site.server() as server, server.visit(site.person()) as client:
        path = uploaded(client, json.dumps(many(CHATS)).encode())
        until(client, path, lambda told: told["has_ended"])
        posted(client, f"{path}start/")
        until(client, path, lambda told: 0 < (told["percent"] or 0) < 100)
        server.pause()
        give_up_at = time.monotonic() + WAIT_SECONDS
        while json.loads(server.run(INDEXED)) != 2 * CHATS:
            assert time.monotonic() < give_up_at
        server.resume()
        until(client, path, lambda told: told["has_ended"] and told["state"] == "done")


def test_an_import_fails_with_a_sentence_if_its_process_is_killed(site: Site) -> None:
    with site.server() as server, server.visit(site.person()) as client:
        path = uploaded(client, json.dumps(many(CHATS)).encode())
        until(client, path, lambda told: told["has_ended"])
        posted(client, f"{path}start/")
        until(client, path, lambda told: 0 < (told["percent"] or 0) < 100)
        pids = re.findall(r"Background jobs run in process (\d+)", server.log)
        os.kill(int(pids[-1]), SIGKILL)
        until(client, path, lambda told: told["state"] == "failed")
        assert BROKEN in unescape(client.get(path).text)
        server.wait_for(r"The process for background jobs ended with -9")


def uploaded(client: httpx.Client, data: bytes) -> str:
    """Upload an export; return the address of its import."""
    client.get("/imports/").raise_for_status()
    told = posted(client, "/imports/upload/", name="chats.json", size=str(len(data))).json()
    [file] = told["files"]
    parts = io.BytesIO(data)
    offset = 0
    while part := parts.read(told["part"]):
        headers = token_of(client) | {
            "Upload-Offset": str(offset),
            "Content-Type": "application/octet-stream",
        }
        answer = client.patch(f"/imports/files/{file['id']}/part/", content=part, headers=headers)
        answer.raise_for_status()
        offset += len(part)
    path: str = posted(client, f"/imports/read/{told['batch']}/").json()["url"]
    return path


def posted(client: httpx.Client, path: str, **fields: str) -> httpx.Response:
    answer = client.post(path, data=fields, headers=token_of(client))
    assert answer.status_code < 400, answer.text
    return answer


def token_of(client: httpx.Client) -> dict[str, str]:
    return {"X-CSRFToken": client.cookies.get("csrftoken") or ""}


def until(client: httpx.Client, path: str, is_so: Any) -> None:
    """Wait until the progress of an import is so."""
    give_up_at = time.monotonic() + WAIT_SECONDS
    while not is_so(client.get(f"{path}progress/").raise_for_status().json()):
        assert time.monotonic() < give_up_at
        time.sleep(0.02)
