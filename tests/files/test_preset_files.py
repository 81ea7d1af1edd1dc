"""Files that come along with a preset: saved with its versions, and sent to its chats."""

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4

import pytest
from channels.db import database_sync_to_async
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from chatapp.erasure.people import erase
from chatapp.models import (
    Attachment,
    AuditEvent,
    FileSet,
    Limit,
    Message,
    ModelChoice,
    Preset,
    PresetFile,
    Prompt,
    Refused,
    Retry,
    ReviewPolicy,
    StoredFile,
    Turn,
    Upstream,
    Usage,
    User,
)
from chatapp.models.files.abandoned import delete_abandoned
from chatapp.models.library.file_sets import sum_stored_bytes
from chatapp.models.library.sharing import Level
from chatapp.realtime.worker.housekeeping import FILE_STEPS, purge_library
from tests.conftest import signed_in
from tests.support.attaching import stored_names, upload
from tests.support.fake_upstream import FakeUpstream
from tests.support.page import parse
from tests.support.pictures import png
from tests.support.reviewer import open_for_review
from tests.support.stored import MODEL, build_reply, end
from tests.support.tab import Tab

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("disk")]

HANDBOOK = b"Holidays: thirty days"


@pytest.fixture
def model(db: None) -> ModelChoice:
    """A model of an upstream that is not asked."""
    upstream = Upstream.objects.create(name="Fake", base_url="http://127.0.0.1:9/v1")
    return ModelChoice(upstream.pk, MODEL)


def save(
    client: Client, preset: Preset | None = None, *uploads: tuple[str, bytes], **posted: Any
) -> Any:
    """Upload files to the draft of a preset's form, and save the form."""
    key = uuid4()
    for name, data in uploads:
        upload(client, name, data, form=key)
    opened = preset.version if preset else 1
    fields = {"name": "Helper", "icon": "code", "opened": opened, "system_prompt": "Be brief."}
    path = f"/presets/{preset.pk}/" if preset else "/presets/new/"
    answer = client.post(path, {**fields, "draft": str(key), **posted})
    if preset:
        preset.refresh_from_db()
    return answer


@pytest.fixture
def helper(alice: User, alices: Client) -> Preset:
    """Alice's preset with a document and an image."""
    save(alices, None, ("handbook.txt", HANDBOOK), ("map.png", png(20, 10)))
    return Preset.objects.get()


@pytest.fixture
def clean_up(django_capture_on_commit_callbacks: Callable[..., Any]) -> Callable[[], None]:
    """Return a function that does what housekeeping does with files 40 days later."""

    def clean_up() -> None:
        past = timezone.now() - timedelta(days=40)
        StoredFile.objects.update(used_at=past)
        Attachment.objects.update(changed_at=past)
        Preset.objects.exclude(deleted_at=None).update(deleted_at=past)
        with django_capture_on_commit_callbacks(execute=True):
            purge_library()
            for step in FILE_STEPS:
                while step():
                    pass
        delete_abandoned()

    return clean_up


def list_names(preset: Preset) -> list[str]:
    return [file.name for file in preset.files]


def begin_chat(user: User, model: ModelChoice, preset: Preset, text: str = "Why?") -> Turn:
    turn = Prompt(text, model, preset=preset.pk).store(user, uuid4())
    end(turn.reply, build_reply("So."))
    return turn


def follow_up(user: User, model: ModelChoice, turn: Turn, text: str = "And?") -> Turn:
    turn = Prompt(text, model, turn.conversation.pk, turn.reply.pk).store(user, uuid4())
    end(turn.reply, build_reply("So."))
    return turn


def first_content(turn: Turn) -> Any:
    """Return what the first user message has, which follows the system message."""
    return turn.history.messages[1]["content"]


def share(preset: Preset, level: Level) -> None:
    preset.share(None, level, preset.owner)


