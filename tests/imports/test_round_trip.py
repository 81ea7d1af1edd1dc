"""The content of our own exports comes back when another person imports them."""

import json
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import BufferedIOBase, BytesIO
from typing import Any, cast
from uuid import uuid4
from zipfile import ZipFile

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Group
from django.core.files.storage import Storage
from django.test import AsyncClient
from pytest_django import Settings

from chatapp.erasure.people import erase
from chatapp.exports.writing import build_export, list_chats
from chatapp.imports.chat_settings import LONG, NO_MODEL
from chatapp.models import (
    AccessRule,
    Attachment,
    ChatExport,
    ChatSettings,
    ContextCut,
    Conversation,
    Feedback,
    FileContent,
    Message,
    ModelChoice,
    Preset,
    Project,
    Prompt,
    Refused,
    ReplyImage,
    RequestSettings,
    StoredFile,
    Upstream,
    Usage,
    User,
)
from chatapp.models.conversations.messages.extras import Extras
from chatapp.models.conversations.messages.failed_models import FailedModel
from chatapp.models.conversations.messages.rounds import Round, RunState, ToolRun
from chatapp.models.conversations.turns.exports import ExportFormat, ExportScope
from chatapp.models.library.file_sets import check_room, sum_stored_bytes
from chatapp.models.library.sharing import Level
from chatapp.reading.contents import get_or_read_content
from chatapp.transfer.formats.own import PRESET_KEPT, PRESET_MISSING
from chatapp.upstream.wire.errors.upstream_error import ErrorKind
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.sources import Source
from tests.conftest import signed_in
from tests.documents.files import image, pdf
from tests.imports.uploading import import_all
from tests.support.stored import build_reply, end
from tests.transfer.samples import json_file, own_turn

pytestmark = pytest.mark.django_db(transaction=True)

AT = datetime(2025, 10, 9, 12, tzinfo=UTC)
# What is rightly different after an import, and why.
OTHER_IN_CHATS = {
    "id": "It is another chat.",
    "created_at": "The policy and the periods of its new installation count from then.",
    "imported_from": "It says where the chat is from.",
}
OTHER_IN_MESSAGES = {
    "id": "It is another message.",
    "upstream": "A name says nothing about what is connected here.",
    "usage": "Nothing was spent here, so it is among the extras as `imported_usage`.",
}
OTHER_IN_FAILED_MODELS = {"upstream": "It is a key of the other installation."}


@pytest.fixture(autouse=True)
def on_disk(disk: Storage) -> Storage:
    return disk


@pytest.fixture
def saved_upstream(db: None) -> Upstream:
    """An upstream that can't be reached, since pages are got outside of an event loop."""
    return Upstream.objects.create(name="Fake", base_url="http://127.0.0.1:9/v1")


