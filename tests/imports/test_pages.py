"""Uploading an export, its preview, and what strangers and hostile files get."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.storage import Storage
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from chatapp.erasure.people import erase
from chatapp.imports import preview
from chatapp.imports.uploads import STOPPED
from chatapp.models import Conversation, Import, ImportFile, User, index_some
from chatapp.models.files import storage
from chatapp.models.files.import_files import LIFETIME
from chatapp.models.imports.imports import Phase
from chatapp.models.platform.jobs import JobState
from chatapp.realtime.worker.housekeeping import clean_up
from chatapp.rendering.fragments.words import day
from tests.conftest import signed_in
from tests.imports.uploading import (
    database,
    get_chat,
    import_all,
    longer,
    many,
    preview_import,
    run_jobs,
    send_part,
    upload,
)
from tests.transfer.samples import build_zip, gpt_turn, json_file

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alices(alice: User, disk: Storage) -> Client:
    return signed_in(alice)


def begin_upload(client: Client, size: int = 9, name: str = "chats.json") -> dict[str, Any]:
    answer = client.post("/imports/upload/", {"name": name, "size": str(size)})
    assert answer.status_code == 201, answer.content
    upload_state: dict[str, Any] = answer.json()
    return upload_state


def test_the_page_of_an_imported_chat_says_from_where_it_came_and_when(
    alice: User, alices: Client
) -> None:
    import_all(alices, json_file([gpt_turn()]))
    chat = get_chat(alice)
    page = " ".join(alices.get(chat.get_absolute_url()).content.decode().split())
    assert f"Imported from ChatGPT on {day(chat.created_at)}, begun on 9 Oct 2025" in page
    own = alice.conversations.create(title="Not imported")
    assert "Imported from" not in alices.get(own.get_absolute_url()).content.decode()


def test_an_import_that_is_being_cancelled_says_so(alice: User, alices: Client) -> None:
    job = Import.objects.create(user=alice, name="a.json", phase=Phase.STORING, state="running")
    assert "delete what was imported so far" in alices.get(job.get_absolute_url()).content.decode()
    job.ask_to_cancel()
    page = alices.get(job.get_absolute_url()).content.decode()
    assert "Cancelling" in page
    assert "delete what was imported so far" not in page


def test_the_preview_says_what_would_come(alices: Client) -> None:
    members = {"conversations.json": [*many(2), gpt_turn(gizmo_id="g-p-1"), {"mapping": {}}, 5]}
    job = preview_import(alices, build_zip(members))
    page = alices.get(f"/imports/{job.pk}/").content.decode()
    assert "3 chats with 6 messages from ChatGPT" in " ".join(page.split())
    assert "9 Oct 2025" in page
    assert "It has no messages." in page
    assert "1 folder: ChatGPT project 1 (1)" in " ".join(page.split())
    assert not Conversation.objects.exists()


def test_the_list_names_imports_and_how_they_ended(alices: Client) -> None:
    assert b"None yet" in alices.get("/imports/").content
    import_all(alices, json_file([gpt_turn()]))
    page = " ".join(alices.get("/imports/").content.decode().split())
    assert "export.zip" in page
    assert "Imported." in page


def test_the_report_links_to_the_chats(alices: Client) -> None:
    job = import_all(alices, json_file([gpt_turn()]))
    page = alices.get(f"/imports/{job.pk}/").content.decode()
    chat = Conversation.objects.get()
    assert f'href="{chat.get_absolute_url()}"' in page
    assert "Undo this import" in page


def test_the_report_says_so_while_search_does_not_find_all_of_it(alices: Client) -> None:
    first = import_all(alices, json_file([gpt_turn()]))
    found_later = b"Search will find all of it in a few minutes."
    assert found_later in alices.get(f"/imports/{first.pk}/").content
    while index_some():
        pass
    assert found_later not in alices.get(f"/imports/{first.pk}/").content
    second = import_all(alices, json_file([longer()]))
    assert found_later in alices.get(f"/imports/{second.pk}/").content
    assert found_later not in alices.get(f"/imports/{first.pk}/").content


def test_an_upload_goes_on_where_it_stopped(alices: Client, settings: Settings) -> None:
    settings.CHATAPP_MAX_BODY_BYTES = 4
    first = begin_upload(alices)
    [file] = first["files"]
    assert send_part(alices, file["id"], b"[{}]", 0).json() == {"received": 4}
    again = begin_upload(alices)
    assert again["batch"] == first["batch"]
    assert again["files"] == [{**file, "received": 4}]
    assert alices.post(f"/imports/read/{first['batch']}/").status_code == 422


def test_parts_of_a_split_export_are_read_together(alice: User, alices: Client) -> None:
    parts = [build_zip({f"conversations-00{at}.json": [chat]}) for at, chat in enumerate(many(2))]
    files = [(f"export-{at}.zip", part.getvalue()) for at, part in enumerate(parts)]  # type: ignore[attr-defined]
    answer = upload(alices, *reversed(files))
    run_jobs()
    job = Import.objects.get()
    assert answer.json() == {"url": f"/imports/{job.pk}/"}
    assert (job.preview["chats"], job.name) == (2, "export-0.zip")


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "Choose a file first."),
        ({"name": "a", "size": "x"}, "Choose a file first."),
        ({"name": "a", "size": "-1"}, "Choose a file first."),
        ({"name": ["a", "b"], "size": "1"}, "Choose a file first."),
        ({"name": "a", "size": "0"}, "“a” is empty."),
        ({"name": ["a"] * 51, "size": ["1"] * 51}, "An import can have 50 files at most."),
        ({"name": "a", "size": "9" * 15}, "Import a part of them first"),
    ],
)
def test_a_refused_upload_says_why(alices: Client, fields: Any, sentence: str) -> None:
    answer = alices.post("/imports/upload/", fields)
    assert answer.status_code == 422
    assert sentence in answer.content.decode()


def test_uploads_are_limited_per_person(alices: Client, settings: Settings) -> None:
    settings.CHATAPP_IMPORT_BYTES = 10
    begin_upload(alices)
    answer = alices.post("/imports/upload/", {"name": "b.json", "size": "9"})
    assert answer.status_code == 422
    assert "Discard earlier imports" in answer.content.decode()
    ImportFile.objects.update(changed_at=timezone.now() - STOPPED)
    begin_upload(alices, name="b.json")
    assert ImportFile.objects.get().name == "b.json"


def test_few_imports_of_a_person_run_at_the_same_time(alices: Client) -> None:
    answers = [upload(alices, (f"{at}.json", b"[]")).status_code for at in range(4)]
    assert answers == [201, 201, 201, 422]


def test_another_persons_import_is_not_found(alices: Client, bob: User) -> None:
    job = preview_import(alices, json_file([gpt_turn()]))
    [file] = begin_upload(alices)["files"]
    bobs = signed_in(bob)
    for page in ("", "progress/"):
        assert bobs.get(f"/imports/{job.pk}/{page}").status_code == 404
    for act in ("start", "cancel", "discard", "retry", "undo"):
        assert bobs.post(f"/imports/{job.pk}/{act}/").status_code == 404
    assert send_part(bobs, file["id"], b"[{}]", 0).status_code == 404
    assert bobs.post(f"/imports/read/{job.pk}/").status_code == 404
    assert bobs.post(f"/imports/read/{uuid4()}/").status_code == 404
    job.refresh_from_db()
    assert (job.phase, job.state) == (Phase.PREVIEW, JobState.DONE)


def test_a_database_of_several_people_is_for_administrators(alices: Client) -> None:
    job = preview_import(alices, database(("Hers", "alice")), fails=True)
    assert job.state == JobState.FAILED
    assert "Only administrators can import it" in job.problem


def test_an_export_of_several_people_is_refused(alices: Client) -> None:
    def chat(id: str, owner: str) -> dict[str, Any]:
        node = {"id": "m", "role": "user", "content": "Hi", "parentId": None}
        history = {"messages": {"m": node}, "currentId": "m"}
        return {"id": id, "user_id": owner, "title": id, "chat": {"history": history}}

    job = preview_import(alices, json_file([chat("1", "u1"), chat("2", "u2")]), fails=True)
    assert "several people" in job.problem


def bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b"[" + b" " * 100 * 2**20 + b"]")
    return file.getvalue()


def archived_elsewhere() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("../../conversations.json", b"[]")
        archive.writestr("/etc/conversations.json", b"[]")
    return file.getvalue()


DEEP = b"[" + b'{"mapping": {}, "title": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}]"


@pytest.mark.parametrize(
    "data",
    [b"\0" * 100, b"[]", b"{", b"hello", b"PK\x03\x04broken", b"SQLite format 3\0broken"],
)
def test_files_that_are_no_exports_get_a_sentence(alices: Client, data: bytes) -> None:
    job = preview_import(alices, io.BytesIO(data), fails=True)
    assert job.state == JobState.FAILED
    assert job.problem.endswith(".")
    assert job.problem in alices.get(f"/imports/{job.pk}/").content.decode().replace("&#39;", "'")


@pytest.mark.parametrize("make", [bomb, archived_elsewhere])
def test_hostile_files_get_a_sentence(alices: Client, make: Callable[[], bytes]) -> None:
    job = preview_import(alices, io.BytesIO(make()), fails=True)
    assert job.state == JobState.FAILED
    assert not Conversation.objects.exists()


def test_a_chat_that_nests_too_deeply_is_left_out(alices: Client) -> None:
    job = preview_import(alices, io.BytesIO(DEEP))
    assert (job.preview["skipped"], job.preview["chats"]) == (1, 0)


def test_an_export_of_too_many_chats_is_refused(
    alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "MAX_CHATS", 2)
    assert "more than" in preview_import(alices, json_file(many(3)), fails=True).problem


def test_what_could_be_read_of_damaged_exports_is_kept(alice: User, alices: Client) -> None:
    titled = gpt_turn(title="<b>&" + "x" * 10_000_000)
    whole = json_file([*many(2), titled]).read()
    job = import_all(alices, io.BytesIO(whole[:-1] + b', {"mapping": {"u1": '))
    assert alice.conversations.count() == 3
    assert "ends in the middle" in str(job.result["reasons"])
    page = alices.get(f"/imports/{job.pk}/").content.decode()
    assert "<b>" not in page
    assert "&lt;b&gt;&amp;xxx" in page


def test_old_uploads_are_deleted(alice: User, alices: Client) -> None:
    job = preview_import(alices, json_file([gpt_turn()]))
    ImportFile.objects.update(changed_at=timezone.now() - LIFETIME)
    clean_up()
    assert storage.names_in(storage.IMPORTS) == []
    assert "Upload them again" in alices.get(f"/imports/{job.pk}/").content.decode()
    alices.post(f"/imports/{job.pk}/start/")
    job.refresh_from_db()
    assert job.phase == Phase.PREVIEW


def test_parts_that_arrived_without_being_counted_are_deleted(
    alices: Client, settings: Settings
) -> None:
    [file] = begin_upload(alices)["files"]
    storage.replace(ImportFile.objects.get(pk=file["id"]).part_name(0), b"lost")
    storage.replace(f"{storage.IMPORTS}/{uuid4()}-000000000000", b"lost")
    clean_up()
    assert len(storage.names_in(storage.IMPORTS)) == 1
    ImportFile.objects.all().erase()
    assert storage.names_in(storage.IMPORTS) == []


def test_old_reports_lose_their_titles(alices: Client) -> None:
    job = import_all(alices, json_file([gpt_turn(), {"mapping": {}, "title": "Empty one"}]))
    waiting = preview_import(alices, json_file(many(1)))
    Import.objects.update(ended_at=timezone.now() - LIFETIME)
    clean_up()
    job.refresh_from_db()
    assert (job.preview, job.result["reasons"]) == ({}, {"It has no messages.": [1, []]})
    assert b"Undo this import" in alices.get(f"/imports/{job.pk}/").content
    assert not Import.objects.filter(pk=waiting.pk).exists()


def test_a_discarded_import_leaves_nothing(alices: Client) -> None:
    job = preview_import(alices, json_file([gpt_turn()]))
    alices.post(f"/imports/{job.pk}/discard/")
    assert not Import.objects.exists()
    assert storage.names_in(storage.IMPORTS) == []


def test_erasing_a_person_erases_their_imports(alice: User, alices: Client, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(is_superuser=True)
    import_all(alices, json_file([gpt_turn()]))
    preview_import(alices, json_file(many(1)))
    erase([alice])
    assert not Import.objects.exists()
    assert not Conversation.objects.exists()
    assert storage.names_in(storage.IMPORTS) == []


def test_acts_that_come_too_late_change_nothing(alices: Client) -> None:
    job = import_all(alices, json_file([gpt_turn()]))
    for act in ("start", "cancel", "retry"):
        answer = alices.post(f"/imports/{job.pk}/{act}/", follow=True)
        assert b"import" in answer.content
    before = job.ended_at
    job.refresh_from_db()
    assert (job.phase, job.ended_at) == (Phase.STORED, before)


def test_nothing_is_written_outside_of_the_storage(alices: Client, settings: Settings) -> None:
    before = set(Path(settings.DATA_DIR).rglob("*"))
    preview_import(alices, io.BytesIO(archived_elsewhere()), fails=True)
    assert {path for path in Path(settings.DATA_DIR).rglob("*") if "db" not in path.name} <= before
