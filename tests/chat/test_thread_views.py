"""The parts of a conversation that its page loads, and what a tab gets of a long one."""

import re
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from django.test import Client
from django.utils import timezone

from chatapp.chat import thread_views
from chatapp.models import Conversation, Message, Upstream, User
from chatapp.rendering import fragments
from tests.support.stored import build_reply, end, new_conversation, store_turn
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

LENGTH = 300


@pytest.fixture
def conversation(alice: User) -> Conversation:
    return alice.conversations.create(title="A long one")


@pytest.fixture
def long(conversation: Conversation) -> list[UUID]:
    ids = [uuid4() for _ in range(LENGTH)]
    Message.objects.bulk_create(
        Message(
            id=pk,
            conversation=conversation,
            parent_id=ids[number - 1] if number else None,
            role=("user", "assistant")[number % 2],
            content=f"word{number}",
            ending="complete" if number % 2 else "",
        )
        for number, pk in enumerate(ids)
    )
    return ids


def numbers(html: str) -> list[int]:
    return [int(number) for number in re.findall(r"word(\d+)", html)]


async def get(client: Client, path: str) -> tuple[int, str]:
    answer = await database_sync_to_async(client.get)(path)
    return answer.status_code, answer.content.decode()


async def test_the_parts_of_a_thread_fit_together(
    alices: Client, conversation: Conversation, long: list[UUID]
) -> None:
    path = conversation.get_absolute_url()
    _, page = await get(alices, f"{path}?at={long[150]}")
    assert f'data-at="{long[150]}"' in page
    assert f'name="parent" value="{long[-1]}"' in page  # a prompt follows the thread's end
    middle = numbers(page.partition('id="messages"')[2])
    _, before = await get(alices, f"{path}earlier/?before={long[middle[0]]}")
    _, after = await get(alices, f"{path}later/?after={long[middle[-1]]}")
    assert [*numbers(before), *middle, *numbers(after)] == list(range(96, 206))
    assert 'class="edge earlier"' in before
    assert 'class="edge later"' in after
    _, first = await get(alices, f"{path}earlier/?before={long[20]}")
    assert (numbers(first), "edge" in first) == (list(range(20)), False)


@pytest.mark.parametrize("query", ["", "?before=", "?before=7", f"?before={UUID(int=7)}"])
async def test_nothing_comes_before_an_unknown_message(
    alices: Client, conversation: Conversation, long: list[UUID], query: str
) -> None:
    path = conversation.get_absolute_url()
    assert (await get(alices, f"{path}earlier/{query}"))[0] == 404
    assert (await get(alices, f"{path}later/{query.replace('before', 'after')}"))[0] == 404


async def test_a_message_of_another_conversation_is_not_found(
    alice: User, alices: Client, conversation: Conversation, long: list[UUID]
) -> None:
    other = await alice.conversations.acreate(title="Another")
    path = other.get_absolute_url()
    assert (await get(alices, f"{path}earlier/?before={long[50]}"))[0] == 404
    status, page = await get(alices, f"{path}?at={long[50]}")
    assert (status, numbers(page), "data-at" in page) == (200, [], False)


async def test_a_conversation_in_the_trash_cannot_be_read(
    alices: Client, conversation: Conversation, long: list[UUID]
) -> None:
    await Conversation.objects.aupdate(trashed_at=timezone.now())
    path = conversation.get_absolute_url()
    for address in ("", f"earlier/?before={long[9]}", f"later/?after={long[9]}", "outline/"):
        assert (await get(alices, path + address))[0] == 404


async def test_an_outline_is_paginated(
    alices: Client, conversation: Conversation, long: list[UUID]
) -> None:
    path = f"{conversation.get_absolute_url()}outline/"
    for query, first, last in (("", 200, 298), ("?page=1", 0, 198), ("?page=99", 200, 298)):
        status, page = await get(alices, path + query)
        assert (status, numbers(page)) == (200, list(range(first, last + 1, 2)))
    for query in ("?page=0", "?page=-1", "?page=two", f"?page={'9' * 400}"):
        status, page = await get(alices, path + query)
        assert (status, numbers(page)[0]) == (200, 200)
    await Message.objects.filter(pk=long[298]).aupdate(content="<b>" + "x" * 100_000)
    _, page = await get(alices, path)
    assert "&lt;b&gt;" in page
    assert "x" * 201 not in page


async def test_a_tab_that_is_behind_gets_only_what_it_lacks(
    alices: Client, conversation: Conversation, long: list[UUID]
) -> None:
    here = conversation.pk
    async with Tab(alices, conversation=here, head=long[295], ending="complete") as behind:
        frame = await behind.until("word299")
    assert set(numbers(frame)) == {296, 297, 298, 299}
    assert "innerHTML target:#messages" not in frame
    async with Tab(alices, conversation=here, head=long[100]) as far_behind:
        frame = await far_behind.until("word299")
    assert set(numbers(frame)) == set(range(270, 300))
    assert "innerHTML target:#messages" in frame


async def test_a_tab_reading_an_earlier_part_stays_there(
    alices: Client, conversation: Conversation, long: list[UUID]
) -> None:
    async with Tab(alices, conversation=conversation.pk, head=long[100], later="on") as tab:
        await tab.send(action="no such action")
        await tab.until("out of date")
        assert not numbers("".join(tab.frames))


