"""A chat's own settings: sent with each turn, recorded with each reply, copied with a fork."""

import json
from collections.abc import Mapping
from uuid import UUID, uuid4

import pytest

from chatapp.models import (
    ChatSettings,
    Continuation,
    Conversation,
    Edit,
    Memory,
    Message,
    ModelChoice,
    ParameterChoice,
    Project,
    Prompt,
    Refused,
    RequestSettings,
    Retry,
    ToolAllowance,
    ToolServer,
    Turn,
    Upstream,
    User,
)
from chatapp.models.conversations.chats.chat_settings import MAX_MODELS, MAX_TOOLS
from chatapp.upstream.wire.reply import Ending
from tests.support.stored import MODEL, build_reply, end, fork_conversation

pytestmark = pytest.mark.django_db

HERE = UUID(int=1)  # the worker that streams
WARM: Mapping[str, object] = {"temperature": 1.2}


@pytest.fixture
def model(gateway: Upstream) -> ModelChoice:
    return ModelChoice(gateway.pk, MODEL)


def begin_turn(user: User, model: ModelChoice, **fields: object) -> Turn:
    return end_turn(Prompt("Why?", model, **fields).store(user, HERE))  # type: ignore[arg-type]


def end_turn(turn: Turn) -> Turn:
    end(turn.reply, build_reply("So."))
    return turn


def follow_up(turn: Turn, model: ModelChoice, user: User) -> Turn:
    return end_turn(Prompt("And?", model, turn.conversation.pk, turn.reply.pk).store(user, HERE))


def instructions(turn: Turn) -> object:
    first = turn.history.messages[0]
    return first["content"] if first["role"] == "system" else ""


def test_a_chat_keeps_the_settings_that_it_began_with(carol: User, model: ModelChoice) -> None:
    first = begin_turn(carol, model, system_prompt="Rhyme.", parameters=WARM)
    second = follow_up(first, model, carol)
    for turn in (first, second):
        assert (instructions(turn), turn.parameters) == ("Rhyme.", WARM)
    assert first.reply.request_settings_id == second.reply.request_settings_id


def test_changed_settings_hold_from_the_next_turn_on(carol: User, model: ModelChoice) -> None:
    first = begin_turn(carol, model, system_prompt="Rhyme.")
    settings = ChatSettings.for_conversation(first.conversation)
    settings.system_prompt = "Speak plainly."
    settings.store()
    second = follow_up(first, model, carol)
    again = end_turn(Retry(first.reply.pk, model).store(carol, HERE))
    edited = Edit("Why not?", model, edited=first.prompt.pk).store(carol, HERE)
    assert [instructions(turn) for turn in (second, again, edited)] == ["Speak plainly."] * 3
    recorded = Message.objects.get(pk=first.reply.pk).request_settings
    assert recorded
    assert recorded.instructions == "Rhyme."


def test_settings_that_are_emptied_leave_no_row(carol: User, model: ModelChoice) -> None:
    turn = begin_turn(carol, model, system_prompt="Rhyme.")
    settings = ChatSettings.for_conversation(turn.conversation)
    settings.system_prompt = ""
    settings.store()
    assert not ChatSettings.objects.exists()
    assert follow_up(turn, model, carol).reply.request_settings_id is None


def test_the_parts_of_the_system_message_have_a_fixed_order(
    carol: User, model: ModelChoice
) -> None:
    Memory.objects.create(user=carol, about="A nurse.", answers="Briefly.")
    project = Project.objects.create(user=carol, name="Poems", instructions="Only sonnets.")
    turn = begin_turn(carol, model, system_prompt="Rhyme.", project=project.pk)
    assert instructions(turn) == (
        "Rhyme.\n\nOnly sonnets.\n\n"
        "What the person you are talking to says about themselves:\nA nurse.\n\n"
        "How they want you to answer:\nBriefly."
    )


def test_a_temporary_chat_is_not_told_about_the_person(carol: User, model: ModelChoice) -> None:
    Memory.objects.create(user=carol, about="A nurse.")
    assert instructions(begin_turn(carol, model, is_temporary=True)) == ""


def test_somebody_elses_memory_is_not_sent(carol: User, alice: User, model: ModelChoice) -> None:
    Memory.objects.create(user=alice, about="A nurse.")
    assert instructions(begin_turn(carol, model)) == ""


def test_a_fork_has_its_own_copies(carol: User, model: ModelChoice) -> None:
    turn = begin_turn(carol, model, system_prompt="Rhyme.", parameters=WARM)
    ChatSettings.objects.update(by_model={"1/m": {"system_prompt": "Swear."}})
    fork = fork_conversation(carol, turn.reply.pk)
    Conversation.objects.get(pk=turn.conversation.pk).erase()
    settings = ChatSettings.for_conversation(fork)
    assert (settings.system_prompt, settings.parameters) == ("Rhyme.", WARM)
    assert settings.by_model == {"1/m": {"system_prompt": "Swear."}}
    reply = fork.messages.get(role="assistant")
    assert reply.request_settings
    assert reply.request_settings.instructions == "Rhyme."


