"""Sending attachments with a prompt, from the tab to the upstream."""

import pytest
from channels.db import database_sync_to_async
from django.test import Client

from chatapp.models import Attachment, Message
from tests.support.attaching import upload
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, role
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db


async def attach_file(client: Client, name: str, data: bytes) -> Attachment:
    attachment: Attachment = await database_sync_to_async(upload)(client, name, data)
    return attachment


async def test_a_document_stands_before_the_prompt_in_a_part_of_its_own(
    tab: Tab, alices: Client, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("Read"), finish(), done())
    notes = await attach_file(alices, "notes.txt", b"The sky is green.")
    await tab.send(action="prompt", message="What colour?", attached=str(notes.pk))
    request = await upstream.until_requested()
    [message] = request.body["messages"]
    document, prompt = message["content"]
    assert "The sky is green." in document["text"]
    assert prompt == {"type": "text", "text": "What colour?"}
    await tab.until("Read")
    await notes.arefresh_from_db()
    assert notes.message_id
    assert not await Attachment.objects.filter(message=None).aexists()


async def test_another_persons_attachment_cannot_be_sent(
    tab: Tab, bobs: Client, upstream: FakeUpstream
) -> None:
    notes = await attach_file(bobs, "notes.txt", b"Bob's")
    await tab.send(action="prompt", message="What colour?", attached=str(notes.pk))
    await tab.until("no longer there")
    assert not await Message.objects.aexists()


async def test_a_tab_is_told_of_drafts_that_it_may_be_about_to_show(
    tab: Tab, alices: Client, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("Hi"), finish(), done())
    await tab.send(action="prompt", message="Hello")
    await tab.until("Hi")
    await attach_file(alices, "notes.txt", b"For a new chat")
    await tab.until('id="draft-state" hidden data-changed=""')
