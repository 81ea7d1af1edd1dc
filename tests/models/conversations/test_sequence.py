"""The order of messages, whatever the clocks say, and across an upgrade."""

import re
from uuid import uuid4

import pytest

from chatapp.models import Message, Upstream, User
from tests.support.clock import HOUR, Step
from tests.support.live import Site, execute, run
from tests.support.stored import build_reply, end, new_conversation, store_turn

# Turns


def test_a_clock_that_steps_back_hides_no_turn(alice: User, gateway: Upstream, clock: Step) -> None:
    conversation = new_conversation(alice)
    first = store_turn(conversation, gateway, "First?")
    clock(-HOUR)
    second = store_turn(conversation, gateway, "Second?", first[1])
    clock(-HOUR)
    third = store_turn(conversation, gateway, "Third?", second[1])
    assert conversation.view().thread == [*first, *second, *third]
    assert conversation.view(first[1].pk).thread == [*first, *second, *third]


def test_the_newest_branch_is_the_one_with_the_latest_prompt(
    alice: User, gateway: Upstream, clock: Step
) -> None:
    conversation = new_conversation(alice)
    prompt, first = store_turn(conversation, gateway, "Why?")
    clock(-HOUR)
    second = conversation.answer(prompt, gateway, "m", uuid4())
    end(second, build_reply("Another"))
    thread = conversation.view().thread
    assert thread == [prompt, second]
    assert thread[-1].siblings == [first, second]


def test_saving_a_reply_again_does_not_move_it(alice: User, gateway: Upstream) -> None:
    conversation = new_conversation(alice)
    prompt, first = store_turn(conversation, gateway, "Why?")
    number = Message.objects.get(pk=first.pk).sequence
    second = conversation.answer(prompt, gateway, "m", uuid4())
    first.save()
    Message.objects.get(pk=first.pk).save()
    assert Message.objects.get(pk=first.pk).sequence == number
    assert number is not None
    assert conversation.view().thread == [prompt, second]


def test_a_thread_older_than_the_numbering_is_whole_although_its_clock_stepped_back(
    alice: User, gateway: Upstream, clock: Step
) -> None:
    conversation = new_conversation(alice)
    first = store_turn(conversation, gateway, "First?")
    clock(-HOUR)
    second = store_turn(conversation, gateway, "Second?", first[1])
    Message.objects.update(sequence=None)
    assert conversation.view().thread == [*first, *second]


# Upgrades

OLD_PROCESS = """
INSERT INTO chatapp_message (id, conversation_id, parent_id, role, reasoning, content, refusal,
  created_at, ending, finish_reason, model, response_id, choice, earlier_rounds, tool_runs,
  is_flagged, service_tier, system_fingerprint)
VALUES ('{id}', '{conversation}', {parent}, '{role}', '', '{text}', '', '{at}', '', '', '', '', 0,
  '[]', '[]', false, '', '')
"""
CONVERSATION = "0" * 31 + "c"
SKY = """
INSERT INTO chatapp_conversation (id, user_id, title, created_at, updated_at)
VALUES ('0000000000000000000000000000000c', 1, 'Sky', '2026-01-01', '2026-01-01')
"""


@pytest.fixture
def older(site: Site) -> dict[str, str]:
    """An installation of version 0.2.0 with one conversation."""
    environment = site.missing_installation()
    run(environment, "manage.py", "migrate", "--verbosity", "0", "chatapp", "0002")
    execute(
        environment,
        "INSERT INTO chatapp_user (id, password, is_superuser, username, first_name, last_name,"
        " email, is_staff, is_active, date_joined)"
        " VALUES (1, '', false, 'alice', '', '', '', false, true, '2026-01-01')",
        SKY,
    )
    return environment


def stored_by_an_old_process(number: int, at: str) -> str:
    parent = f"'{number - 1:032x}'" if number > 1 else "NULL"
    role = "user" if number % 2 else "assistant"
    return OLD_PROCESS.format(
        id=f"{number:032x}",
        conversation=CONVERSATION,
        parent=parent,
        role=role,
        text=f"message {number}",
        at=at,
    )


def read_thread(environment: dict[str, str]) -> list[str]:
    script = (
        "import django; django.setup()\n"
        "from chatapp.models import Conversation, Message\n"
        "print([one.content for one in Conversation.objects.get().view().thread])\n"
        "print([one.content for one in Message.objects.all()])\n"
    )
    thread, everything = run(environment, "-c", script).stdout.splitlines()
    assert thread == everything
    return re.findall(r"message \d+", thread)


@pytest.mark.thorough
def test_old_messages_keep_their_order_and_old_processes_keep_working(
    older: dict[str, str],
) -> None:
    execute(
        older,
        stored_by_an_old_process(1, "2026-11-21 12:00:01"),
        stored_by_an_old_process(2, "2026-11-21 12:00:02"),
    )
    run(older, "manage.py", "migrate", "--verbosity", "0")
    execute(
        older,
        stored_by_an_old_process(3, "2026-11-21 11:00:00"),
        stored_by_an_old_process(4, "2026-11-21 10:00:00"),
    )
    assert read_thread(older) == [f"message {number}" for number in range(1, 5)]


@pytest.mark.thorough
def test_messages_are_numbered_after_a_table_was_rebuilt(older: dict[str, str]) -> None:
    """As Django does on SQLite to change a table, which drops its triggers."""
    run(older, "manage.py", "migrate", "--verbosity", "0")
    on = " ON chatapp_message" if "DATABASE_URL" in older else ""
    execute(older, f"DROP TRIGGER chatapp_message_sequence{on}")
    run(older, "manage.py", "migrate", "--verbosity", "0")
    execute(
        older,
        stored_by_an_old_process(1, "2026-11-21 12:00:00"),
        stored_by_an_old_process(2, "2026-11-21 11:00:00"),
    )
    assert read_thread(older) == ["message 1", "message 2"]
