"""Bob reads a chat of Alice's in a shared project, and goes on with a copy; Carol may not."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from chatapp.models import (
    Attachment,
    AuditEvent,
    Conversation,
    Deletion,
    Message,
    Project,
    ProjectMember,
    ReplyImage,
    Upstream,
    User,
)
from chatapp.models.conversations.chats.chat_settings import ChatSettings
from tests.conftest import signed_in
from tests.security.house import attach_files
from tests.support.page import parse
from tests.support.stored import build_reply, end

pytestmark = pytest.mark.django_db

Do = Callable[["SharedProject"], Any]


class SharedProject:
    """Alice's project with a chat in it, and its addresses."""

    def __init__(self, alice: User, upstream: Upstream, *, has_files: bool = True) -> None:
        self.project = alice.projects.create(name="Roses", instructions="Latin names.")
        self.chat = alice.conversations.create(title="Mildew", project=self.project)
        ChatSettings.objects.create(conversation=self.chat, system_prompt="Be secretive")
        prompt, self.reply = self.chat.ask(uuid4(), "Which?", None, upstream, "m", uuid4())
        end(self.reply, build_reply("Black spot", "Thinking of roses"))
        self.files = attach_files(self.chat, prompt) if has_files else {}
        ReplyImage.objects.create(
            message=self.reply, position=0, media_type="image/gif", data=b"GIF89a"
        )

    def at(self, path: str = "", chat: Conversation | None = None) -> str:
        return f"/projects/{self.project.pk}/c/{(chat or self.chat).pk}/{path}"

    @property
    def paths(self) -> list[str]:
        image, document = self.files["image"], self.files["document"]
        return [
            *("", f"earlier/{self.reply.pk}/", f"images/{self.reply.pk}/0/"),
            *(f"files/{document}/", f"files/{image}/image/", f"files/{image}/thumbnail/"),
        ]


@pytest.fixture
def gateway(db: None) -> Upstream:
    """An upstream that nobody reaches, so that no page leaves a connection behind."""
    return Upstream.objects.create(name="Gateway", base_url="http://127.0.0.1:9/v1")


@pytest.fixture
def shared_project(alice: User, gateway: Upstream) -> SharedProject:
    return SharedProject(alice, gateway)


@pytest.fixture
def member(shared_project: SharedProject, bob: User) -> ProjectMember:
    entry: ProjectMember = shared_project.project.members.create(person=bob)
    return entry


def statuses(client: Client, shared_project: SharedProject) -> dict[str, int]:
    return {path: client.get(shared_project.at(path)).status_code for path in shared_project.paths}


def test_a_member_reads_all_parts_of_a_chat(
    bobs: Client, shared_project: SharedProject, member: ProjectMember
) -> None:
    answer = bobs.get(shared_project.at())
    page = parse(answer.content.decode())
    assert page.find("h1", id="title").text == "Mildew"
    for text in ("Which?", "Black spot", "Thinking of roses", "A chat by alice", "Roses"):
        assert text in page.text
    assert "secretive" not in answer.content.decode()
    assert answer.headers["Cache-Control"] == "no-store"
    assert not page.find_all("textarea")
    assert "hx-ws" not in answer.content.decode()
    status_by_path = statuses(bobs, shared_project)
    assert status_by_path.pop(f"earlier/{shared_project.reply.pk}/") == 200
    assert set(status_by_path.values()) == {200}


@pytest.mark.parametrize(
    "end_it",
    [
        lambda shared: shared.project.members.all().delete(),
        lambda shared: shared.project.delete(),
        lambda shared: Conversation.objects.all().trash(),
        lambda shared: Conversation.objects.all().archive(),
        lambda shared: Conversation.objects.update(project=None),
        lambda shared: Conversation.objects.update(is_temporary=True),
        lambda shared: User.objects.filter(username="alice").update(is_active=False),
        lambda shared: User.objects.get(username="alice").delete(),
    ],
    ids=["removed", "deleted", "trashed", "archived", "moved", "temporary", "inactive", "erased"],
)
def test_nothing_of_it_is_served_any_more_once(
    bobs: Client, shared_project: SharedProject, member: ProjectMember, end_it: Do
) -> None:
    end_it(shared_project)
    assert set(statuses(bobs, shared_project).values()) == {404}
    assert bobs.post(shared_project.at("copy/")).status_code == 404


def test_outsiders_get_nothing(
    shared_project: SharedProject, bobs: Client, member: ProjectMember
) -> None:
    carols = signed_in(User.objects.create_user("carol"))
    assert set(statuses(carols, shared_project).values()) == {404}
    assert set(statuses(Client(headers={"host": "localhost"}), shared_project).values()) == {302}