def test_a_version_keeps_its_files_and_restoring_it_brings_them_back(
    alice: User, alices: Client, helper: Preset
) -> None:
    assert list_names(helper) == ["handbook.txt", "map.png"]
    document, _ = helper.files
    save(alices, helper, ("new.txt", b"New"), kept=[document.pk])
    assert list_names(helper) == ["handbook.txt", "new.txt"]
    page = parse(alices.get(f"/presets/{helper.pk}/versions/2/").text)
    assert [element.text.strip() for element in page.find_all("del")] == ["map.png"]
    assert [element.text.strip() for element in page.find_all("ins")] == ["new.txt"]
    save(alices, helper)
    assert list_names(helper) == []
    alices.post(f"/presets/{helper.pk}/versions/", {"number": "1", "opened": "3"})
    helper.refresh_from_db()
    assert list_names(helper) == ["handbook.txt", "map.png"]


def test_a_form_with_the_same_files_saves_no_version(alices: Client, helper: Preset) -> None:
    kept_ids = [file.pk for file in helper.files]
    save(alices, helper, kept=kept_ids)
    assert (helper.version, FileSet.objects.count()) == (1, 1)


def test_a_file_with_another_content_is_a_change(alices: Client, helper: Preset) -> None:
    _, picture = helper.files
    save(alices, helper, ("handbook.txt", b"Holidays: none"), kept=[picture.pk])
    page = parse(alices.get(f"/presets/{helper.pk}/versions/2/").text)
    assert [element.text.strip() for element in page.find_all("del")] == ["handbook.txt"]
    assert [element.text.strip() for element in page.find_all("ins")] == ["handbook.txt"]


def test_a_form_that_was_overtaken_keeps_what_was_uploaded(alices: Client, helper: Preset) -> None:
    kept_ids = [file.pk for file in helper.files]
    stale = Preset.objects.get()
    save(alices, helper, kept=kept_ids, name="Changed")
    answer = save(alices, stale, ("new.txt", b"New"), kept=kept_ids)
    assert "has changed this since" in answer.text
    assert "new.txt" in answer.text
    form = parse(answer.text).find("form", class_="preset-form")
    [key] = (field.attributes["value"] for field in form.find_all("input", name="draft"))
    fields = {"name": "Helper", "icon": "code", "opened": "2", "draft": key, "kept": kept_ids}
    alices.post(f"/presets/{helper.pk}/", fields)
    helper.refresh_from_db()
    assert list_names(helper) == ["handbook.txt", "map.png", "new.txt"]


def test_files_of_other_presets_and_drafts_of_others_are_not_taken(
    alices: Client, bob: User, bobs: Client, helper: Preset
) -> None:
    key = uuid4()
    upload(alices, "draft.txt", b"Alice's", form=key)
    answer = save(bobs, None, draft=str(key), kept=[helper.files[0].pk])
    assert "no longer there" in answer.text
    save(bobs, None, draft=str(key))
    assert list_names(bob.presets.get()) == []


def test_there_are_as_many_files_as_a_message_may_have(
    settings: Settings, alices: Client, helper: Preset
) -> None:
    settings.CHATAPP_FILES_PER_MESSAGE = 2
    kept_ids = [file.pk for file in helper.files]
    answer = save(alices, helper, ("new.txt", b"New"), kept=kept_ids)
    assert "2 files at most" in answer.text
    assert helper.version == 1


def test_a_file_that_is_not_read_yet_is_not_saved(alices: Client, helper: Preset) -> None:
    key = uuid4()
    alices.post("/files/", {"name": "late.txt", "size": 5, "form": str(key)})
    answer = save(alices, helper, draft=str(key))
    assert "“late.txt” is not ready yet." in answer.text
    assert helper.version == 1


