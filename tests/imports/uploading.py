"""Uploads exports and imports them as a person does, but runs the jobs in the test's thread."""

import json
import sqlite3
from io import BytesIO
from typing import Any, BinaryIO

from django.test import Client

from chatapp.models import Conversation, Import, Process, User
from chatapp.realtime.worker.jobs import Jobs
from tests.support import attaching
from tests.transfer.samples import NOON, gpt_chat, gpt_message


def upload(client: Client, *files: tuple[str, bytes]) -> Any:
    """Upload the files of an export; return the response to the last request."""
    names = {"name": [name for name, _ in files], "size": [str(len(data)) for _, data in files]}
    begun = client.post("/imports/upload/", names)
    if begun.status_code != 201:
        return begun
    upload_state = begun.json()
    for file_state in upload_state["files"]:
        data = files[file_state["index"]][1]
        for offset in range(file_state["received"], len(data), upload_state["part"]):
            send_part(
                client, file_state["id"], data[offset : offset + upload_state["part"]], offset
            )
    return client.post(f"/imports/read/{upload_state['batch']}/")


def send_part(client: Client, pk: str, data: bytes, offset: int) -> Any:
    return attaching.send_part(client, pk, data, offset, "imports/files")


def run_jobs() -> None:
    """Run all jobs in a process of its own, the only one that lives."""
    Process.objects.all().delete()
    process = Process.current(is_alone=False)
    process.record_heartbeat()
    Jobs(process.pk).run_all()


def preview_import(
    client: Client, file: BinaryIO, name: str = "export.zip", *, fails: bool = False
) -> Import:
    """Upload an export and let it be read, which should work unless it `fails`."""
    file.seek(0)
    answer = upload(client, (name, file.read()))
    assert answer.status_code == 201, answer.content
    run_jobs()
    job = Import.objects.get(pk=answer.json()["url"].split("/")[2])
    assert not job.is_unended, f"It is {job.state}, run by {job.run_by}, after {job.done} chats."
    assert bool(job.problem) == fails, job.problem
    return job


def import_all(client: Client, file: BinaryIO, **choice: str) -> Import:
    """Upload an export, and import all of it."""
    job = preview_import(client, file)
    client.post(f"/imports/{job.pk}/start/", choice)
    run_jobs()
    job.refresh_from_db()
    return job


def get_chat(user: User, title: str = "Bread") -> Conversation:
    return user.conversations.get(title=title)


def outline(conversation: Conversation) -> list[tuple[str, str]]:
    """Return the role and the text of each message, in the order of the conversation."""
    return [
        (message.role, message.content) for message in conversation.messages.filter(deleted_at=None)
    ]


def longer(**others: Any) -> dict[str, Any]:
    """Return the chat of `gpt_turn` with one more turn."""
    return gpt_chat(
        [
            ("root", None, None),
            ("u1", "root", gpt_message("user", "How long does dough rest?")),
            ("a1", "u1", gpt_message("assistant", "About an hour.")),
            ("u2", "a1", gpt_message("user", "And rye?", create_time=1_760_000_600)),
            ("a2", "u2", gpt_message("assistant", "Longer.", create_time=1_760_000_601)),
        ],
        **others,
    )


def many(count: int) -> list[dict[str, Any]]:
    """Return so many chats with titles that are numbers."""
    return [
        gpt_chat(
            [
                ("u1", None, gpt_message("user", f"Question {number}")),
                ("a1", "u1", gpt_message("assistant", f"Answer {number}")),
            ],
            id=f"many-{number}",
            conversation_id=f"many-{number}",
            title=f"Chat {number}",
        )
        for number in range(count)
    ]


def database(*chats: tuple[str, str], prompts: int = 1, sql: str = "") -> BinaryIO:
    """Return an Open WebUI database with a chat for each (title, account) and so many prompts.

    The account "bob" is named Bob there and has the address bob@example.org.
    """
    file = sqlite3.connect(":memory:")
    file.execute("CREATE TABLE user (id TEXT, name TEXT, email TEXT)")
    file.execute("CREATE TABLE chat (id, user_id, title, chat, created_at INTEGER, folder_id)")
    file.execute("CREATE TABLE folder (id TEXT, name TEXT)")
    messages = [{"role": "user", "content": f"Prompt {at}", "id": str(at)} for at in range(prompts)]
    content = json.dumps({"models": ["m"], "messages": messages})
    for name in dict.fromkeys(account for _, account in chats):
        row = [name, name.capitalize(), f"{name}@example.org"]
        file.execute("INSERT INTO user VALUES (?, ?, ?)", row)
    for title, account in chats:
        row = [f"{account}-{title}", account, title, content, str(NOON)]
        file.execute("INSERT INTO chat VALUES (?, ?, ?, ?, ?, NULL)", row)
    file.executescript(sql)
    file.commit()
    return BytesIO(file.serialize())