def test_a_project_opens_no_other_chat(
    bobs: Client,
    shared_project: SharedProject,
    member: ProjectMember,
    alice: User,
    gateway: Upstream,
) -> None:
    """Neither by its id in an address of the project, nor by the ids of its parts."""
    other = SharedProject(alice, gateway, has_files=False)
    assert bobs.get(shared_project.at(chat=other.chat)).status_code == 404
    for path in (f"earlier/{other.reply.pk}/", f"images/{other.reply.pk}/0/"):
        assert bobs.get(shared_project.at(path)).status_code == 404, path
    mine = User.objects.get(username="bob").conversations.create(title="Mine")
    Conversation.objects.filter(pk=mine.pk).update(project=shared_project.project)
    assert (
        bobs.get(shared_project.at(chat=mine)).status_code == 404
    )  # one's own is at its own address


def test_the_own_addresses_of_a_chat_stay_its_authors(
    bobs: Client, shared_project: SharedProject, member: ProjectMember
) -> None:
    chat, reply, image = (
        shared_project.chat.pk,
        shared_project.reply.pk,
        shared_project.files["image"],
    )
    for path in (
        *(f"/c/{chat}/", f"/c/{chat}/earlier/?before={reply}", f"/c/{chat}/settings/"),
        *(f"/replies/{reply}/markdown/", f"/replies/{reply}/images/0/", f"/files/{image}/image/"),
        *(f"/c/{chat}/outline/", f"/replies/{reply}/request/", f"/c/{chat}/usage/"),
    ):
        assert bobs.get(path).status_code == 404, path
    for action in ("pin", "archive", "trash", "move"):
        bobs.post("/conversations/change/", {"action": action, "ids": str(chat)})
    assert bobs.post(f"/c/{chat}/rename/", {"title": "Mine"}).status_code == 404
    shared_project.chat.refresh_from_db()
    assert (shared_project.chat.title, shared_project.chat.project) == (
        "Mildew",
        shared_project.project,
    )
    assert (
        shared_project.chat.is_pinned,
        shared_project.chat.archived_at,
        shared_project.chat.trashed_at,
    ) == (
        False,
        None,
        None,
    )


def test_deleted_messages_and_other_branches_are_not_shown(
    bobs: Client,
    shared_project: SharedProject,
    member: ProjectMember,
    alice: User,
    gateway: Upstream,
) -> None:
    first = shared_project.reply.parent
    assert first
    other = shared_project.chat.answer(first, gateway, "m", uuid4())
    end(other, build_reply("Rust"))
    page = bobs.get(shared_project.at()).content.decode()
    assert "Rust" in page
    assert "Black spot" not in page
    assert bobs.get(shared_project.at(f"images/{shared_project.reply.pk}/0/")).status_code == 404
    Deletion(first.pk).store(alice)
    page = bobs.get(shared_project.at()).content.decode()
    assert "Which?" not in page
    assert "There is nothing in this chat yet." in page
    assert (
        bobs.get(shared_project.at(f"files/{shared_project.files['image']}/image/")).status_code
        == 404
    )


def test_a_member_goes_on_with_a_copy_of_their_own(
    bobs: Client, shared_project: SharedProject, member: ProjectMember, bob: User
) -> None:
    answer = bobs.post(shared_project.at("copy/"))
    copy = bob.conversations.get()
    assert answer.headers["Location"] == f"/c/{copy.pk}/"
    assert (copy.project, copy.is_temporary) == (None, False)
    texts = Message.objects.filter(conversation=copy).values_list("content", flat=True)
    assert list(texts) == ["Which?", "Black spot"]
    assert not ChatSettings.objects.filter(conversation=copy).exists()
    assert Attachment.objects.filter(message__conversation=copy, user=bob).exists()
    assert copy.stored_bytes > 0
    event = AuditEvent.objects.latest("sequence")
    assert (event.action, event.actor) == ("project.chat_copied", bob.pk)
    shared_project.project.members.all().delete()
    assert bobs.get(f"/c/{copy.pk}/").status_code == 200


def test_a_copy_needs_room(
    bobs: Client,
    shared_project: SharedProject,
    member: ProjectMember,
    bob: User,
    settings: Any,
) -> None:
    settings.CHATAPP_STORED_BYTES_PER_PERSON = 10
    answer = bobs.post(shared_project.at("copy/"), follow=True)
    assert "Delete some that you no longer need" in answer.content.decode()
    assert not bob.conversations.exists()
    assert isinstance(shared_project.project, Project)