@pytest.fixture
def stars(alice: User, saved_upstream: Upstream) -> Conversation:
    """A chat of Alice with something in each field of the format."""
    sky = Project.objects.create(user=alice, name="Sky")
    chat = Conversation.objects.create(
        user=alice, title="Stars", project=sky, is_pinned=True, archived_at=AT, updated_at=AT
    )
    settings = ChatSettings.for_conversation(chat)
    settings.set_own("Be exact.", {"temperature": 0.5, "seed": 7, "extra": {"top_k": 2}})
    model = ModelChoice(saved_upstream.pk, "m")
    settings.set_own("Be exact, and short.", {"temperature": 0.9}, model)
    settings.store()
    request_settings = [
        RequestSettings.get_or_create_imported(chat, instructions, {"temperature": 0.5})
        for instructions in ("Be exact.", "")
    ]
    prompt = _create_prompt(chat, "Far?", None, 0)
    _attach(prompt, "distances.txt", b"Vega 25, Deneb 2,600")
    _attach(prompt, "atlas.pdf", pdf(["One", "Two", "Three"]), first_page=2, last_page=3)
    _attach(prompt, "sky.png", image("PNG"), alt="The sky at night")
    gone = _attach(prompt, "gone.txt", b"Gone")
    Attachment.objects.filter(pk=gone.pk).update(file=None)
    run = ToolRun("call_1", "look", '{"x": 1}', RunState.FAILED, "nothing")
    first = _reply(
        chat, saved_upstream, prompt, "25 light-years.", 1,
        earlier_rounds=[Round("Hm.", "I look.", tool_runs=[run]).as_record()],
        reasoning="So.",
        extras_record=Extras(
            (Source("https://vega.example/", "Vega"),), 3, has_sound=True, image_count=2,
            expired_images=1, left_out={"video": 2},
        ).as_record(),
        request_settings=request_settings[0],
        failed_models_record=[
            FailedModel(saved_upstream.pk, "x", "X", "rate_limited", 429).as_record()
        ],
        choice=1,
        finish_reason="stop",
        moderation=MODERATION,
        is_flagged=True,
        time_to_first_token=0.25,
        reasoning_duration=2.5,
        duration=3.75,
    )  # fmt: skip
    for position, size in enumerate([(20, 10), (30, 10)]):
        ReplyImage.objects.create(
            message=first, position=position, media_type="image/png", data=image("PNG", size)
        )
    Feedback.objects.create(message=first, rating="down", note="No", given_at=AT)
    Usage.objects.create(
        message=first, user=alice, provenance="reported", prompt_tokens=3, completion_tokens=4,
        total_tokens=7, model="m", booked_at=AT, cost=1_500_000,
    )  # fmt: skip
    then = _create_prompt(chat, "And Deneb?", first, 2)
    half = ToolRun("call_2", "look", "{}", RunState.CANCELLED, "Too late")
    stopped = _reply(
        chat, saved_upstream, then, "About", 3, ending=Ending.STOPPED, tool_runs=[half.as_record()],
        request_settings=request_settings[0],
    )  # fmt: skip
    onwards = chat.messages.create(
        parent=stopped, role="user", is_continuation=True, created_at=AT + timedelta(minutes=4)
    )
    done = ToolRun("call_3", "look", "{}", RunState.DONE, "2,600")
    _reply(
        chat, saved_upstream, onwards, "", 5, ending=Ending.FAILED,
        earlier_rounds=[Round("", "I look.", tool_runs=[done]).as_record()],
        error={"kind": str(ErrorKind.RATE_LIMITED), "message": "Slow down"},
        request_settings=request_settings[1],
    )  # fmt: skip
    other = _reply(chat, saved_upstream, prompt, "Very far.", 6)
    ContextCut.objects.create(
        conversation=chat, message=other, summary="It is far.", upstream=saved_upstream, model="m",
        is_edited=True, created_at=AT,
    )  # fmt: skip
    ContextCut.objects.create(conversation=chat, message=first, is_lifted=True, created_at=AT)
    Conversation.objects.filter(pk=chat.pk).update(cut_changes=2, active_leaf=other.pk)
    return chat


MODERATION = {
    "input": {
        "model": "guard",
        "results": [
            {
                "flagged": True,
                "categories": ["violence"],
                "scores": {"violence": 0.75},
                "applied_input_types": {"violence": ["text"]},
                "model": "",
            }
        ],
    },
    "output": {"code": "busy", "message": "Not now"},
}


def _create_prompt(chat: Conversation, text: str, parent: Message | None, minutes: int) -> Message:
    at = AT + timedelta(minutes=minutes)
    return chat.messages.create(parent=parent, role="user", content=text, created_at=at)


def _reply(
    chat: Conversation, upstream: Upstream, parent: Message, text: str, minutes: int, **others: Any
) -> Message:
    return chat.messages.create(
        parent=parent,
        role="assistant",
        content=text,
        created_at=AT + timedelta(minutes=minutes),
        upstream=upstream,
        model="m",
        **{"ending": Ending.COMPLETE, **others},
    )