async def test_stepping_shows_another_branch_and_remembers_it(tab: Tab, alices: Client) -> None:
    first = await tab.ask("Which?")
    await tab.until_ended()
    conversation = await Conversation.objects.aget()
    await tab.send(action="retry", reply=str(first))
    second = await tab.next_reply()
    await tab.until_ended()
    await conversation.arefresh_from_db()
    assert conversation.active_leaf == second
    await tab.send(action="step", conversation=str(conversation.pk), message=str(first))
    frame = await tab.until("innerHTML target:#messages")
    assert f"reply-{first}" in frame
    assert f"reply-{second}" not in frame
    await conversation.arefresh_from_db()
    assert conversation.active_leaf == first
    _, page = await get(alices, conversation.get_absolute_url())
    assert f"reply-{first}" in page
    await sync_to_async(Message.objects.filter(pk=second).update)(deleted_at=timezone.now())
    for gone in (second, uuid4()):
        await tab.send(action="step", conversation=str(conversation.pk), message=str(gone))
        await tab.until("no longer exists")


@pytest.fixture
def branches(alice: User, saved_upstream: Upstream) -> list[tuple[Message, Message]]:
    """Two turns that follow the same reply; the newer one was read last."""
    conversation = new_conversation(alice)
    _, root = store_turn(conversation, saved_upstream, "root")
    return [store_turn(conversation, saved_upstream, text, root) for text in ("older", "newer")]


@pytest.fixture
def several(alice: User, saved_upstream: Upstream) -> list[Message]:
    """A prompt and three replies side by side."""
    others = [(saved_upstream, "m1"), (saved_upstream, "m2")]
    replies = new_conversation(alice).ask(
        uuid4(), "Why?", None, saved_upstream, "m", uuid4(), others=others
    )
    for reply in replies[1:]:
        end(reply, build_reply("So."))
    return replies


@pytest.mark.usefixtures("generations_end")
@pytest.mark.parametrize("by", ["at", "reply", "through"])
async def test_opening_a_branch_makes_it_the_last_read_one(
    alices: Client, branches: list[tuple[Message, Message]], by: str
) -> None:
    (prompt, reply), (other, newest) = branches
    path = prompt.conversation.get_absolute_url()
    for query, expected, last in (
        ("", other, newest),
        (f"?{by}={prompt.pk}", prompt, reply),
        ("", prompt, reply),  # also after a reload and on another device
        (f"?{by}={uuid4()}", prompt, reply),
        (f"?{by}={other.pk}", other, newest),
        ("", other, newest),
    ):
        _, page = await get(alices, path + query)
        assert (f"m-{expected.pk}" in page, f'name="parent" value="{last.pk}"' in page) == (
            True,
            True,
        )
        _, outline = await get(alices, f"{path}outline/")
        assert outline.count("<li>") == 2
        assert str(expected.pk) in outline


@pytest.mark.usefixtures("generations_end")
async def test_an_outline_shows_the_branch_of_its_page(
    alices: Client, branches: list[tuple[Message, Message]]
) -> None:
    """Even if another tab reads a different branch, or a reply streams there."""
    (prompt, reply), (other, newest) = branches
    path = f"{prompt.conversation.get_absolute_url()}outline/"
    await Message.objects.filter(pk=newest.pk).aupdate(ending="streaming")
    for parent, expected in (
        (reply.pk, prompt),
        (newest.pk, other),
        (uuid4(), other),
        ("x", other),
    ):
        assert str(expected.pk) in (await get(alices, f"{path}?parent={parent}"))[1]


@pytest.mark.usefixtures("generations_end")
async def test_other_people_cannot_change_the_last_read_branch(
    bobs: Client, olives: Client, branches: list[tuple[Message, Message]]
) -> None:
    (prompt, _), (_, newest) = branches
    for browser in (bobs, olives):
        for query in ("at", "reply", "through"):
            path = f"{prompt.conversation.get_absolute_url()}?{query}={prompt.pk}"
            assert (await get(browser, path))[0] == 404
    assert (await Conversation.objects.aget()).active_leaf == newest.pk


@pytest.mark.usefixtures("generations_end")
async def test_linking_to_one_of_several_replies_does_not_choose_it(
    alices: Client, several: list[Message]
) -> None:
    prompt, *replies = several
    path = prompt.conversation.get_absolute_url()
    for reply in replies:
        assert f"reply-{reply.pk}" in (await get(alices, f"{path}?at={reply.pk}"))[1]
        assert f'id="beside-{prompt.pk}"' in (await get(alices, path))[1]


def test_a_reply_saved_meanwhile_is_shown_as_saved(
    conversation: Conversation, long: list[UUID]
) -> None:
    """The page tells its socket what it shows, so it must not claim an ending it doesn't show."""
    ended = conversation.view()
    assert ended.head
    live = Message.objects.get(pk=ended.head.pk)
    live.ending, live.content = "streaming", ""
    page = thread_views.render_thread_page(ended, [fragments.ReplyView(live, [])])
    assert 'data-ending="streaming"' not in page
    assert numbers(page)[-1] == LENGTH - 1
