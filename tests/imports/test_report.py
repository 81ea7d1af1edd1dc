"""Nothing of an export disappears without a sentence in the report."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.storage import Storage
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from chatapp.imports.projects import ProjectImporter
from chatapp.models import Import, User
from chatapp.models.conversations.chats.conversation import IMPORT_SOURCES
from chatapp.models.files.import_files import LIFETIME
from chatapp.models.imports.imports import FORMAT_LENGTH
from chatapp.transfer import Format
from chatapp.transfer.formats.parts import DAMAGED_MESSAGE
from tests.conftest import signed_in
from tests.imports.uploading import get_chat, import_all, outline, preview_import, run_jobs
from tests.transfer.samples import (
    TURNS,
    build_zip,
    claude_turn,
    gpt_chat,
    gpt_message,
    gpt_turn,
    json_file,
    only,
)

pytestmark = pytest.mark.django_db(transaction=True)
MISSING = "The export does not contain this file."


@pytest.fixture
def alices(alice: User, disk: Storage) -> Client:
    return signed_in(alice)


def get_page(client: Client, job: Import) -> str:
    return " ".join(client.get(job.get_absolute_url()).content.decode().split())


@pytest.mark.parametrize("format", Format)
def test_chats_of_each_app_are_stored_with_its_name(
    format: Format, alice: User, alices: Client
) -> None:
    import_all(alices, json_file(TURNS[format]()))
    chat = alice.conversations.get()
    assert [role for role, _ in outline(chat)] == ["user", "assistant"]
    assert chat.imported_from == format
    assert chat.imported_from_label == IMPORT_SOURCES[format]
    assert len(format) <= FORMAT_LENGTH


def with_picture(**others: Any) -> dict[str, Any]:
    """Return a chat with a picture that the export names three times and doesn't contain."""
    part = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_gone"}
    look = {"content_type": "multimodal_text", "parts": [part, "Look"]}
    attached = {"attachments": [{"id": "file_gone", "name": "receipt.png"}]}
    nodes = [
        ("u1", None, gpt_message("user", look, metadata=attached)),
        ("a1", "u1", gpt_message("assistant", {**look, "parts": [part, "Seen"]})),
    ]
    return gpt_chat(nodes, **others)


def test_a_missing_picture_is_named_once(alices: Client) -> None:
    job = import_all(alices, json_file([with_picture()]))
    assert job.result["reasons"] == {MISSING: [1, ["Bread: receipt.png"]]}
    again = preview_import(alices, json_file([with_picture()]))
    assert again.preview["reasons"] == {MISSING: [1, ["Bread: receipt.png"]]}
    assert again.preview["missing_files"] == 1


def test_damaged_parts_are_named_with_their_places_and_the_others_imported(
    alice: User, alices: Client
) -> None:
    damaged = gpt_turn()
    damaged["mapping"]["x"] = {"id": "x", "parent": "a1", "children": []}
    members = {
        "conversations-000.json": [damaged, 5],
        "conversations-001.json": b'[{"title": "Broken", "mapping": {,}}]',
    }
    job = import_all(alices, build_zip(members))
    assert job.result["reasons"] == {
        DAMAGED_MESSAGE: [1, ["Bread, message x"]],
        "It is a single value, not a chat.": [1, ["entry 2 of “conversations-000.json”"]],
        "Its JSON is damaged.": [1, ["entry 1 of “conversations-001.json”"]],
    }
    assert len(outline(get_chat(alice))) == 2


def test_the_report_says_what_was_in_the_export_besides_chats(alices: Client) -> None:
    members = {
        "conversations.json": [claude_turn()],
        "projects.json": [{"uuid": "p", "name": "Toys", "docs": [{"filename": "a.md"}]}],
        "memories.json": [{"conversations_memory": "Likes kites."}],
    }
    job = preview_import(alices, build_zip(members))
    documents = "Documents of Claude's projects are not imported: 1 in “Toys”."
    assert documents.replace("'", "&#39;") in get_page(alices, job)
    alices.post(f"/imports/{job.pk}/start/")
    run_jobs()
    job.refresh_from_db()
    assert documents in job.result["notes"]
    assert len(job.result["notes"]) == 2
    assert documents.replace("'", "&#39;") in get_page(alices, job)


def test_an_uploaded_file_is_named_by_the_name_it_has_there(alices: Client) -> None:
    job = preview_import(alices, json_file([gpt_turn(), 5]), "chats of 2025.json")
    [[_, places]] = job.preview["reasons"].values()
    assert places == ["entry 2 of “chats of 2025.json”"]


def test_an_old_report_forgets_names(alices: Client) -> None:
    job = import_all(
        alices, build_zip({"conversations.json": [with_picture()], "secret.txt": b"x"})
    )
    assert job.result["notes"]
    Import.objects.update(ended_at=timezone.now() - LIFETIME - timedelta(days=1))
    assert Import.objects.all().forget_old_report()
    job.refresh_from_db()
    assert job.result["reasons"] == {MISSING: [1, []]}
    assert "notes" not in job.result


def test_unnamed_projects_never_take_the_name_of_another(alice: User, alices: Client) -> None:
    alice.projects.create(name="ChatGPT project 1")
    chats = [
        gpt_turn(conversation_id="a", title="A", gizmo_id="g-p-1"),
        gpt_turn(conversation_id="b", title="B", gizmo_id="g-p-2"),
        gpt_turn(conversation_id="c", title="C", gizmo_id="g-p-1"),
    ]
    job = preview_import(alices, json_file(chats))
    assert job.preview["folders"] == {"ChatGPT project 2": 2, "ChatGPT project 3": 1}
    alices.post(f"/imports/{job.pk}/start/", {"makes_projects": "on"})
    run_jobs()
    names = {title: get_chat(alice, title).project for title in "ABC"}
    assert {title: project and project.name for title, project in names.items()} == {
        "A": "ChatGPT project 2",
        "B": "ChatGPT project 3",
        "C": "ChatGPT project 2",
    }


def test_names_are_looked_up_once_for_all_folders(
    alice: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    alice.projects.create(name="ChatGPT project 3")
    chats = [only(json_file([gpt_turn(gizmo_id=f"g-p-{number}")])) for number in range(10)]
    projects = ProjectImporter(alice)
    with django_assert_num_queries(len(chats) + 1):  # each project by its key
        numbers = [int(projects.get_name(chat).split()[-1]) for chat in chats]
    assert numbers == [1, 2, *range(4, 12)]


def test_a_project_keeps_the_name_it_was_given_here(alice: User, alices: Client) -> None:
    import_all(alices, json_file([gpt_turn(gizmo_id="g-p-1")]), makes_projects="on")
    alice.projects.update(name="Baking")
    later = gpt_turn(conversation_id="b", title="B", gizmo_id="g-p-1")
    job = preview_import(alices, json_file([later]))
    assert job.preview["folders"] == {"Baking": 1}
    alices.post(f"/imports/{job.pk}/start/", {"makes_projects": "on"})
    run_jobs()
    assert get_chat(alice, "B").project == alice.projects.get()