def test_settings_go_with_their_conversation(carol: User, model: ModelChoice) -> None:
    turn = begin_turn(carol, model, system_prompt="Rhyme.")
    turn.conversation.erase()
    assert not ChatSettings.objects.exists()
    assert not RequestSettings.objects.exists()


def test_a_new_prompt_does_not_change_the_settings_of_a_chat(
    carol: User, model: ModelChoice
) -> None:
    turn = begin_turn(carol, model, system_prompt="Rhyme.")
    Prompt(
        "And?", model, turn.conversation.pk, turn.reply.pk, uuid4(), system_prompt="Swear."
    ).store(carol, HERE)
    assert ChatSettings.for_conversation(turn.conversation).system_prompt == "Rhyme."


# Settings of single models


@pytest.fixture
def cold(gateway: Upstream) -> ModelChoice:
    return ModelChoice(gateway.pk, "cold")


COLD: Mapping[str, object] = {"temperature": 0.1}


def set_for(
    turn: Turn, model: ModelChoice | None, system_prompt: str, **parameters: object
) -> None:
    settings = ChatSettings.for_conversation(turn.conversation)
    settings.set_own(system_prompt, parameters, model)
    settings.store()


def read_sent_settings(turn: Turn) -> list[tuple[object, Mapping[str, object]]]:
    """Return what each reply of a turn was asked with, as it is stored."""
    stored = Message.objects.filter(parent=turn.prompt).select_related("request_settings")
    return [
        (reply.request_settings.instructions, reply.request_settings.parameters)
        for reply in stored.order_by("slot")
        if reply.request_settings
    ]


def test_each_model_is_asked_with_its_own_settings(
    carol: User, model: ModelChoice, cold: ModelChoice, gateway: Upstream
) -> None:
    first = begin_turn(carol, model, system_prompt="Rhyme.", parameters=WARM)
    set_for(first, cold, "Speak plainly.", **COLD)
    others = [cold, ModelChoice(gateway.pk, "third")]
    turn = Prompt("And?", model, first.conversation.pk, first.reply.pk, others=others).store(
        carol, HERE
    )
    expected = [("Rhyme.", WARM), ("Speak plainly.", COLD), ("Rhyme.", WARM)]
    assert [
        (instructions(asked_turn), asked_turn.parameters) for asked_turn in (turn, *turn.others)
    ] == expected
    assert read_sent_settings(turn) == expected
    for reply in turn.replies:
        end(reply, build_reply("So."), Ending.STOPPED)

    of_cold = turn.others[0].reply
    again = end_turn(Retry(of_cold.pk, cold).store(carol, HERE))
    assert (instructions(again), again.parameters) == ("Speak plainly.", COLD)
    warm = end_turn(Retry(of_cold.pk, model, ["temperature"]).store(carol, HERE))
    assert (instructions(warm), warm.parameters) == ("Rhyme.", {})
    continued = end_turn(Continuation(of_cold.pk, cold).store(carol, HERE))
    assert continued.parameters == COLD
    assert follow_up(continued, cold, carol).parameters == COLD  # also if it is asked alone


def test_a_model_follows_the_chat_in_what_was_not_set_for_it(
    carol: User, model: ModelChoice, cold: ModelChoice
) -> None:
    first = begin_turn(carol, model, system_prompt="Rhyme.", parameters={**WARM, "seed": 7})
    set_for(first, cold, "Rhyme.", **COLD)
    assert ChatSettings.for_conversation(first.conversation).by_model == {
        str(cold): {"parameters": {**COLD, "seed": None}}
    }
    set_for(first, None, "Sing.", **WARM, seed=8, top_p=0.5)
    second = follow_up(first, cold, carol)
    assert (instructions(second), second.parameters) == ("Sing.", {**COLD, "top_p": 0.5})
    set_for(first, cold, "Sing.", **WARM, seed=8, top_p=0.5)
    assert ChatSettings.for_conversation(first.conversation).by_model is None


def test_a_choice_for_all_models_leaves_what_one_has_of_its_own(
    carol: User, model: ModelChoice, cold: ModelChoice
) -> None:
    first = begin_turn(carol, model)
    before = ChatSettings.for_conversation(first.conversation).digest
    set_for(first, cold, "", **COLD, reasoning_effort="low", web_search=False)
    settings = ChatSettings.for_conversation(first.conversation)
    assert settings.digest != before
    assert json.loads(settings.own_choices) == {
        str(cold): {"reasoning_effort": "low", "web_search": "off"}
    }
    settings.choose({"reasoning_effort": "high", "web_search": True})
    assert settings.for_model(model).sent_parameters["reasoning_effort"] == "high"
    own = settings.for_model(cold).sent_parameters
    assert (own["reasoning_effort"], own["web_search"]) == ("low", False)


