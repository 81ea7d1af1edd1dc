"""Downloads of conversations: only the person's own, complete, and read in small batches."""

import json
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient, Client

from chatapp.exports import reading
from chatapp.models import (
    ChatSettings,
    ContextCut,
    Conversation,
    Feedback,
    Message,
    ModelChoice,
    Preset,
    Prompt,
    Turn,
    Upstream,
    User,
)
from chatapp.models.conversations.messages.failed_models import FailedModel
from chatapp.models.library.sharing import Level
from tests.support.stored import MODEL, build_reply, end, new_conversation, store_turn

pytestmark = pytest.mark.django_db


@pytest.fixture
def sky(alice: User, saved_upstream: Upstream) -> Conversation:
    conversation = new_conversation(alice, "Sky “above”")
    prompt, reply = store_turn(conversation, saved_upstream, "Why blue?")
    Feedback.give(reply, Feedback.Rating.DOWN, "Too short.")
    end(
        conversation.answer(prompt, saved_upstream, "m", uuid4()),
        build_reply("Rayleigh.", "Let me see"),
    )
    store_turn(conversation, saved_upstream, "And at night?", reply)
    return conversation


async def download_lines(client: Client, *pks: UUID) -> list[dict[str, object]]:
    browser = AsyncClient(headers={"host": "localhost"})
    browser.cookies = client.cookies
    answer: Any = await browser.post("/conversations/export/", {"ids": [str(pk) for pk in pks]})
    assert answer.status_code == 200
    assert answer.headers["content-disposition"].startswith('attachment; filename="conversations-')
    parts = [part async for part in answer.streaming_content]
    return [json.loads(line) for line in b"".join(parts).splitlines()]


