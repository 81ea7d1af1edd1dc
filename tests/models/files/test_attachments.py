"""Attachments go where their prompts go, and their files are deleted with the last of them."""

from collections.abc import Callable
from datetime import timedelta
from io import BytesIO
from uuid import uuid4

import pytest
from django.db.models import F
from django.utils import timezone

from chatapp.models import (
    Attachment,
    Conversation,
    Edit,
    LegalHold,
    Message,
    ModelChoice,
    Process,
    Prompt,
    StoredFile,
    Upstream,
    User,
)
from chatapp.models.conversations.chats import temporary
from chatapp.models.conversations.chats.folders import TRASH_DAYS
from chatapp.models.conversations.turns.deletions import Deletion, Restoration
from chatapp.models.files import storage
from chatapp.models.library.file_sets import sum_stored_bytes
from tests.support.attaching import attach_file, stored_names
from tests.support.stored import MODEL, begin_turn, fork_conversation, new_conversation, store_turn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("disk")]

CleanUp = Callable[[], None]


@pytest.fixture
def prompt(alice: User, saved_upstream: Upstream) -> Message:
    """A prompt with a document and an image, and its reply."""
    prompt, _ = store_turn(new_conversation(alice), saved_upstream, "Summarise")
    attach_file(prompt, "report.txt", b"Sales fell")
    attach_file(prompt, "chart.png", b"pixels")
    prompt.refresh_from_db()
    return prompt


def create_draft_upload(
    user: User, conversation: Conversation | None = None, **fields: object
) -> Attachment:
    """Return an upload in a draft whose first part has arrived."""
    draft: Attachment = Attachment.objects.create(
        user=user, conversation=conversation, name="draft.txt", size=9, received=5, **fields
    )
    storage.write(draft.part_name(0), BytesIO(b"12345"))
    return draft


def long_ago(**fields: object) -> None:
    Attachment.objects.filter(**fields).update(changed_at=timezone.now() - timedelta(days=8))


def test_a_fork_has_the_files_of_its_branch(
    alice: User, prompt: Message, clean_up: CleanUp
) -> None:
    before = stored_names()
    fork = fork_conversation(alice, prompt.children.get().pk)
    [copy] = fork.messages.filter(role="user")
    assert copy.file_count == 2
    originals, copies = (
        [
            (attachment.name, attachment.size, attachment.position, attachment.file, attachment.alt)
            for attachment in of.attachments.all()
        ]
        for of in (prompt, copy)
    )
    assert copies == originals
    assert copy.file_parts == prompt.file_parts
    prompt.conversation.erase()
    clean_up()
    assert stored_names() == before
    fork.erase()
    clean_up()
    assert not stored_names()


def test_a_deleted_prompt_has_its_files_again_after_undo(
    alice: User, prompt: Message, clean_up: CleanUp
) -> None:
    before = stored_names()
    Deletion(prompt.pk).store(alice)
    clean_up()
    assert stored_names() == before
    Restoration(prompt.pk).store(alice)
    assert Message.objects.get(pk=prompt.pk).file_parts == prompt.file_parts
    Deletion(prompt.pk).store(alice)
    Message.objects.update(deleted_at=F("deleted_at") - timedelta(days=TRASH_DAYS + 1))
    assert Message.objects.purge_deleted(timezone.now() - timedelta(days=TRASH_DAYS))
    clean_up()
    assert not stored_names()


def test_trash_archive_and_projects_keep_files_and_discarding_deletes_them(
    alice: User, prompt: Message, clean_up: CleanUp
) -> None:
    create_draft_upload(alice, prompt.conversation)
    before, chat = stored_names(), Conversation.objects.filter(pk=prompt.conversation_id)
    project = alice.projects.create(name="Sky")
    chat.update(project=project)
    chat.archive()
    chat.trash()
    clean_up()
    assert stored_names() == before
    chat.restore()
    project.delete()
    clean_up()
    assert stored_names() == before
    chat.trash()
    chat.discard()
    while Conversation.objects.purge():
        pass
    assert not Attachment.objects.exists()
    clean_up()
    assert not stored_names()


def test_a_temporary_chat_is_erased_with_its_files_and_its_draft(
    alice: User, prompt: Message, clean_up: CleanUp
) -> None:
    conversation = prompt.conversation
    Conversation.objects.update(is_temporary=True)
    create_draft_upload(alice, conversation)
    process = Process.objects.create(pid=1, place="here", is_alone=False)
    temporary.add_hold(conversation.pk, process.pk)
    clean_up()
    assert stored_names()
    assert temporary.release_hold(conversation.pk, process.pk)
    assert not Attachment.objects.exists()
    clean_up()
    assert not stored_names()


def test_a_temporary_chat_of_files_alone_is_kept_under_the_name_of_the_first(
    prompt: Message,
) -> None:
    Message.objects.filter(pk=prompt.pk).update(content="")
    Conversation.objects.update(is_temporary=True, title="Temporary chat")
    conversation = Conversation.objects.get()
    temporary.make_permanent(conversation)
    assert conversation.title == "report.txt"


def test_a_legal_hold_keeps_the_files_of_a_discarded_chat(
    alice: User, olive: User, prompt: Message, clean_up: CleanUp
) -> None:
    before, chat = stored_names(), Conversation.objects.filter(pk=prompt.conversation_id)
    chat.trash()
    chat.discard()
    hold = LegalHold.begin(alice, None, "A matter", olive)
    Conversation.objects.purge()
    clean_up()
    assert stored_names() == before
    hold.end(olive)
    while Conversation.objects.purge():
        pass
    clean_up()
    assert not stored_names()


