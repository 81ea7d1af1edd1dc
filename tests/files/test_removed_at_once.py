"""The store of a running server after a file was removed: the request alone removes it."""

import time
from collections.abc import Iterator

import httpx
import pytest

from tests.support.live import Person, Server, Site
from tests.support.pictures import png

STORE_CHAT = """
from chatapp.models import Conversation, ReplyImage, StoredFile, User
from chatapp.models.conversations.messages.images import FIRST_OF_TOOLS
from tests.support.attaching import attach_file
from tests.support.pictures import png
alice = User.objects.get(username="{name}")
chat = Conversation.objects.create(user=alice, title="Sales")
attach_file(chat.messages.create(role="user", content="See"), "plot.png", png(8, 8))
attach_file(chat.messages.create(role="user", content="And"), "notes.txt")
reply = chat.messages.create(role="assistant", ending="complete")
for position, colour in ((0, b"abc"), (FIRST_OF_TOOLS, b"def")):
    file = StoredFile.store(png(8, 8, colour), alice.pk)
    reply.images.create(position=position, media_type="image/png", file=file)
Conversation.objects.filter(pk=chat.pk).trash()
print(chat.pk)
"""
WITHIN_SECONDS = 60


@pytest.fixture(scope="module")
def server(site: Site) -> Iterator[Server]:
    with site.server() as server:
        yield server


@pytest.fixture(scope="module")
def alice(site: Site) -> Person:
    return site.person()


@pytest.fixture
def client(server: Server, alice: Person) -> Iterator[httpx.Client]:
    with server.visit(alice) as client:
        client.get("/").raise_for_status()
        client.headers["X-CSRFToken"] = client.cookies["csrftoken"]
        yield client


def list_stored_files(server: Server) -> set[str]:
    """Return the names of all files in the store."""
    files = server.data_dir / "files"
    return {str(path.relative_to(files)) for path in files.rglob("*") if path.is_file()}


def until_gone(server: Server) -> None:
    give_up_at = time.monotonic() + WITHIN_SECONDS
    while left := list_stored_files(server):
        assert time.monotonic() < give_up_at, left


def upload(client: httpx.Client, name: str, data: bytes) -> str:
    begun = client.post("/files/", data={"name": name, "size": len(data)}).json()
    path, headers = f"/files/{begun['id']}/", {"Upload-Offset": "0"}
    client.patch(f"{path}part/", content=data, headers=headers).raise_for_status()
    return path


def test_a_chat_that_is_deleted_for_good_leaves_no_file(
    server: Server, alice: Person, client: httpx.Client
) -> None:
    chat = server.run(STORE_CHAT.format(name=alice.username)).strip()
    assert len(list_stored_files(server)) == 5  # with a thumbnail
    form = {"action": "discard", "ids": chat}
    response = client.post("/conversations/change/", data=form)
    assert response.status_code in (200, 302), response.text
    until_gone(server)


@pytest.mark.parametrize(("name", "data"), [("plot.png", png(900, 600)), ("a.txt", b"Sales fell")])
def test_a_draft_that_is_removed_leaves_no_file(
    server: Server, client: httpx.Client, name: str, data: bytes
) -> None:
    path = upload(client, name, data)
    assert list_stored_files(server)
    client.post(f"{path}remove/").raise_for_status()
    until_gone(server)