def test_ten_turns_begin_with_the_same_messages(
    alice: User, model: ModelChoice, helper: Preset
) -> None:
    turn = begin_chat(alice, model, helper)
    for _ in range(9):
        before = turn.history.messages
        turn = follow_up(alice, model, turn)
        assert list(turn.history.messages[: len(before)]) == list(before)
    system, _, *others = turn.history.messages
    assert system == {"role": "system", "content": "Be brief."}
    document, image, text = first_content(turn)
    assert "thirty days" in document["text"]
    assert (image.width, text["text"]) == (20, "Why?")
    assert len(others) == 18
    assert list(Retry(turn.reply.pk, model).store(alice, uuid4()).history.messages) == list(
        turn.history.messages
    )


async def test_ten_requests_begin_with_the_same_bytes(
    tab: Tab, alice: User, alices: Client, upstream: FakeUpstream
) -> None:
    in_thread = database_sync_to_async
    await in_thread(save)(alices, None, ("handbook.txt", HANDBOOK), ("map.png", png(20, 10)))
    preset = await Preset.objects.aget()
    parent: UUID | str = ""
    place: dict[str, str] = {"preset": str(preset.pk)}
    bodies = []
    for number in range(10):
        parent = await tab.ask(f"Question {number}", parent=str(parent), **place)
        await tab.until_ended()
        request = upstream.chat_requests[-1]
        bodies.append(request.raw)
        conversation = await alice.conversations.aget()
        place = {"conversation": str(conversation.pk)}
    for before, after in pairwise(bodies):
        begin = before.index(b'"messages":')
        end_ = before.rindex(b"Question")
        assert before[begin:end_] == after[begin:end_]
    _, first = upstream.chat_requests[0].body["messages"]
    document, image, text = first["content"]
    assert "thirty days" in document["text"]
    assert image["image_url"]["url"].startswith("data:image/png;base64,")
    assert text == {"type": "text", "text": "Question 0"}


def test_a_chat_keeps_the_files_of_its_version(
    alice: User, alices: Client, model: ModelChoice, helper: Preset
) -> None:
    turn = begin_chat(alice, model, helper)
    save(alices, helper, kept=[helper.files[1].pk])
    assert len(first_content(follow_up(alice, model, turn))) == 3
    assert len(first_content(begin_chat(alice, model, helper))) == 2


def test_the_tokens_of_the_files_are_reserved_and_shown_by_the_meter(
    alice: User, alices: Client, model: ModelChoice, helper: Preset
) -> None:
    Limit.objects.create(measure="tokens", cap=10**6)
    kept_file, _ = helper.files
    with_image = begin_chat(alice, model, helper).reservation
    save(alices, helper, kept=[kept_file.pk])
    without = begin_chat(alice, model, helper).reservation
    assert with_image
    assert without
    assert with_image.prompt > without.prompt
    meter = parse(alices.get(f"/?preset={helper.pk}").text).find("button", id="context-meter")
    assert meter.attributes["data-preset-files"] == f"{kept_file.tokens}"
    assert not meter.attributes["data-images"]


def test_a_lost_reply_is_estimated_with_the_files_and_the_system_message(
    alice: User, alices: Client, model: ModelChoice, helper: Preset
) -> None:
    def estimate_tokens() -> int | None:
        turn = Prompt("Why?", model, preset=helper.pk).store(alice, uuid4())
        assert Message.objects.filter(pk=turn.reply.pk).interrupt() == 1
        return Usage.objects.get(message=turn.reply).prompt_tokens

    with_files = estimate_tokens()
    save(alices, helper)
    with_instructions = estimate_tokens()
    save(alices, helper, system_prompt="")
    bare = estimate_tokens()
    assert with_files
    assert with_instructions
    assert bare
    assert with_files > with_instructions > bare


def test_files_that_exceed_the_context_are_refused_in_words(
    alice: User, model: ModelChoice, helper: Preset
) -> None:
    Upstream.objects.update(model_contexts={MODEL: 10})
    with pytest.raises(Refused, match="With the files of its preset"):
        begin_chat(alice, model, helper)