def test_models_with_equal_settings_share_one_row(
    carol: User, model: ModelChoice, cold: ModelChoice, gateway: Upstream
) -> None:
    first, third = begin_turn(carol, model), ModelChoice(gateway.pk, "third")
    for choice in (cold, third):
        set_for(first, choice, "", **COLD)
    Prompt("And?", cold, first.conversation.pk, first.reply.pk, others=[third]).store(carol, HERE)
    assert RequestSettings.objects.count() == 1


def test_a_chat_begins_with_settings_of_its_models(
    carol: User, model: ModelChoice, cold: ModelChoice
) -> None:
    begun_for = Prompt(
        "Why?",
        model,
        others=[cold],
        system_prompt="",
        parameters=COLD,
        settings_of=cold,
        draft={"system_prompt": "Rhyme.", "parameters": WARM, "by_model": None},
    )
    assert read_sent_settings(begun_for.store(carol, HERE)) == [("Rhyme.", WARM), ("", COLD)]
    settings = ChatSettings.objects.get()
    assert (settings.system_prompt, settings.parameters) == ("Rhyme.", WARM)


def test_few_models_of_a_chat_have_settings_of_their_own(
    carol: User, model: ModelChoice, gateway: Upstream
) -> None:
    turn = begin_turn(carol, model)
    for number in range(MAX_MODELS):
        set_for(turn, ModelChoice(gateway.pk, f"m{number}"), "", **COLD)
    set_for(turn, ModelChoice(gateway.pk, "m0"), "", **WARM)
    with pytest.raises(Refused, match="At most 20 models"):
        set_for(turn, model, "", **COLD)


def test_a_tool_is_always_allowed_only_in_its_chat_and_as_it_was(
    carol: User, alice: User, model: ModelChoice
) -> None:
    first, other = begin_turn(carol, model), begin_turn(carol, model)
    here = first.conversation.pk
    with pytest.raises(Refused):
        ToolAllowance(here, "wiki__search", "1").store(alice)
    assert not ChatSettings.allows(here, "wiki__search", "1")
    ToolAllowance(here, "wiki__search", "1").store(carol)
    assert ChatSettings.allows(here, "wiki__search", "1")
    assert not ChatSettings.allows(here, "wiki__search", "2")
    assert not ChatSettings.allows(here, "wiki__delete", "1")
    assert not ChatSettings.allows(other.conversation.pk, "wiki__search", "1")
    fork = fork_conversation(carol, first.reply.pk)
    assert not ChatSettings.allows(fork.pk, "wiki__search", "1")


def test_an_allowed_tool_is_kept_with_the_other_settings(carol: User, model: ModelChoice) -> None:
    turn = begin_turn(carol, model, system_prompt="Rhyme.")
    ToolAllowance(turn.conversation.pk, "wiki__search", "1").store(carol)
    settings = ChatSettings.for_conversation(turn.conversation)
    before = settings.digest
    settings.own = {}
    settings.store()
    settings = ChatSettings.for_conversation(turn.conversation)
    assert settings.allowed_tools == {"wiki__search": "1"}
    assert settings.digest != before
    settings.ask_before("wiki__search")
    assert not ChatSettings.objects.exists()


def test_the_number_of_allowed_tools_is_bounded(carol: User, model: ModelChoice) -> None:
    here = begin_turn(carol, model).conversation.pk
    for number in range(MAX_TOOLS):
        ToolAllowance(here, f"wiki__{number}", "1").store(carol)
    ToolAllowance(here, "wiki__0", "2").store(carol)
    with pytest.raises(Refused):
        ToolAllowance(here, "wiki__more", "1").store(carol)


def test_servers_that_are_switched_off_offer_no_tools_from_the_next_turn_on(
    carol: User, model: ModelChoice
) -> None:
    wiki, files = (
        ToolServer.objects.create(name=name, url="http://127.0.0.1:9/mcp")
        for name in ("wiki", "files")
    )

    def list_offered_tools(turn: Turn) -> list[str]:
        return [server.name for server in turn.tool_servers if server.is_open]

    first = begin_turn(carol, model, off_servers=[wiki.pk])
    here = first.conversation.pk
    assert list_offered_tools(first) == ["files"]
    assert list_offered_tools(follow_up(first, model, carol)) == ["files"]
    ParameterChoice(here, {"web_search": True}).store(carol)
    ParameterChoice(here, {}, [files.pk]).store(carol)
    again = end_turn(Retry(first.reply.pk, model).store(carol, HERE))
    assert (list_offered_tools(again), again.parameters) == (["wiki"], {"web_search": True})
    assert ChatSettings.for_conversation(fork_conversation(carol, first.reply.pk)).off_servers == [
        files.pk
    ]
    ParameterChoice(here, {}, []).store(carol)
    assert list_offered_tools(Retry(first.reply.pk, model).store(carol, HERE)) == ["files", "wiki"]
