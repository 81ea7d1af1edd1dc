"""Edited prompts, deleted and restored messages, and forks, as all tabs show them."""

from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from chatapp.models import Conversation, Message
from tests.support.fake_upstream import FakeUpstream, Stall, delta, role
from tests.support.stored import load_reply
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db


async def turn(tab: Tab, text: str = "Why is the sky blue?", **fields: str) -> Message:
    """Ask and return the finished reply."""
    reply = await tab.ask(text, **fields)
    await tab.until_ended()
    return await load_reply(reply)


async def contents(conversation: Conversation) -> list[str]:
    stored_conversation = await Conversation.objects.aget(pk=conversation.pk)
    return [message.content for message in (await sync_to_async(stored_conversation.view)()).thread]


async def test_an_edited_prompt_becomes_a_new_branch_in_every_tab(
    tab: Tab, alices: Client, upstream: FakeUpstream
) -> None:
    first = await turn(tab)
    async with Tab(alices) as other:
        await other.send(action="watch", conversation=str(first.conversation_id))
        await other.until("composer-state")
        edit = {"message": "Why is it dark?", "edited": str(first.parent_id)}
        await tab.send(action="edit", prompt=str(uuid4()), **edit)
        for open_tab in (tab, other):
            frame = await open_tab.until('data-ending="streaming"')
            assert "Why is it dark?" in frame
            assert f'id="m-{first.parent_id}"' not in frame
            assert "2 / 2" in frame
        await tab.until_ended()
    assert upstream.chat_requests[-1].body["messages"] == [
        {"role": "user", "content": "Why is it dark?"}
    ]


async def test_an_edit_sent_again_after_a_lost_connection_is_shown_again(tab: Tab) -> None:
    first = await turn(tab)
    edit = {"action": "edit", "message": "Why?", "edited": str(first.parent_id)}
    prompt = str(uuid4())
    await tab.send(**edit, prompt=prompt)
    await tab.until_ended()
    await tab.send(**edit, prompt=prompt)
    assert prompt in await tab.until("composer-state")
    assert await Message.objects.acount() == 4


async def test_a_refused_edit_is_returned(tab: Tab) -> None:
    first = await turn(tab)
    prompt = str(uuid4())
    await tab.send(action="edit", message="Why?", edited=str(first.pk), prompt=prompt)
    frame = await tab.until("You can only edit")
    assert f'data-prompt="{prompt}"' in frame


async def test_deleting_a_message_removes_it_from_every_tab_and_can_be_undone(
    tab: Tab, alices: Client
) -> None:
    first = await turn(tab)
    conversation = str(first.conversation_id)
    second = await turn(tab, "And at night?", conversation=conversation, parent=str(first.pk))
    async with Tab(alices) as other:
        await other.send(action="watch", conversation=conversation)
        await other.until("And at night?")
        await tab.send(action="delete", message=str(second.parent_id))
        assert "2 messages deleted" in await tab.until('"restore"')
        assert "And at night?" not in await other.until("composer-state")
        assert await contents(first.conversation) == ["Why is the sky blue?", first.content]
        undo = {"message": str(second.parent_id), "head": str(second.pk)}
        await tab.send(action="restore", **undo)
        assert "And at night?" in await other.until("composer-state")
    assert len(await contents(first.conversation)) == 4


async def test_a_conversation_without_messages_is_shown_empty_and_takes_a_prompt(
    tab: Tab, alices: Client
) -> None:
    first = await turn(tab)
    conversation = str(first.conversation_id)
    await tab.send(action="delete", message=str(first.parent_id))
    frame = await tab.until('target:#messages"></template>')
    assert f'name="conversation" value="{conversation}"' in frame
    async with Tab(alices, conversation=conversation, head=str(first.pk)) as late:
        await late.until('target:#messages"></template>')  # it missed the deletion
        await turn(tab, "Another", conversation=conversation, parent="")
        assert "Another" in await late.until('data-ending="streaming"')
    assert (await contents(first.conversation))[0] == "Another"


async def test_a_running_reply_cannot_be_deleted(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.script(role(), delta("Half"), Stall())
    reply = await tab.ask()
    message = await load_reply(reply)
    for pk in (reply, message.parent_id):
        await tab.send(action="delete", message=str(pk))
        await tab.until("Stop it first")
    await tab.send(action="stop", conversation=str(message.conversation_id))
    await tab.until_ended()
    await tab.send(action="delete", message=str(message.parent_id))
    await tab.until("2 messages deleted")


async def test_a_prompt_without_a_reply_can_be_answered(tab: Tab) -> None:
    first = await turn(tab)
    await tab.send(action="delete", message=str(first.pk))
    await tab.until("Reply deleted")
    await tab.send(action="retry", reply=str(first.parent_id))
    assert await load_reply(await tab.next_reply())
    await tab.until_ended()
    assert len(await contents(first.conversation)) == 2


async def test_a_reply_counts_siblings_deleted_or_restored_while_it_ran(
    tab: Tab, upstream: FakeUpstream
) -> None:
    first = await turn(tab)
    conversation = str(first.conversation_id)
    await tab.send(action="delete", message=str(first.pk))
    await tab.until("Reply deleted")
    for action, is_beside in (("restore", True), ("delete", False)):
        upstream.script(role(), delta("Half"), Stall())
        await tab.send(action="retry", reply=str(first.parent_id))
        second = await tab.next_reply()
        await tab.send(action=action, message=str(first.pk))
        await tab.until("#undo")
        await tab.send(action="stop", conversation=conversation)
        assert ("2 / 2" in await tab.until_ended()) is is_beside
        await tab.send(action="delete", message=str(second))
        await tab.until("Reply deleted")


async def test_a_fork_is_opened_and_listed_in_the_sidebar(tab: Tab, alices: Client) -> None:
    first = await turn(tab)
    async with Tab(alices) as other:
        await tab.send(action="fork", message=str(first.pk))
        onward = await tab.until("#onward")
        fork = await Conversation.objects.aget(title__endswith="(fork)")
        assert f'hx-get="/c/{fork.pk}/"' in onward
        assert "(fork)" in await other.until(f"nav-{fork.pk}")
    assert await contents(fork) == await contents(first.conversation)


@pytest.mark.parametrize("action", ["delete", "restore", "fork", "edit"])
@pytest.mark.parametrize("message", ["", "nonsense", str(UUID(int=0))])
async def test_an_action_on_an_unknown_message_shows_a_problem(
    tab: Tab, action: str, message: str
) -> None:
    await turn(tab)
    fields = {"message": "Why?", "edited": message} if action == "edit" else {"message": message}
    await tab.send(action=action, **fields)
    await tab.until('id="problem"')
    await turn(tab)
