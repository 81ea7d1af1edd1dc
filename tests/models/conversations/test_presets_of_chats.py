"""Chats with a preset: they keep its version, depart from it, and lose it with the right to it."""

from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chatapp.models import (
    ChatSettings,
    Memory,
    Message,
    ModelChoice,
    Preset,
    Prompt,
    Refused,
    RequestSettings,
    ToolServer,
    Turn,
    Upstream,
    Usage,
    User,
)
from chatapp.models.library.presets import CLOCK
from chatapp.models.library.sharing import Level
from tests.support.stored import MODEL, build_reply, end, fork_conversation

pytestmark = pytest.mark.django_db

HERE = UUID(int=1)  # the worker that streams


@pytest.fixture
def model(gateway: Upstream) -> ModelChoice:
    return ModelChoice(gateway.pk, MODEL)


@pytest.fixture
def poet(alice: User) -> Preset:
    content = {"system_prompt": "Rhyme.", "parameters": {"temperature": 1}}
    return Preset.start(alice, name="Poet", **content)


def begin_turn(user: User, model: ModelChoice, **fields: Any) -> Turn:
    turn = Prompt("Why?", model, **fields).store(user, HERE)
    end(turn.reply, build_reply("So."))
    return turn


def follow_up(turn: Turn, model: ModelChoice, user: User) -> Turn:
    return Prompt("And?", model, turn.conversation.pk, turn.reply.pk).store(user, HERE)


def read_sent_settings(turn: Turn) -> tuple[object, object]:
    first = turn.history.messages[0]
    return first["content"] if first["role"] == "system" else "", turn.parameters


def share(preset: Preset, level: Level = Level.USE) -> Group:
    group = Group.objects.create(name="team")
    preset.owner.groups.add(group)
    preset.share(group, level, preset.owner)
    return group


def test_a_chat_keeps_the_version_that_it_began_with(
    alice: User, model: ModelChoice, poet: Preset
) -> None:
    turn = begin_turn(alice, model, preset=poet.pk)
    assert read_sent_settings(turn) == ("Rhyme.", {"temperature": 1})
    poet.change(alice, 1, system_prompt="Speak plainly.")
    assert read_sent_settings(follow_up(turn, model, alice)) == ("Rhyme.", {"temperature": 1})
    settings = ChatSettings.for_conversation(turn.conversation)
    assert (settings.is_behind, settings.differs_from_preset) == (True, False)
    assert read_sent_settings(begin_turn(alice, model, preset=poet.pk))[0] == "Speak plainly."


def test_a_chat_departs_from_its_preset(alice: User, model: ModelChoice, poet: Preset) -> None:
    own = {"system_prompt": "", "parameters": {"temperature": 1}}
    turn = begin_turn(alice, model, preset=poet.pk, **own)
    assert read_sent_settings(turn) == ("", {"temperature": 1})
    settings = ChatSettings.for_conversation(turn.conversation)
    assert (settings.system_prompt, settings.parameters, settings.differs_from_preset) == (
        "",
        None,
        True,
    )


def test_a_preset_that_is_not_open_begins_no_chat(
    bob: User, model: ModelChoice, poet: Preset
) -> None:
    with pytest.raises(Refused, match="no longer exists"):
        begin_turn(bob, model, preset=poet.pk)


def test_whoever_may_only_use_a_preset_changes_nothing_of_it(
    bob: User, model: ModelChoice, poet: Preset
) -> None:
    bob.groups.add(share(poet))
    turn = begin_turn(bob, model, preset=poet.pk, system_prompt="Mine.", parameters={})
    assert read_sent_settings(turn) == ("Rhyme.", {"temperature": 1})


def test_a_chat_goes_on_only_while_its_preset_is_shared(
    bob: User, model: ModelChoice, poet: Preset
) -> None:
    group = share(poet)
    bob.groups.add(group)
    turn = begin_turn(bob, model, preset=poet.pk)
    bob.groups.remove(group)
    with pytest.raises(Refused, match="any more"):
        follow_up(turn, model, bob)
    settings = ChatSettings.for_conversation(turn.conversation)
    settings.preset_version = None
    settings.store()
    assert read_sent_settings(follow_up(turn, model, bob)) == ("", {})


def test_a_deleted_preset_stays_in_the_chats_that_have_it(
    alice: User, model: ModelChoice, poet: Preset
) -> None:
    turn = begin_turn(alice, model, preset=poet.pk)
    poet.discard()
    assert read_sent_settings(follow_up(turn, model, alice))[0] == "Rhyme."
    with pytest.raises(Refused):
        begin_turn(alice, model, preset=poet.pk)


def test_a_preset_can_leave_out_what_the_person_says_about_themselves(
    alice: User, model: ModelChoice, poet: Preset
) -> None:
    Memory.objects.create(user=alice, about="A nurse.")
    assert "A nurse." in str(read_sent_settings(begin_turn(alice, model, preset=poet.pk))[0])
    poet.change(alice, 1, takes_memory=False)
    assert read_sent_settings(begin_turn(alice, model, preset=poet.pk))[0] == "Rhyme."


def test_a_preset_offers_only_its_tools(alice: User, model: ModelChoice, poet: Preset) -> None:
    first_server, other_server = (
        ToolServer.objects.create(name=name, url="http://t/mcp") for name in ("a", "b")
    )
    poet.change(alice, 1, tools=[first_server.pk])
    turn = begin_turn(alice, model, preset=poet.pk)
    assert {server.pk: server.is_open for server in turn.tool_servers} == {
        first_server.pk: True,
        other_server.pk: False,
    }
    assert turn.request_settings
    assert not turn.request_settings.offers(CLOCK)


def test_a_fork_keeps_the_preset(alice: User, model: ModelChoice, poet: Preset) -> None:
    turn = begin_turn(alice, model, preset=poet.pk)
    fork = fork_conversation(alice, turn.reply.pk)
    assert ChatSettings.for_conversation(fork).preset == poet
    recorded = fork.messages.get(role="assistant").request_settings
    assert recorded
    assert recorded.preset == poet


def test_the_ledger_says_which_preset_a_reply_was_asked_with(
    alice: User, model: ModelChoice, poet: Preset
) -> None:
    turn = begin_turn(alice, model, preset=poet.pk)
    follow_up(turn, model, alice)
    alone = begin_turn(alice, model)
    booked = Usage.objects.in_bulk([turn.reply.pk, alone.reply.pk])
    assert (booked[turn.reply.pk].preset, booked[alone.reply.pk].preset) == (poet.pk, None)


def test_a_reply_known_only_from_the_database_is_booked_for_its_preset(
    alice: User, model: ModelChoice, poet: Preset
) -> None:
    turn = begin_turn(alice, model, preset=poet.pk)
    stored = Message.objects.get(pk=turn.reply.pk)
    assert stored.stored_usage().preset == poet.pk
    RequestSettings.objects.all().delete()
    stored = Message.objects.get(pk=turn.reply.pk)
    assert stored.stored_usage().preset is None


def test_billing_a_reply_does_not_look_up_its_preset(
    alice: User, model: ModelChoice, poet: Preset
) -> None:
    turn = begin_turn(alice, model, preset=poet.pk)
    with CaptureQueriesContext(connection) as captured:
        turn.reply.bill(Usage.empty())
    assert "preset" not in str(captured.captured_queries)


def test_the_ledger_keeps_the_preset_of_an_erased_person(
    alice: User, model: ModelChoice, poet: Preset
) -> None:
    turn = begin_turn(alice, model, preset=poet.pk)
    alice.delete()
    assert Usage.objects.get(pk=turn.reply.pk).preset == poet.pk
