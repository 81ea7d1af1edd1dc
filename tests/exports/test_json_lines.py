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
from chatapp.models.conversations.failed_models import FailedModel
from chatapp.models.library.sharing import Level
from tests.support.stored import MODEL, answered, end, reply_of, started_by

pytestmark = pytest.mark.django_db


@pytest.fixture
def sky(alice: User, connected: Upstream) -> Conversation:
    conversation = started_by(alice, "Sky “above”")
    prompt, reply = answered(conversation, connected, "Why blue?")
    Feedback.give(reply, Feedback.Rating.DOWN, "Too short.")
    end(conversation.answer(prompt, connected, "m", uuid4()), reply_of("Rayleigh.", "Let me see"))
    answered(conversation, connected, "And at night?", reply)
    return conversation


async def downloaded(client: Client, *pks: UUID) -> list[dict[str, object]]:
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
    [line] = await downloaded(alices, sky.pk)
    assert line["title"] == "Sky “above”"
    messages = line["messages"]
    assert isinstance(messages, list)
    said = [message.get("content") for message in messages]
    assert said == [
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
    assert "left_out" not in (await downloaded(alices, sky.pk))[0]
    reply = await sky.messages.filter(role="assistant").afirst()
    assert reply
    await ContextCut.objects.acreate(conversation=sky, message=reply, summary="So far", model="m")
    await Conversation.objects.filter(pk=sky.pk).aupdate(cut_changes=1)
    [line] = await downloaded(alices, sky.pk)
    left_out: Any = line["left_out"]
    [cut] = left_out
    assert (cut["through"], cut["summary"]) == (str(reply.pk), "So far")
    assert (cut["model"], cut["is_edited"], cut["is_lifted"]) == ("m", False, False)


async def test_an_export_says_which_model_failed_before_another_answered(
    alices: Client, connected: Upstream, sky: Conversation
) -> None:
    failed = FailedModel(connected.pk, "large", "Large", "rate_limited", 429).as_record()
    await Message.objects.filter(content="Rayleigh.").aupdate(failed_models_record=[failed])
    [line] = await downloaded(alices, sky.pk)
    messages = line["messages"]
    assert isinstance(messages, list)
    assert [one.get("failed_models") for one in messages] == [None, None, [failed], None, None]


@pytest.fixture
def poet(bob: User) -> Preset:
    content = {"system_prompt": "Rhyme.", "parameters": {"seed": 3}}
    return Preset.start(bob, name="Poet", **content)


def begun_with(preset: Preset, user: User, connected: Upstream) -> Turn:
    model = ModelChoice(connected.pk, MODEL)
    turn = Prompt("Why?", model, preset=preset.pk).store(user, uuid4())
    end(turn.reply, reply_of("So."))
    follow_up = Prompt("And?", model, turn.conversation.pk, turn.reply.pk).store(user, uuid4())
    end(follow_up.reply, reply_of("So."))
    return turn


async def test_what_a_person_could_only_use_is_withheld_once_its_owner_is_erased(
    alice: User, alices: Client, connected: Upstream, poet: Preset
) -> None:
    await sync_to_async(poet.share)(None, Level.USE, poet.owner)
    turn = await sync_to_async(begun_with)(poet, alice, connected)
    await sync_to_async(poet.unshare)(None, poet.owner)
    await poet.owner.adelete()
    [line] = await downloaded(alices, turn.conversation.pk)
    [settings] = cast("list[dict[str, object]]", line["request_settings"])
    assert settings["is_withheld"] is True
    assert "Rhyme." not in str(line)


async def test_an_export_has_what_replies_were_asked_with_once(
    alice: User, alices: Client, connected: Upstream, poet: Preset
) -> None:
    await sync_to_async(poet.share)(None, Level.READ, poet.owner)
    turn = await sync_to_async(begun_with)(poet, alice, connected)
    [line] = await downloaded(alices, turn.conversation.pk)
    version = {"name": "Poet", "version": 1}
    readable = {**version, "system_prompt": "Rhyme.", "parameters": {"seed": 3}}
    assert (line["preset"], line["system_prompt"], line["parameters"]) == (readable, None, None)
    found: Any = line["request_settings"]
    [settings] = found
    pk = settings.pop("id")
    assert settings == {
        "preset": version, "instructions": "Rhyme.", "files": [], "parameters": {"seed": 3},
    }  # fmt: skip
    messages: Any = line["messages"]
    assert [one.get("request_settings") for one in messages] == [None, pk, None, pk]


async def test_an_export_withholds_a_preset_that_the_person_may_only_use(
    alice: User, alices: Client, connected: Upstream, poet: Preset
) -> None:
    await sync_to_async(poet.share)(None, Level.READ, poet.owner)
    turn = await sync_to_async(begun_with)(poet, alice, connected)
    own = ChatSettings.objects.filter(conversation=turn.conversation)
    by_model = {
        f"{connected.pk}/m": {"parameters": {"seed": None}},
        "0/gone": {"system_prompt": ""},
    }
    await own.aupdate(system_prompt="Speak plainly.", by_model=by_model)
    await sync_to_async(poet.share)(None, Level.USE, poet.owner)
    [line] = await downloaded(alices, turn.conversation.pk)
    assert "Rhyme" not in str(line)
    assert (line["preset"], line["system_prompt"]) == (
        {"name": "Poet", "version": 1}, "Speak plainly.",
    )  # fmt: skip
    assert line["model_settings"] == [
        {"upstream": connected.name, "model": "m", "parameters": {"seed": None}},
        {"upstream": "", "model": "gone", "system_prompt": ""},
    ]
    found: Any = line["request_settings"]
    assert found[0]["is_withheld"]
    assert {"instructions", "parameters"}.isdisjoint(found[0])


async def test_an_export_has_no_settings_of_deleted_messages(
    alice: User, alices: Client, connected: Upstream, poet: Preset
) -> None:
    await sync_to_async(poet.share)(None, Level.READ, poet.owner)
    turn = await sync_to_async(begun_with)(poet, alice, connected)
    await turn.conversation.messages.aupdate(deleted_at=turn.reply.created_at)
    [line] = await downloaded(alices, turn.conversation.pk)
    assert (line["request_settings"], line["messages"]) == ([], [])


async def test_an_export_excludes_other_people_and_the_trash(
    alice: User, alices: Client, bob: User, sky: Conversation
) -> None:
    bobs = await sync_to_async(bob.conversations.create)(title="Bob's")
    gone = await sync_to_async(alice.conversations.create)(title="Gone")
    await sync_to_async(Conversation.objects.filter(pk=gone.pk).trash)()
    deleted = Message.objects.filter(conversation=sky, content="And at night?")
    await deleted.aupdate(deleted_at=sky.updated_at)
    lines = await downloaded(alices, sky.pk, bobs.pk, gone.pk, uuid4())
    assert [line["title"] for line in lines] == [sky.title]
    assert "And at night?" not in str(lines[0]["messages"]).replace("To And", "")


def test_an_export_without_a_selection_is_refused(alices: Client) -> None:
    answer = alices.post("/conversations/export/", {})
    assert (answer.status_code, answer.text) == (422, "Select a chat first.")