def test_a_running_reply_keeps_the_files_of_its_prompt(
    alice: User, saved_upstream: Upstream, clean_up: CleanUp
) -> None:
    prompt, _ = begin_turn(new_conversation(alice), saved_upstream, "Summarise")
    attach_file(prompt, "report.txt", b"Sales fell")
    Conversation.objects.all().trash()
    clean_up()
    assert [StoredFile.objects.get().read()] == [b"Sales fell"]


def test_an_edit_keeps_files_of_the_edited_prompt_and_their_content_is_stored_once(
    alice: User, prompt: Message, clean_up: CleanUp
) -> None:
    before, model = stored_names(), ModelChoice(Upstream.objects.get().pk, MODEL)
    report, chart = prompt.attachments.all()
    edit = Edit("Again", model, edited=prompt.pk, files=[chart.pk])
    edited = edit.store(alice, uuid4()).prompt
    assert chart.file
    assert [file.name for file in edited.attachments.all()] == ["chart.png"]
    assert prompt.attachments.count() == 2
    assert stored_names() == before
    prompt.delete()
    clean_up()
    assert {file.name for file in StoredFile.objects.filter(attachments=None)} < before
    assert StoredFile.objects.get(attachments__isnull=False) == chart.file
    assert report.file_id not in StoredFile.objects.values_list("pk", flat=True)


def test_a_file_that_was_uploaded_and_never_sent_stays_in_its_draft(
    alice: User, clean_up: CleanUp
) -> None:
    file = StoredFile.store(b"Sales fell", alice.pk)
    Attachment.objects.create(
        user=alice, name="report.txt", size=9, received=9, state="ready", file=file
    )
    long_ago()
    clean_up()
    assert file.read() == b"Sales fell"


def test_uploads_that_stopped_and_files_that_were_not_read_are_deleted_in_the_end(
    alice: User, clean_up: CleanUp
) -> None:
    create_draft_upload(alice)
    failed = create_draft_upload(alice, state="failed", problem="The storage failed.")
    clean_up()
    assert len(stored_names()) == 2, "either can go on"
    yesterday = timezone.now() - timedelta(days=2)
    Attachment.objects.update(changed_at=yesterday)
    clean_up()
    assert list(Attachment.objects.all()) == [failed]
    assert stored_names() == {failed.part_name(0)}
    long_ago()
    clean_up()
    assert not Attachment.objects.exists()
    assert not stored_names()


def test_parts_of_an_upload_that_was_removed_or_read_are_deleted(
    alice: User, clean_up: CleanUp
) -> None:
    removed, ready = create_draft_upload(alice), create_draft_upload(alice)
    going_on = create_draft_upload(alice)
    removed.delete()
    Attachment.objects.filter(pk=ready.pk).update(state="ready")
    storage.write("uploads/no-part", BytesIO(b"?"))
    clean_up()
    assert stored_names() == {going_on.part_name(0), "uploads/no-part"}


def test_a_persons_files_count_once_and_uploads_count_in_full(alice: User, prompt: Message) -> None:
    used = len(b"Sales fell") + len(b"pixels")
    assert sum_stored_bytes(alice) == used
    fork_conversation(alice, prompt.children.get().pk)
    Conversation.objects.all().trash()
    assert sum_stored_bytes(alice) == used
    create_draft_upload(alice)
    assert sum_stored_bytes(alice) == used + 9
    prompt.attachments.update(file=None)
    Conversation.objects.exclude(pk=prompt.conversation_id).delete()
    assert sum_stored_bytes(alice) == 9


def test_a_fork_takes_room_for_the_rows_of_files_and_not_for_their_content(
    alice: User, prompt: Message
) -> None:
    size = fork_conversation(alice, prompt.children.get().pk).stored_bytes
    prompt.attachments.all().delete()
    Message.objects.update(file_count=0)
    assert size - fork_conversation(alice, prompt.children.get().pk).stored_bytes == 2 * 1024


def test_erasing_files_deletes_their_thumbnails_and_leaves_what_others_use(
    prompt: Message, bob: User
) -> None:
    report, chart = (attachment.file for attachment in prompt.attachments.all())
    assert report
    assert chart
    Attachment.objects.create(user=bob, name="same.txt", size=9, state="ready", file=report)
    prompt.attachments.all().delete()
    assert StoredFile.objects.erase([report.pk, chart.pk]) == (2, 0)
    assert stored_names() == {report.name}


def test_erasing_says_for_how_many_files_the_storage_failed(
    prompt: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str) -> None:
        raise OSError("read-only")

    ids = list(StoredFile.objects.values_list("pk", flat=True))
    prompt.attachments.all().delete()
    monkeypatch.setattr(storage, "delete", fail)
    assert StoredFile.objects.erase(ids) == (3, 3)


def test_the_prompt_of_a_new_chat_takes_the_files_of_the_draft(
    alice: User, saved_upstream: Upstream, clean_up: CleanUp
) -> None:
    prompt, _ = store_turn(new_conversation(alice), saved_upstream, "Other")
    draft = attach_file(prompt, "report.txt")
    Attachment.objects.update(message=None)
    prompt.conversation.erase()
    turn = Prompt("", ModelChoice(saved_upstream.pk, MODEL), files=[draft.pk]).store(alice, uuid4())
    assert turn.conversation.title == "report.txt"
    turn.conversation.erase()
    clean_up()
    assert not stored_names()
