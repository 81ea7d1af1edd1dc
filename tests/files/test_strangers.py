"""The id of a file is of no use to people without a right to it."""

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from chatapp.models import Attachment, Conversation, Message, User
from tests.conftest import signed_in
from tests.files.test_sending import attach_file
from tests.support.attaching import send_part, upload
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, role
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db


def begin(client: Client, size: int) -> str:
    form = {"name": "notes.txt", "size": size}
    return str(client.post("/files/", form).json()["id"])


def test_a_draft_of_another_persons_chat_takes_no_file(alice: User, bobs: Client) -> None:
    hers = alice.conversations.create(title="Hers")
    form = {"name": "notes.txt", "size": 5, "conversation": str(hers.pk)}
    assert bobs.post("/files/", form).status_code == 422
    assert not Attachment.objects.exists()


def test_the_draft_of_another_persons_chat_is_empty(
    alice: User, alices: Client, bobs: Client
) -> None:
    hers = alice.conversations.create(title="Hers")
    upload(alices, "notes.txt", b"secret", hers.pk)
    path = f"/files/draft/?conversation={hers.pk}"
    assert "notes.txt" in alices.get(path).text
    assert "notes.txt" not in bobs.get(path).text


@pytest.mark.parametrize("loss", ["signed out", "deactivated", "deleted"])
def test_an_upload_ends_with_the_access_of_its_person(
    alice: User, alices: Client, loss: str
) -> None:
    pk = begin(alices, 5)
    cookies = alices.cookies.copy()
    if loss == "signed out":
        alices.logout()
    elif loss == "deactivated":
        User.objects.filter(pk=alice.pk).update(is_active=False)
    else:
        alice.delete()
    alices.cookies.update(cookies)
    answers = [
        send_part(alices, pk, b"12345", 0),
        alices.post("/files/", {"name": "more.txt", "size": 5}),
        alices.post(f"/files/{pk}/retry/"),
        alices.post(f"/files/{pk}/remove/"),
        alices.get(f"/files/{pk}/"),
    ]
    assert {answer.status_code for answer in answers} <= {302, 401, 403}
    received_counts = Attachment.objects.values_list("pk", "received")
    assert [(str(attachment_id), received) for attachment_id, received in received_counts] == (
        [] if loss == "deleted" else [(pk, 0)]
    )


def test_a_revoked_session_uploads_nothing_more(alice: User, alices: Client) -> None:
    pk = begin(alices, 5)
    alice.devices.all().sign_out()
    assert send_part(alices, pk, b"12345", 0).status_code in (302, 401, 403)
    assert Attachment.objects.get().received == 0


async def test_an_edit_takes_neither_another_persons_files_nor_those_of_another_prompt(
    tab: Tab, alices: Client, bob: User, upstream: FakeUpstream
) -> None:
    bobs_notes = await attach_file(await sync_to_async(signed_in)(bob), "notes.txt", b"Bob's")
    hers = await attach_file(alices, "hers.txt", b"Alice's")
    upstream.script(role(), delta("Read"), finish(), done())
    await tab.send(action="prompt", message="First", attached=str(hers.pk))
    await tab.until_ended()
    first = await Message.objects.aget(role="user")
    upstream.script(role(), delta("Read"), finish(), done())
    await tab.ask("Second", conversation=str(first.conversation_id))
    await tab.until_ended()
    second = await Message.objects.aget(content="Second")
    for attachment in (bobs_notes, hers):
        edit = {"action": "edit", "edited": str(second.pk), "message": "Third"}
        await tab.send(**edit, attached=str(attachment.pk))
        await tab.until("no longer there")
    assert not await Message.objects.filter(content="Third").aexists()
    assert await Attachment.objects.acount() == 2


def test_files_of_a_trashed_chat_and_of_a_deleted_message_are_not_served(
    alice: User, alices: Client
) -> None:
    attachment = upload(alices, "notes.txt", b"hers")
    conversation = alice.conversations.create(title="Hers")
    message = Message.objects.create(conversation=conversation, role="user", file_count=1)
    Attachment.objects.update(message=message)
    path = f"/files/{attachment.pk}/"
    assert alices.get(path).status_code == 200
    Conversation.objects.filter(pk=conversation.pk).trash()
    assert alices.get(path).status_code == 404
    Conversation.objects.filter(pk=conversation.pk).restore()
    Message.objects.update(deleted_at=message.created_at)
    assert alices.get(path).status_code == 404
