"""Chats come with all that their export has; a second import adds only what is new."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from uuid import uuid4
from zipfile import ZipFile

import pytest
from django.core.files.storage import Storage
from django.test import Client
from django.utils import timezone
from PIL import Image
from pytest_django import Settings

from chatapp.imports import uploaded_export
from chatapp.imports.chat_writer import TOO_LONG
from chatapp.imports.duplicates import ChatStatus
from chatapp.imports.files import DAMAGED, NOT_STORED
from chatapp.imports.importer import Importer
from chatapp.imports.report import MAX_KINDS, OTHER_PARTS, ImportReport
from chatapp.imports.rows import chat_key
from chatapp.imports.uploaded_export import LOST, UploadedExport
from chatapp.models import (
    Attachment,
    AuditEvent,
    ChatSettings,
    Conversation,
    Feedback,
    FileContent,
    Import,
    Installation,
    LegalHold,
    Message,
    ReplyImage,
    Upstream,
    Usage,
    User,
    index_some,
)
from chatapp.models.conversations.chats.conversation import IMPORT_SOURCES
from chatapp.models.files import storage
from chatapp.models.imports.imports import Phase
from chatapp.models.platform.jobs import JobFailed, JobLost, JobState
from chatapp.models.retention.periods import Retention
from chatapp.reading import contents
from chatapp.realtime.worker import jobs
from chatapp.transfer import Format, SourceChat
from tests.conftest import signed_in
from tests.imports.uploading import (
    get_chat,
    import_all,
    longer,
    many,
    outline,
    preview_import,
    run_jobs,
)
from tests.support.stored import store_turn
from tests.transfer.samples import build_zip, gpt_chat, gpt_message, gpt_turn, json_file, only

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alices(alice: User, disk: Storage) -> Client:
    return signed_in(alice)


def picture() -> bytes:
    file = BytesIO()
    Image.new("RGB", (8, 8), "red").save(file, "PNG")
    return file.getvalue()


def test_a_chat_comes_with_its_branches_dates_and_models(alice: User, alices: Client) -> None:
    nodes = [
        ("root", None, None),
        ("u1", "root", gpt_message("user", "How long does dough rest?")),
        ("a1", "u1", gpt_message("assistant", "About an hour.")),
        ("a2", "u1", gpt_message("assistant", "Two hours.")),
    ]
    job = import_all(alices, json_file([gpt_chat(nodes, is_archived=True)]))
    chat = get_chat(alice)
    assert (job.phase, job.state, job.result["chats"]) == (Phase.STORED, JobState.DONE, 1)
    assert outline(chat) == [
        ("user", "How long does dough rest?"),
        ("assistant", "About an hour."),
        ("assistant", "Two hours."),
    ]
    prompt, first, second = chat.messages.all()
    assert first.parent_id == second.parent_id == prompt.pk
    assert chat.active_leaf == second.pk
    assert (second.model, second.upstream, second.ending) == ("gpt-5", None, "complete")
    assert prompt.created_at == datetime.fromtimestamp(1_760_000_000.5, UTC)
    assert chat.updated_at == datetime.fromtimestamp(1_760_000_060, UTC) == chat.archived_at
    assert chat.created_at > timezone.now() - timedelta(minutes=5)
    assert (chat.imported_from, chat.imported_from_label) == ("chatgpt", "ChatGPT")
    assert not Usage.objects.exists()


def test_reasoning_tools_sources_and_feedback_come_along(alice: User, alices: Client) -> None:
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "", "content": "Hmm"}]}
    code = {"content_type": "code", "language": "python", "text": "6 * 7"}
    output = {"content_type": "execution_output", "text": "42"}
    cited = {
        "model_slug": "gpt-5",
        "citations": [{"metadata": {"url": "https://x.test/", "title": "X"}}],
        "finish_details": {"type": "max_tokens"},
    }
    nodes = [
        ("u1", None, gpt_message("user", "Six times seven?")),
        ("t1", "u1", gpt_message("assistant", thoughts)),
        ("c1", "t1", gpt_message("assistant", code, recipient="python")),
        ("r1", "c1", gpt_message("tool", output, name="python")),
        ("a1", "r1", gpt_message("assistant", "It is 42.", metadata=cited, id="a1")),
    ]
    feedback = [{"id": "a1", "rating": "thumbs_down", "content": '{"text": "no"}'}]
    members = {"conversations.json": [gpt_chat(nodes)], "message_feedback.json": feedback}
    import_all(alices, build_zip(members))
    reply = get_chat(alice).messages.get(role="assistant")
    first, last = reply.rounds
    assert (first.reasoning, first.tool_runs[0].name, first.tool_runs[0].result) == (
        "Hmm",
        "python",
        "42",
    )
    assert (last.content, reply.ending) == ("It is 42.", "length")
    assert [source.url for source in reply.extras.sources] == ["https://x.test/"]
    assert Feedback.objects.get().rating == "down"


def with_picture() -> dict[str, object]:
    """Return an export whose only chat has a picture in a prompt."""
    part = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_a1"}
    look = {"content_type": "multimodal_text", "parts": ["Look", part]}
    chat = gpt_chat([("u1", None, gpt_message("user", look))], title="Bread")
    return {"conversations.json": [chat], "file_a1-red.png": picture()}


def test_files_are_read_as_uploads_are(alice: User, alices: Client) -> None:
    def pointer(name: str) -> dict[str, object]:
        part = {"content_type": "image_asset_pointer", "asset_pointer": f"sediment://{name}"}
        return {"content_type": "multimodal_text", "parts": ["Look", part]}

    nodes = [
        ("u1", None, gpt_message("user", pointer("file_a1"))),
        ("a1", "u1", gpt_message("assistant", pointer("file_b2"))),
        ("u2", "a1", gpt_message("user", pointer("file_c3"))),
        ("a2", "u2", gpt_message("assistant", pointer("file_d4"))),
    ]
    members = {
        "conversations.json": [gpt_chat(nodes)],
        "file_a1-red.png": picture(),
        "file_b2.dat": picture(),
        "file_c3.dat": b"\x89PNG\r\n\x1a\nbroken",
    }
    job = import_all(alices, build_zip(members))
    attachment = Attachment.objects.get()
    assert attachment.message
    assert (attachment.name, attachment.state) == ("red.png", "ready")
    assert (attachment.message.content, attachment.message.file_count) == ("Look", 1)
    assert ReplyImage.objects.get().message.extras.image_count == 1
    reasons = job.result["reasons"]
    assert [count for count, _ in reasons.values()] == [1, 1]
    assert "This image file is damaged or incomplete." in reasons
    assert "The export does not contain this file." in reasons


def test_an_import_can_be_cancelled_while_it_waits_for_a_file(
    alice: User, alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[Callable[[], None]] = []

    class Busy:
        def submit(self, person: int, size: int, read_it: Callable[[], None]) -> bool:
            assert person == alice.pk
            assert Import.objects.get().ask_to_cancel()
            waiting.append(read_it)
            return True

    monkeypatch.setattr(contents, "import_threads", Busy())
    monkeypatch.setattr(jobs, "SAVE_SECONDS", -1.0)
    job = import_all(alices, build_zip(with_picture()))
    assert job.state == JobState.CANCELLED
    assert not alice.conversations.exists()
    for read_it in waiting:
        read_it()
    assert not FileContent.objects.exists()


def test_files_that_are_damaged_in_the_archive_are_left_out(alice: User, alices: Client) -> None:
    file = build_zip(with_picture())
    file.seek(0)
    content = file.read()
    with ZipFile(file) as archive:
        start = content.index(b"file_a1-red.png") + len(b"file_a1-red.png")
        end = start + archive.getinfo("file_a1-red.png").compress_size
    broken = content[: end - 4] + b"\xff" * 4 + content[end:]
    job = import_all(alices, BytesIO(broken))
    assert (job.state, job.result["chats"]) == (JobState.DONE, 1)
    assert job.result["reasons"] == {DAMAGED: [1, ["Bread"]]}


def full_disk(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_an_import_stops_while_files_cannot_be_stored_and_goes_on_later(
    alice: User, alices: Client
) -> None:
    job = preview_import(alices, build_zip(with_picture()))
    alices.post(f"/imports/{job.pk}/start/")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "write", full_disk)
        run_jobs()
    job.refresh_from_db()
    assert (job.state, job.problem) == (JobState.FAILED, NOT_STORED)
    assert not alice.conversations.exists()
    alices.post(f"/imports/{job.pk}/retry/")
    run_jobs()
    job.refresh_from_db()
    assert (job.state, job.result["files"], job.result["reasons"]) == (JobState.DONE, 1, {})


def test_an_import_stops_while_the_uploaded_files_cannot_be_read_and_goes_on_later(
    alice: User, alices: Client, settings: Settings
) -> None:
    settings.CHATAPP_MAX_BODY_BYTES = 100_000  # of a part
    chats = [chat | {"unknown": "x" * 3000} for chat in many(200)]  # more than is read at once
    file = BytesIO()
    with ZipFile(file, "w") as archive:  # not compressed
        archive.writestr("conversations.json", json.dumps(chats))
    job = preview_import(alices, file)
    alices.post(f"/imports/{job.pk}/start/")
    with pytest.MonkeyPatch.context() as patch:
        names = job.files.get().part_names
        read = storage.read
        lost = names[len(names) // 2]
        patch.setattr(storage, "read", lambda name: read("absent" if name == lost else name))
        run_jobs()
    job.refresh_from_db()
    assert (job.state, job.problem) == (JobState.FAILED, LOST)
    assert 0 < alice.conversations.count() == job.result["chats"] < 200
    alices.post(f"/imports/{job.pk}/retry/")
    run_jobs()
    job.refresh_from_db()
    assert (job.state, alice.conversations.count()) == (JobState.DONE, 200)


def test_a_second_import_adds_nothing(alice: User, alices: Client) -> None:
    import_all(alices, json_file([gpt_turn()]))
    get_chat(alice).rename("Bread of mine")
    again = import_all(alices, json_file([gpt_turn()]))
    assert (again.preview["same"], again.preview["new"]) == (1, 0)
    assert (again.result["same"], again.result["chats"]) == (1, 0)
    assert Message.objects.count() == 2


def test_a_longer_export_brings_what_is_new(alice: User, alices: Client) -> None:
    import_all(alices, json_file([gpt_turn()]))
    job = import_all(alices, json_file([longer()]))
    chat = get_chat(alice)
    assert (job.result["longer"], job.result["messages"]) == (1, 2)
    assert [text for _, text in outline(chat)][2:] == ["And rye?", "Longer."]
    assert chat.active_leaf == chat.messages.last().pk  # type: ignore[union-attr]


def test_a_longer_export_leaves_the_branch_that_was_continued_here(
    alice: User, alices: Client, saved_upstream: Upstream
) -> None:
    import_all(alices, json_file([gpt_turn()]))
    chat = get_chat(alice)
    mine, _ = store_turn(chat, saved_upstream, "And spelt?", chat.messages.last())
    leaf = get_chat(alice).active_leaf
    import_all(alices, json_file([longer()]))
    chat = get_chat(alice)
    assert chat.active_leaf == leaf
    assert [text for _, text in outline(chat)] == [
        *("How long does dough rest?", "About an hour.", "And spelt?", "To And spelt?"),
        *("And rye?", "Longer."),
    ]
    assert mine.parent_id == chat.messages.get(content="And rye?").parent_id


def test_what_was_deleted_here_is_not_brought_back(alice: User, alices: Client) -> None:
    import_all(alices, json_file(many(3)))
    get_chat(alice, "Chat 0").erase()
    Conversation.objects.filter(title="Chat 1").update(trashed_at=timezone.now())
    chat = get_chat(alice, "Chat 2")
    chat.messages.filter(role="assistant").delete()
    job = import_all(alices, json_file([*many(3), gpt_turn()]))
    assert job.preview["trashed_or_deleted"] == 2
    assert (
        len(
            [
                reason
                for reason in job.result["reasons"]
                if "deleted it" in reason or "trash" in reason
            ]
        )
        == 2
    )
    assert set(alice.conversations.values_list("title", flat=True)) == {
        *("Chat 1", "Chat 2", "Bread"),
    }
    assert outline(chat) == [("user", "Question 2")]


def test_very_long_messages_are_shortened(
    alice: User, alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatapp.imports.rows.MAX_PROMPT", 10)
    monkeypatch.setattr("chatapp.imports.rows.MAX_REPLY", 5)
    job = import_all(alices, json_file([gpt_turn()]))
    assert outline(get_chat(alice)) == [("user", "How long d"), ("assistant", "About")]
    assert job.result["reasons"][TOO_LONG] == [2, ["Bread"]]


def test_folders_become_projects_if_that_is_chosen(alice: User, alices: Client) -> None:
    chats = [gpt_turn(gizmo_id="g-p-1"), *many(1)]
    job = import_all(alices, json_file(chats), makes_projects="on")
    project = alice.projects.get()
    assert project.name == "ChatGPT project 1"
    assert get_chat(alice).project == project
    assert get_chat(alice, "Chat 0").project is None
    assert job.result["projects"] == [str(project.pk)]


def test_folders_without_a_name_become_projects_of_their_own(alice: User, alices: Client) -> None:
    import_all(alices, json_file([gpt_turn(gizmo_id="g-p-68aa01")]), makes_projects="on")
    import_all(
        alices,
        json_file([gpt_turn(conversation_id="b", gizmo_id="g-p-68aa02")]),
        makes_projects="on",
    )
    names = set(alice.projects.values_list("name", flat=True))
    assert names == {"ChatGPT project 1", "ChatGPT project 2"}


def test_instructions_become_settings_of_the_chat(alice: User, alices: Client) -> None:
    context = {"content_type": "user_editable_context", "user_profile": "I bake."}
    nodes = [
        ("s", None, gpt_message("system", context)),
        ("u1", "s", gpt_message("user", "Hi")),
        ("a1", "u1", gpt_message("assistant", "Hello")),
    ]
    import_all(alices, json_file([gpt_chat(nodes)]))
    assert ChatSettings.for_conversation(get_chat(alice)).instructions == "I bake."


def test_long_chats_are_stored_in_short_transactions(
    alice: User, alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatapp.imports.chat_writer.MESSAGES_AT_ONCE", 1)
    job = import_all(alices, json_file([longer()]))
    assert job.messages.count() == 4
    assert len(outline(get_chat(alice))) == 4
    assert job.result["chats"] == 1


def test_an_interrupted_import_goes_on_where_it_stopped(
    alice: User, alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = preview_import(alices, json_file([longer(), *many(3)]))
    alices.post(f"/imports/{job.pk}/start/")
    monkeypatch.setattr("chatapp.imports.chat_writer.MESSAGES_AT_ONCE", 1)
    stop_after = iter(range(3))  # `Jobs` calls it once at the beginning

    def save(*_: object, **__: object) -> None:
        if next(stop_after, None) is None:
            raise SystemExit  # as if the process was killed

    with monkeypatch.context() as patch:
        patch.setattr(Import, "advance", save)
        with pytest.raises(SystemExit):
            run_jobs()
    job.refresh_from_db()
    assert job.state == JobState.RUNNING
    assert Message.objects.count() == 2
    run_jobs()
    job.refresh_from_db()
    assert (job.state, job.result["chats"], job.result["longer"]) == (JobState.DONE, 4, 0)
    assert len(outline(get_chat(alice))) == 4
    assert Message.objects.count() == 10


def test_an_import_that_goes_on_can_be_cancelled_before_it_finds_its_place(
    alices: Client,
) -> None:
    job = preview_import(alices, json_file(many(3)))
    job.done = 3
    steps = Importer(job).run()
    for _ in range(3):
        next(steps)
    steps.close()  # type: ignore[attr-defined]


def test_reading_ends_when_the_import_is_cancelled_or_there_is_too_much(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploaded_export, "POLL_SECONDS", -1.0)
    job = Import.objects.create(user=alice, state=JobState.RUNNING, run_by=uuid4())
    file = json_file([gpt_turn()])
    export = UploadedExport(job, [file])
    export.watch(10)
    assert job.ask_to_cancel()
    with pytest.raises(JobLost):
        export.watch(0)
    with pytest.raises(JobLost):
        UploadedExport(job, [file])
    monkeypatch.setattr(uploaded_export, "MAX_READ_BYTES", 19)
    with pytest.raises(JobFailed, match="Split it"):
        export.watch(10)


def test_an_import_stops_when_the_storage_is_full_and_keeps_what_is_stored(
    alice: User, alices: Client, settings: Settings
) -> None:
    job = preview_import(alices, json_file(many(3)))
    alices.post(f"/imports/{job.pk}/start/")
    settings.CHATAPP_STORED_BYTES_PER_PERSON = 5000
    run_jobs()
    job.refresh_from_db()
    assert job.state == JobState.FAILED
    assert "Your forks, imported chats" in job.problem
    assert alice.conversations.count() == job.result["chats"] == 2
    settings.CHATAPP_STORED_BYTES_PER_PERSON = 50_000
    alices.post(f"/imports/{job.pk}/retry/")
    run_jobs()
    job.refresh_from_db()
    assert (job.state, alice.conversations.count()) == (JobState.DONE, 3)
    assert not job.files.exists()


def test_an_import_that_would_not_fit_is_not_begun(
    alice: User, alices: Client, settings: Settings
) -> None:
    settings.CHATAPP_STORED_BYTES_PER_PERSON = 100
    job = preview_import(alices, json_file(many(3)))
    assert "enough room" in alices.get(f"/imports/{job.pk}/").content.decode()
    alices.post(f"/imports/{job.pk}/start/")
    job.refresh_from_db()
    assert job.phase == Phase.PREVIEW


def test_a_cancelled_import_keeps_what_it_stored_or_takes_it_back(
    alice: User, alices: Client
) -> None:
    for takes_back, left in (({}, 1), ({"takes_back": "on"}, 0)):
        chats = [gpt_turn(title="Bread", id=f"{left}", conversation_id=f"{left}")]
        job = import_all(alices, json_file(chats))
        job.wait_in(Phase.STORING)
        Import.objects.filter(pk=job.pk).update(state=JobState.RUNNING, run_by=uuid4())
        alices.post(f"/imports/{job.pk}/cancel/", takes_back)
        run_jobs()
        job.refresh_from_db()
        assert alice.conversations.count() == left
        assert not job.files.exists()
        alice.conversations.all().delete()


def test_an_import_is_undone_as_a_whole(
    alice: User, alices: Client, saved_upstream: Upstream
) -> None:
    job = import_all(alices, json_file([*many(3), gpt_turn(gizmo_id="g-p-1")]), makes_projects="on")
    chat = get_chat(alice, "Chat 0")
    store_turn(chat, saved_upstream, "More?", chat.messages.last())
    LegalHold.begin(alice, get_chat(alice, "Chat 1").pk, "A matter", alice)
    alices.post(f"/imports/{job.pk}/undo/")
    run_jobs()
    job.refresh_from_db()
    assert (job.phase, job.result["undone"]) == (
        Phase.UNDONE,
        {"deleted": 2, "continued": 1, "held": 1},
    )
    assert set(alice.conversations.values_list("title", flat=True)) == {"Chat 0", "Chat 1"}
    assert not alice.projects.exists()
    events = AuditEvent.objects.filter(action__startswith="import.").order_by("sequence")
    assert [event.action for event in events] == ["import.started", "import.ended", "import.undone"]
    assert import_all(alices, json_file(many(3))).preview["new"] == 1  # it can be imported again


def test_messages_that_a_later_import_added_are_undone_alone(alice: User, alices: Client) -> None:
    first = import_all(alices, json_file([gpt_turn()]))
    second = import_all(alices, json_file([longer()]))
    alices.post(f"/imports/{first.pk}/undo/")
    run_jobs()
    first.refresh_from_db()
    assert first.result["undone"] == {"continued": 1}
    assert "Undo this import" in alices.get(f"/imports/{second.pk}/").content.decode()
    alices.post(f"/imports/{second.pk}/undo/")
    run_jobs()
    second.refresh_from_db()
    assert second.result["undone"] == {"shortened": 1}
    assert [text for _, text in outline(get_chat(alice))] == [
        "How long does dough rest?",
        "About an hour.",
    ]


def test_imported_messages_are_found_by_search(alice: User, alices: Client) -> None:
    import_all(alices, json_file([gpt_turn()]))
    while index_some():
        pass
    assert b"Bread" in alices.get("/search/", {"q": "dough"}).content


def test_reviewers_see_where_a_chat_was_imported_from(alice: User, alices: Client) -> None:
    import_all(alices, json_file([gpt_turn()]))
    rita = signed_in(User.objects.create_user("rita", reviews=True, is_staff=True))
    page = rita.get(f"/review/{get_chat(alice).pk}/").content.decode()
    assert "Imported from ChatGPT on" in page
    assert "About an hour." not in page  # before it is opened with a reason


def test_imported_replies_have_no_usage(alice: User, alices: Client) -> None:
    import_all(alices, json_file([gpt_turn()]))
    chat = Conversation.objects.with_usage().get(pk=get_chat(alice).pk)
    assert (chat.reply_count, chat.total_tokens, chat.total_cost) == (0, 0, 0)
    page = " ".join(alices.get(chat.get_absolute_url()).content.decode().split())
    assert "None: it was imported, or copied from another chat." in page


def test_retention_counts_from_the_import(alice: User, alices: Client) -> None:
    old = gpt_turn(create_time=1_400_000_000, update_time=1_400_000_000)
    import_all(alices, json_file([old]))
    Conversation.objects.update(updated_at=datetime(2014, 1, 1, tzinfo=UTC))
    retention = Retention(30, 30, None)
    assert not retention.due_conversations().exists()
    Conversation.objects.update(created_at=timezone.now() - timedelta(days=31))
    assert retention.due_conversations().count() == 1
    assert Installation.objects.count() <= 1


def test_the_uploaded_files_are_deleted_at_the_end(alice: User, alices: Client) -> None:
    job = preview_import(alices, json_file([gpt_turn()]))
    [part] = storage.names_in(storage.IMPORTS)
    alices.post(f"/imports/{job.pk}/start/")
    run_jobs()
    assert storage.names_in(storage.IMPORTS) == []
    assert part


def test_a_chat_that_another_import_stores_at_the_same_moment_is_there_once(
    alice: User, alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def get_statuses_before(user: User, chats: Sequence[SourceChat]) -> list[ChatStatus]:
        return [ChatStatus(chat_key(user, chat), chat, "new") for chat in chats]

    import_all(alices, json_file([gpt_turn()]))
    monkeypatch.setattr("chatapp.imports.importer.get_statuses", get_statuses_before)
    again = import_all(alices, json_file([gpt_turn()]))
    assert (again.result["same"], again.result["skipped"]) == (1, 0)
    assert alice.conversations.count() == 1


def test_few_kinds_of_parts_are_counted_apart() -> None:
    report = ImportReport()
    chat = only(json_file([gpt_turn()]))
    for number in range(1000):
        report.add_differences(replace(chat, left_out={f"part {number}": 2}))
    assert len(report.left_out) == MAX_KINDS + 1
    assert report.left_out[OTHER_PARTS] == 2 * (1000 - MAX_KINDS)


def test_apps_have_the_same_names_everywhere() -> None:
    assert set(IMPORT_SOURCES) == set(Format)
    assert all(IMPORT_SOURCES[app] == app.label for app in Format if app is not Format.OWN)