def test_who_may_read_the_preset_may_read_its_files_and_who_may_use_it_sees_no_name(
    alice: User, bob: User, bobs: Client, alices: Client, model: ModelChoice, helper: Preset
) -> None:
    document, picture = helper.files
    paths = [
        *(f"/files/{document.pk}/", f"/files/{document.pk}/text/"),
        *(f"/files/{picture.pk}/image/", f"/files/{picture.pk}/thumbnail/"),
    ]

    def statuses(client: Client) -> set[int]:
        return {client.get(path).status_code for path in paths}

    assert (statuses(alices), statuses(bobs)) == ({200}, {404})
    share(helper, Level.USE)
    turn = begin_chat(bob, model, helper)
    assert turn.history.images
    assert statuses(bobs) == {404}
    readable_paths = (
        *(f"/presets/{helper.pk}/", f"/?preset={helper.pk}", f"/chat-settings/?preset={helper.pk}"),
        *(f"{turn.conversation.get_absolute_url()}{page}" for page in ("", "settings/")),
        f"{turn.conversation.get_absolute_url()}request/?model={model.upstream}/{model.name}",
    )
    for path in readable_paths:
        answer = bobs.get(path)
        assert answer.status_code == 200, path
        assert "handbook" not in answer.text
    share(helper, Level.READ)
    assert statuses(bobs) == {200}
    assert "handbook.txt" in bobs.get(f"/presets/{helper.pk}/").text
    assert "handbook.txt" in bobs.get(f"{turn.conversation.get_absolute_url()}settings/").text
    refused_answer = bobs.get(readable_paths[-1])
    assert "thirty days" in refused_answer.text
    helper.unshare(None, alice)
    assert statuses(bobs) == {404}


def test_a_copy_shares_the_files_and_counts_for_its_owner(
    alice: User, bob: User, bobs: Client, helper: Preset, clean_up: Callable[[], None]
) -> None:
    size = sum(file.file.size for file in helper.files)
    assert sum_stored_bytes(alice) == size
    share(helper, Level.READ)
    bobs.post(f"/presets/{helper.pk}/copy/")
    copy = bob.presets.get()
    assert list_names(copy) == list_names(helper)
    assert (sum_stored_bytes(alice), sum_stored_bytes(bob)) == (size, size)
    erase([alice])
    clean_up()
    assert list_names(copy) == ["handbook.txt", "map.png"]
    assert all(file.file.read() for file in copy.files)


def test_files_count_towards_what_a_person_may_store(
    settings: Settings, bob: User, bobs: Client, helper: Preset
) -> None:
    share(helper, Level.EDIT)
    settings.CHATAPP_FILE_BYTES_PER_PERSON = sum(file.file.size for file in helper.files)
    kept_ids = [file.pk for file in helper.files]
    answer = save(bobs, helper, ("more.txt", b"More"), kept=kept_ids)
    assert "The owner has no more room" in answer.text
    settings.CHATAPP_FILE_BYTES_PER_PERSON -= 1
    bobs.post(f"/presets/{helper.pk}/copy/")
    assert not bob.presets.exists()


def test_files_go_with_the_last_version_that_has_them(
    alice: User, alices: Client, model: ModelChoice, helper: Preset, clean_up: Callable[[], None]
) -> None:
    turn = begin_chat(alice, model, helper)
    helper.discard()
    clean_up()
    assert PresetFile.objects.count() == 2  # the chat has the version
    turn.conversation.erase()
    clean_up()
    assert not FileSet.objects.exists()
    assert not PresetFile.objects.exists()
    assert not stored_names()


def test_an_erased_persons_presets_take_their_files_along_at_once(
    alice: User, helper: Preset
) -> None:
    erase([alice])
    assert not FileSet.objects.exists()
    assert not StoredFile.objects.exists()
    assert not stored_names()