@pytest.mark.parametrize("at_once", [1, 2, 100])
async def test_an_export_contains_every_branch(
    alices: Client, sky: Conversation, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(reading, "MESSAGES_AT_ONCE", at_once)
    [line] = await download_lines(alices, sky.pk)
    assert line["title"] == "Sky “above”"
    messages = line["messages"]
    assert isinstance(messages, list)
    contents = [message.get("content") for message in messages]
    assert contents == [
        "Why blue?", "To Why blue?", "Rayleigh.", "And at night?", "To And at night?",
    ]  # fmt: skip
    assert messages[2]["reasoning"] == "Let me see"
    assert messages[1]["feedback"]["note"] == "Too short."
    assert messages[1]["feedback"]["rating"] == "down"
    assert [message for message in messages if "feedback" in message] == [messages[1]]
    assert messages[2]["parent"] == messages[1]["parent"] == messages[0]["id"]


async def test_an_export_says_what_is_left_out_and_contains_the_summary(
    alices: Client, sky: Conversation
) -> None:
    assert "left_out" not in (await download_lines(alices, sky.pk))[0]
    reply = await sky.messages.filter(role="assistant").afirst()
    assert reply
    await ContextCut.objects.acreate(conversation=sky, message=reply, summary="So far", model="m")
    await Conversation.objects.filter(pk=sky.pk).aupdate(cut_changes=1)
    [line] = await download_lines(alices, sky.pk)
    left_out: Any = line["left_out"]
    [cut] = left_out
    assert (cut["through"], cut["summary"]) == (str(reply.pk), "So far")
    assert (cut["model"], cut["is_edited"], cut["is_lifted"]) == ("m", False, False)


async def test_an_export_says_which_model_failed_before_another_answered(
    alices: Client, saved_upstream: Upstream, sky: Conversation
) -> None:
    failed = FailedModel(saved_upstream.pk, "large", "Large", "rate_limited", 429).as_record()
    await Message.objects.filter(content="Rayleigh.").aupdate(failed_models_record=[failed])
    [line] = await download_lines(alices, sky.pk)
    messages = line["messages"]
    assert isinstance(messages, list)
    assert [message.get("failed_models") for message in messages] == [
        None,
        None,
        [failed],
        None,
        None,
    ]


@pytest.fixture
def poet(bob: User) -> Preset:
    content = {"system_prompt": "Rhyme.", "parameters": {"seed": 3}}
    return Preset.start(bob, name="Poet", **content)


def begun_with(preset: Preset, user: User, connected: Upstream) -> Turn:
    model = ModelChoice(connected.pk, MODEL)
    turn = Prompt("Why?", model, preset=preset.pk).store(user, uuid4())
    end(turn.reply, build_reply("So."))
    follow_up = Prompt("And?", model, turn.conversation.pk, turn.reply.pk).store(user, uuid4())
    end(follow_up.reply, build_reply("So."))
    return turn


async def test_what_a_person_could_only_use_is_withheld_once_its_owner_is_erased(
    alice: User, alices: Client, saved_upstream: Upstream, poet: Preset
) -> None:
    await sync_to_async(poet.share)(None, Level.USE, poet.owner)
    turn = await sync_to_async(begun_with)(poet, alice, saved_upstream)
    await sync_to_async(poet.unshare)(None, poet.owner)
    await poet.owner.adelete()
    [line] = await download_lines(alices, turn.conversation.pk)
    [settings] = cast("list[dict[str, object]]", line["request_settings"])
    assert settings["is_withheld"] is True
    assert "Rhyme." not in str(line)


async def test_an_export_has_what_replies_were_asked_with_once(
    alice: User, alices: Client, saved_upstream: Upstream, poet: Preset
) -> None:
    await sync_to_async(poet.share)(None, Level.READ, poet.owner)
    turn = await sync_to_async(begun_with)(poet, alice, saved_upstream)
    [line] = await download_lines(alices, turn.conversation.pk)
    version = {"name": "Poet", "version": 1}
    readable = {**version, "system_prompt": "Rhyme.", "parameters": {"seed": 3}}
    assert (line["preset"], line["system_prompt"], line["parameters"]) == (readable, None, None)
    request_settings: Any = line["request_settings"]
    [settings] = request_settings
    pk = settings.pop("id")
    assert settings == {
        "preset": version, "instructions": "Rhyme.", "files": [], "parameters": {"seed": 3},
    }  # fmt: skip
    messages: Any = line["messages"]
    assert [message.get("request_settings") for message in messages] == [None, pk, None, pk]


async def test_an_export_withholds_a_preset_that_the_person_may_only_use(
    alice: User, alices: Client, saved_upstream: Upstream, poet: Preset
) -> None:
    await sync_to_async(poet.share)(None, Level.READ, poet.owner)
    turn = await sync_to_async(begun_with)(poet, alice, saved_upstream)
    own = ChatSettings.objects.filter(conversation=turn.conversation)
    by_model = {
        f"{saved_upstream.pk}/m": {"parameters": {"seed": None}},
        "0/gone": {"system_prompt": ""},
    }
    await own.aupdate(system_prompt="Speak plainly.", by_model=by_model)
    await sync_to_async(poet.share)(None, Level.USE, poet.owner)
    [line] = await download_lines(alices, turn.conversation.pk)
    assert "Rhyme" not in str(line)
    assert (line["preset"], line["system_prompt"]) == (
        {"name": "Poet", "version": 1}, "Speak plainly.",
    )  # fmt: skip
    assert line["model_settings"] == [
        {"upstream": saved_upstream.name, "model": "m", "parameters": {"seed": None}},
        {"upstream": "", "model": "gone", "system_prompt": ""},
    ]
    request_settings: Any = line["request_settings"]
    assert request_settings[0]["is_withheld"]
    assert {"instructions", "parameters"}.isdisjoint(request_settings[0])


async def test_an_export_has_no_settings_of_deleted_messages(
    alice: User, alices: Client, saved_upstream: Upstream, poet: Preset
) -> None:
    await sync_to_async(poet.share)(None, Level.READ, poet.owner)
    turn = await sync_to_async(begun_with)(poet, alice, saved_upstream)
    await turn.conversation.messages.aupdate(deleted_at=turn.reply.created_at)
    [line] = await download_lines(alices, turn.conversation.pk)
    assert (line["request_settings"], line["messages"]) == ([], [])


async def test_an_export_excludes_other_people_and_the_trash(
    alice: User, alices: Client, bob: User, sky: Conversation
) -> None:
    bobs = await sync_to_async(bob.conversations.create)(title="Bob's")
    gone = await sync_to_async(alice.conversations.create)(title="Gone")
    await sync_to_async(Conversation.objects.filter(pk=gone.pk).trash)()
    deleted = Message.objects.filter(conversation=sky, content="And at night?")
    await deleted.aupdate(deleted_at=sky.updated_at)
    lines = await download_lines(alices, sky.pk, bobs.pk, gone.pk, uuid4())
    assert [line["title"] for line in lines] == [sky.title]
    assert "And at night?" not in str(lines[0]["messages"]).replace("To And", "")


def test_an_export_without_a_selection_is_refused(alices: Client) -> None:
    answer = alices.post("/conversations/export/", {})
    assert (answer.status_code, answer.text) == (422, "Select a chat first.")