def _attach(message: Message, name: str, data: bytes, **others: Any) -> Attachment:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        content = get_or_read_content(
            cast(BufferedIOBase, file), name, message.conversation.user_id
        )
    message.file_count += 1
    message.save()
    return Attachment.objects.create(
        user=message.conversation.user,
        message=message,
        position=message.file_count,
        name=name,
        size=content.file.size,
        received=content.file.size,
        state=Attachment.State.READY,
        file=content.file,
        **others,
    )


def export_chats(person: User) -> bytes:
    """Return the JSON of all chats of a person, with files."""
    export = ChatExport(
        user=person, format=ExportFormat.JSON, scope=ExportScope.EVERYTHING, with_files=True
    )
    return b"".join(build_export(export, list_chats(export)).pieces)


def build_archive(person: User) -> bytes:
    """Return the archive of a person's data."""
    client = AsyncClient(headers={"host": "localhost"})
    client.cookies = signed_in(person, confirmed=True).cookies

    async def archive() -> bytes:
        answer: Any = await client.post("/privacy/archive/")
        return b"".join([part async for part in answer.streaming_content])

    return async_to_sync(archive)()


def forget_files() -> None:
    """Forget what was read of all files, as another installation knows nothing of it."""
    for model in (Attachment, ReplyImage, FileContent, StoredFile):
        model._default_manager.all().delete()


