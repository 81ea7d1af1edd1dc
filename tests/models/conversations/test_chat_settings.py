"""A chat's own settings: sent with each turn, recorded with each reply, copied with a fork."""

from collections.abc import Mapping
from uuid import UUID, uuid4

import pytest

from chatapp.models import (
    ChatSettings,
    Conversation,
    Edit,
    Memory,
    Message,
    ModelChoice,
    Project,
    Prompt,
    RequestSettings,
    Retry,
    Turn,
    Upstream,
    User,
)
from tests.support.stored import MODEL, end, forked, reply_of

pytestmark = pytest.mark.django_db

HERE = UUID(int=1)  # the worker that streams
WARM: Mapping[str, object] = {"temperature": 1.2}


@pytest.fixture
def model(gateway: Upstream) -> ModelChoice:
    return ModelChoice(gateway.pk, MODEL)


def begun(user: User, model: ModelChoice, **given: object) -> Turn:
    return ended(Prompt("Why?", model, **given).store(user, HERE))  # type: ignore[arg-type]


def ended(turn: Turn) -> Turn:
    end(turn.reply, reply_of("So."))
    return turn


def follow_up(turn: Turn, model: ModelChoice, user: User) -> Turn:
    return ended(Prompt("And?", model, turn.conversation.pk, turn.reply.pk).store(user, HERE))


def instructions(turn: Turn) -> object:
    first = turn.history.messages[0]
    return first["content"] if first["role"] == "system" else ""


def test_a_chat_keeps_the_settings_that_it_began_with(carol: User, model: ModelChoice) -> None:
    first = begun(carol, model, system_prompt="Rhyme.", parameters=WARM)
    second = follow_up(first, model, carol)
    for turn in (first, second):
        assert (instructions(turn), turn.parameters) == ("Rhyme.", WARM)
    assert first.reply.request_settings_id == second.reply.request_settings_id


def test_changed_settings_hold_from_the_next_turn_on(carol: User, model: ModelChoice) -> None:
    first = begun(carol, model, system_prompt="Rhyme.")
    settings = ChatSettings.of(first.conversation)
    settings.system_prompt = "Speak plainly."
    settings.store()
    second = follow_up(first, model, carol)
    again = ended(Retry(first.reply.pk, model).store(carol, HERE))
    edited = Edit("Why not?", model, edited=first.prompt.pk).store(carol, HERE)
    assert [instructions(turn) for turn in (second, again, edited)] == ["Speak plainly."] * 3
    recorded = Message.objects.get(pk=first.reply.pk).request_settings
    assert recorded
    assert recorded.instructions == "Rhyme."


def test_settings_that_are_emptied_leave_no_row(carol: User, model: ModelChoice) -> None:
    turn = begun(carol, model, system_prompt="Rhyme.")
    settings = ChatSettings.of(turn.conversation)
    settings.system_prompt = ""
    settings.store()
    assert not ChatSettings.objects.exists()
    assert follow_up(turn, model, carol).reply.request_settings_id is None


def test_the_parts_of_the_system_message_have_a_fixed_order(
    carol: User, model: ModelChoice
) -> None:
    Memory.objects.create(user=carol, about="A nurse.", answers="Briefly.")
    project = Project.objects.create(user=carol, name="Poems", instructions="Only sonnets.")
    turn = begun(carol, model, system_prompt="Rhyme.", project=project.pk)
    assert instructions(turn) == (
        "Rhyme.\n\nOnly sonnets.\n\n"
        "What the person you are talking to says about themselves:\nA nurse.\n\n"
        "How they want you to answer:\nBriefly."
    )


def test_a_temporary_chat_is_not_told_about_the_person(carol: User, model: ModelChoice) -> None:
    Memory.objects.create(user=carol, about="A nurse.")
    assert instructions(begun(carol, model, is_temporary=True)) == ""


def test_somebody_elses_memory_is_not_sent(carol: User, alice: User, model: ModelChoice) -> None:
    Memory.objects.create(user=alice, about="A nurse.")
    assert instructions(begun(carol, model)) == ""


def test_a_fork_has_its_own_copies(carol: User, model: ModelChoice) -> None:
    turn = begun(carol, model, system_prompt="Rhyme.", parameters=WARM)
    fork = forked(carol, turn.reply.pk)
    Conversation.objects.get(pk=turn.conversation.pk).erase()
    settings = ChatSettings.of(fork)
    assert (settings.system_prompt, settings.parameters) == ("Rhyme.", WARM)
    reply = fork.messages.get(role="assistant")
    assert reply.request_settings
    assert reply.request_settings.instructions == "Rhyme."


def test_settings_go_with_their_conversation(carol: User, model: ModelChoice) -> None:
    turn = begun(carol, model, system_prompt="Rhyme.")
    turn.conversation.erase()
    assert not ChatSettings.objects.exists()
    assert not RequestSettings.objects.exists()


def test_a_new_prompt_does_not_change_the_settings_of_a_chat(
    carol: User, model: ModelChoice
) -> None:
    turn = begun(carol, model, system_prompt="Rhyme.")
    Prompt(
        "And?", model, turn.conversation.pk, turn.reply.pk, uuid4(), system_prompt="Swear."
    ).store(carol, HERE)
    assert ChatSettings.of(turn.conversation).system_prompt == "Rhyme."