def test_a_shared_preset_keeps_its_files_under_its_new_owner(
    alice: User, olive: User, helper: Preset
) -> None:
    share(helper, Level.USE)
    erase([alice])
    helper.refresh_from_db()
    assert (helper.owner, list_names(helper)) == (olive, ["handbook.txt", "map.png"])
    assert sum_stored_bytes(olive) == sum(file.file.size for file in helper.files)
    assert all(file.file.read() for file in helper.files)


def test_what_was_uploaded_to_a_form_that_was_not_saved_goes_after_a_day(
    alice: User, alices: Client, clean_up: Callable[[], None]
) -> None:
    upload(alices, "draft.txt", b"Draft", form=uuid4())
    assert not Attachment.objects.delete_abandoned()
    clean_up()
    assert not alice.attachments.exists()
    assert not stored_names()


def test_an_upload_to_a_form_is_in_no_chats_draft(
    alice: User, alices: Client, model: ModelChoice
) -> None:
    file = upload(alices, "draft.txt", b"Draft", form=uuid4())
    assert "draft.txt" not in alices.get("/files/draft/").text
    assert "draft.txt" not in alices.get("/").text
    with pytest.raises(Refused, match="no longer there"):
        Prompt("Look", model, files=[file.pk]).store(alice, uuid4())


def test_an_export_names_the_files_and_an_import_says_that_they_did_not_come_along(
    bob: User, alices: Client, bobs: Client, helper: Preset
) -> None:
    data = alices.get(f"/presets/{helper.pk}/export/")
    [exported] = data.json()["presets"]
    assert exported["files"] == ["handbook.txt", "map.png"]
    file = SimpleUploadedFile("presets.json", data.content)
    answer = bobs.post("/presets/import/", {"file": file}, follow=True)
    assert "“Helper” came without its files. Attach them to it." in answer.text
    assert list_names(bob.presets.get()) == []


def test_a_reviewer_of_a_chat_reads_its_files_and_each_view_is_recorded(
    alice: User, bob: User, model: ModelChoice, helper: Preset
) -> None:
    rita = User.objects.create_user("rita", is_staff=True, reviews=True)
    ritas = signed_in(rita)
    share(helper, Level.USE)
    turn = begin_chat(bob, model, helper)
    document, picture = helper.files
    paths = [f"/files/{document.pk}/text/", f"/files/{picture.pk}/image/"]
    helper.unshare(None, alice)
    assert {ritas.get(path).status_code for path in paths} == {404}
    page = open_for_review(ritas, turn.conversation.pk).text
    for path, name in zip(paths, list_names(helper), strict=True):
        assert path in page
        assert name in page
    assert {ritas.get(path).status_code for path in paths} == {200}
    events = AuditEvent.objects.filter(action="file.opened", target=f"{turn.conversation.pk}")
    assert events.count() == 2
    turn.conversation.messages.filter(pk=turn.reply.pk).update(deleted_at="2026-01-01T00:00Z")
    assert {ritas.get(path).status_code for path in paths} == {404}


def test_a_policy_that_hides_names_keeps_originals_from_reviewers(
    bob: User, model: ModelChoice, helper: Preset
) -> None:
    """A document may name the owner of the chat, who may be that of the preset."""
    ReviewPolicy.objects.create(hides_names=True, begins_at=timezone.now() - timedelta(days=1))
    ritas = signed_in(User.objects.create_user("rita", is_staff=True, reviews=True))
    share(helper, Level.USE)
    turn = begin_chat(bob, model, helper)
    open_for_review(ritas, turn.conversation.pk)
    document, picture = helper.files
    originals = [f"/files/{file.pk}/" for file in (document, picture)]
    assert [ritas.get(path).status_code for path in originals] == [403, 200]
    assert "thirty days" in ritas.get(f"/files/{document.pk}/text/").text
    ritas.post(f"/review/{turn.conversation.pk}/reveal/", {"reason": "A matter"})
    assert [ritas.get(path).status_code for path in originals] == [200, 200]