def normalise_export(export: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the chat of an export, with names in place of ids, and the contents of its files."""
    with ZipFile(BytesIO(export)) as archive:
        [line] = archive.read("conversations.jsonl").splitlines()
        index = json.loads(archive.read("files.json"))
        contents = {
            entry["name"]: archive.read(entry["path"]) for entry in index if "path" in entry
        }
    chat = json.loads(line)
    names = {
        chat_message["id"]: f"{chat_message['role']} {chat_message.get('content')}"
        for chat_message in chat["messages"]
    }
    assert len(set(names.values())) == len(names)
    instructions_by_id = {
        settings.pop("id"): settings["instructions"] for settings in chat["request_settings"]
    }
    for message in chat["messages"]:
        for part in message.get("images", ()):
            part["id"] = part["id"].removeprefix(message["id"])
        for part in message.get("files", ()):
            part.pop("id")
        for part in message.get("failed_models", ()):
            for field in OTHER_IN_FAILED_MODELS:
                part.pop(field)
        message["name"] = names[message["id"]]
        message["parent"] = names.get(message.get("parent"))
        if key := message.get("request_settings"):
            message["request_settings"] = instructions_by_id[key]
        for field in OTHER_IN_MESSAGES:
            message.pop(field, None)
        message.get("extras", {}).pop("imported_usage", None)
    chat["messages"].sort(key=lambda record: record["name"])
    chat["request_settings"].sort(key=lambda record: record["instructions"])
    chat["active_leaf"] = names[chat["active_leaf"]]
    for part in chat["left_out"]:
        part["through"] = names[part["through"]]
    chat["left_out"].sort(key=lambda record: record["through"])
    for field in OTHER_IN_CHATS:
        chat.pop(field)
    return chat, contents


@pytest.mark.parametrize("export_of", [export_chats, build_archive])
def test_another_person_gets_all_that_an_export_has(
    export_of: Callable[[User], bytes], alice: User, bob: User, stars: Conversation
) -> None:
    export = export_of(alice)
    before, contents = normalise_export(export_chats(alice))
    forget_files()
    job = import_all(signed_in(bob), BytesIO(export), makes_projects="on")
    assert (job.result["chats"], job.result["skipped"]) == (1, 0)
    after, same_contents = normalise_export(export_chats(bob))
    assert after == before
    assert same_contents == contents
    assert set(job.result["reasons"]) == {"The file had been deleted by the retention period."}


@pytest.fixture
def poem(alice: User, olive: User, saved_upstream: Upstream) -> Conversation:
    """A chat of Alice with a preset of Olive."""
    content = {"system_prompt": "Rhyme.", "parameters": {"seed": 3}}
    preset = Preset.start(olive, name="Poet", **content)
    preset.share(None, Level.READ, olive)
    model = ModelChoice(saved_upstream.pk, "m")
    turn = Prompt("Why?", model, preset=preset.pk).store(alice, uuid4())
    end(turn.reply, build_reply("So."))
    return turn.conversation


def test_what_a_chat_had_of_a_preset_becomes_its_own(
    alice: User, bob: User, poem: Conversation
) -> None:
    job = import_all(signed_in(bob), BytesIO(export_chats(alice)))
    settings = ChatSettings.for_conversation(bob.conversations.get())
    assert (settings.preset, settings.system_prompt) == (None, "Rhyme.")
    assert settings.parameters == {"seed": 3}
    assert list(job.result["reasons"]) == [PRESET_KEPT]
    request_settings = Message.objects.get(
        conversation__user=bob, role="assistant"
    ).request_settings
    assert request_settings
    assert (
        request_settings.instructions,
        request_settings.preset_version,
        request_settings.has_preset,
    ) == ("Rhyme.", None, False)


def test_what_a_person_could_only_use_of_a_preset_does_not_come_along(
    alice: User, bob: User, poem: Conversation
) -> None:
    preset = Preset.objects.get()
    preset.share(None, Level.USE, preset.owner)
    export = export_chats(alice)
    assert b"Rhyme" not in export
    job = import_all(signed_in(bob), BytesIO(export))
    chat = bob.conversations.get()
    assert ChatSettings.for_conversation(chat).is_new
    assert not RequestSettings.objects.filter(conversation=chat).exists()
    assert list(job.result["reasons"]) == [PRESET_MISSING]


def test_settings_of_models_come_only_if_the_person_has_these_models(
    alice: User, bob: User, saved_upstream: Upstream, stars: Conversation
) -> None:
    export = export_chats(alice)
    AccessRule.objects.create(upstream=saved_upstream, model="m").groups.add(
        Group.objects.create(name="Astronomers")
    )
    job = import_all(signed_in(bob), BytesIO(export))
    chat = bob.conversations.get()
    assert ChatSettings.for_conversation(chat).by_model is None
    assert [cut.upstream for cut in ContextCut.objects.filter(conversation=chat)] == [None, None]
    assert NO_MODEL in job.result["reasons"]


def test_images_of_imported_replies_count_as_the_persons_files_until_they_are_erased(
    alice: User, bob: User, stars: Conversation, settings: Settings
) -> None:
    export = export_chats(alice)
    stars.delete()
    Attachment.objects.all().delete()
    import_all(signed_in(bob), BytesIO(export))
    of_images = sum(
        reply_image.file.size for reply_image in ReplyImage.objects.all() if reply_image.file
    )
    attached = StoredFile.objects.filter(attachments__user=bob).distinct()
    assert of_images
    assert sum_stored_bytes(bob) == of_images + sum(attachment.size for attachment in attached)
    Attachment.objects.all().delete()
    settings.CHATAPP_FILE_BYTES_PER_PERSON = of_images
    with pytest.raises(Refused):
        check_room(bob, 1)
    erase([bob])
    assert not ReplyImage.objects.exists()
    assert not StoredFile.objects.filter(reply_images__isnull=False).exists()


def page_with(reply: Message, person: User) -> str:
    """Return the page of the branch that ends with a reply."""
    reply.conversation.activate_branch(reply.pk)
    return " ".join(signed_in(person).get(reply.conversation.get_absolute_url()).text.split())


def test_nobody_is_asked_again_in_place_of_an_imported_model_that_failed(
    alice: User, bob: User, stars: Conversation
) -> None:
    import_all(signed_in(bob), BytesIO(export_chats(alice)))
    replies = Message.objects.filter(conversation__user=bob, role="assistant")
    assert {reply.chosen_model for reply in replies} == {None}
    assert [reply.failed_models[0].name for reply in replies if reply.failed_models] == ["X"]


def test_what_a_provider_flagged_elsewhere_flags_nothing_here(
    alice: User, bob: User, stars: Conversation
) -> None:
    import_all(signed_in(bob), BytesIO(export_chats(alice)))
    Feedback.objects.all().delete()
    chat = bob.conversations.get()
    assert not chat.messages.filter(is_flagged=True).exists()
    reply = chat.messages.exclude(moderation=None).get()
    page = page_with(reply, bob)
    assert "moderation flagged this exchange" not in page
    assert "Imported, and not counted here: violence" in page
    assert reply.moderation == MODERATION


def test_keys_of_another_persons_rows_lead_nowhere(
    alice: User, bob: User, stars: Conversation
) -> None:
    [settings, *_] = RequestSettings.objects.filter(conversation=stars)
    reply = stars.messages.filter(role="assistant")[0]
    chat = own_turn(version=1, active_leaf=str(reply.pk))
    chat["left_out"] = [
        {"through": through, "summary": "x"} for through in (str(reply.pk), "p", "r", "r")
    ]
    chat["messages"][1] |= {
        "request_settings": str(settings.pk),
        "images": [{"id": f"{reply.pk}-0"}],
    }
    chat["model_settings"] = [{"upstream": "Fake", "model": "m", "system_prompt": ""}] * 200
    import_all(signed_in(bob), json_file([chat]))
    mine = bob.conversations.get()
    stored = mine.messages.get(role="assistant")
    assert (stored.request_settings, stored.images.count(), mine.active_leaf) == (
        None,
        0,
        stored.pk,
    )
    assert [cut.message for cut in ContextCut.objects.filter(conversation=mine)] == [stored]
    assert stars.context_cuts.count() == 2
    assert len(ChatSettings.for_conversation(mine).by_model or ()) == 1


def test_settings_and_summaries_are_shortened_and_count_as_stored(bob: User) -> None:
    chat = own_turn(
        version=1,
        system_prompt="a" * 10**6,
        request_settings=[{"id": "s", "instructions": "b" * 10**6}],
        left_out=[{"through": "r", "summary": "c" * 10**6}],
    )
    chat["messages"][1]["request_settings"] = "s"
    job = import_all(signed_in(bob), json_file([chat]))
    mine = bob.conversations.get()
    [settings, cut] = RequestSettings.objects.get(), ContextCut.objects.get()
    shortened_texts = [
        ChatSettings.for_conversation(mine).instructions,
        settings.instructions,
        cut.summary,
    ]
    assert [len(text) for text in shortened_texts] == [20_000, 100_000, 20_000]
    assert mine.stored_bytes > sum(map(len, shortened_texts))
    assert LONG in job.result["reasons"]


def test_tokens_that_were_spent_elsewhere_are_shown_and_counted_nowhere(
    alice: User, bob: User, stars: Conversation
) -> None:
    import_all(signed_in(bob), BytesIO(export_chats(alice)))
    chat = Conversation.objects.with_usage().get(user=bob)
    assert (chat.reply_count, chat.total_tokens, chat.total_cost) == (0, 0, 0)
    assert not Usage.objects.filter(user=bob).exists()
    page = page_with(chat.messages.get(content="25 light-years."), bob)
    assert "Imported, and not counted here: 3 in, 4 out (reported)" in page
    again = json.loads(ZipFile(BytesIO(export_chats(bob))).read("conversations.jsonl"))
    usages = [
        message["extras"]["imported_usage"] for message in again["messages"] if "extras" in message
    ]
    assert usages == [
        {
            "provenance": "reported",
            "prompt_tokens": 3,
            "completion_tokens": 4,
            "total_tokens": 7,
        }
    ]
