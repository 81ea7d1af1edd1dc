"""Renaming, pinning, archiving and deleting conversations, and what tabs show of it."""

from datetime import timedelta
from io import StringIO
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from chatapp.models import Conversation, Message, Upstream, User
from chatapp.models.conversations.chats import folders
from tests.support.fake_upstream import FakeUpstream, Stall, delta, role
from tests.support.stored import build_reply, end, load_reply
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
CHANGE = "/conversations/change/"
DAY = timedelta(days=1)


@pytest.fixture
def sky(alice: User, saved_upstream: Upstream) -> Conversation:
    conversation = alice.conversations.create(title="The sky")
    end(
        conversation.ask(uuid4(), "Why?", None, saved_upstream, "m", uuid4())[1], build_reply("So.")
    )
    return conversation


def address(conversation: UUID, what: str) -> str:
    return f"/c/{conversation}/{what}/"


def test_renaming_returns_the_row_with_its_new_title(alices: Client, sky: Conversation) -> None:
    answer = alices.post(address(sky.pk, "rename"), {"title": "  A  <b>sky\n"}, headers=HTMX)
    row = answer.content.decode()
    assert f'id="nav-{sky.pk}"' in row
    assert "A &lt;b&gt;sky" in row
    sky.refresh_from_db()
    assert sky.title == "A <b>sky"


@pytest.mark.parametrize(
    ("title", "reason"),
    [
        ("", "Type a title first."),
        (" \n ", "Type a title first."),
        ("x" * 81, "A title has at most 80 characters."),
        ("x" * 1_000_000, "A title has at most 80 characters."),
        ("a\0b", "Null characters are not allowed."),
    ],
)
def test_an_invalid_title_is_refused_with_a_reason(
    alices: Client, sky: Conversation, title: str, reason: str
) -> None:
    answer = alices.post(address(sky.pk, "rename"), {"title": title}, headers=HTMX)
    assert (answer.status_code, answer.content.decode()) == (422, reason)
    assert answer.headers["content-type"].startswith("text/plain")
    sky.refresh_from_db()
    assert sky.title == "The sky"


def change(client: Client, action: str, *pks: UUID, **fields: str) -> tuple[int, str]:
    """Apply an action and return the status and the sentence of the response."""
    posted = {"action": action, "ids": [str(pk) for pk in pks], **fields}
    answer = client.post(CHANGE, posted, headers=HTMX)
    return answer.status_code, answer.content.decode()


def test_a_conversation_in_the_trash_is_found_nowhere_else(
    alice: User, alices: Client, olives: Client, sky: Conversation
) -> None:
    reply = sky.messages.get(role="assistant")
    addresses = [f"/replies/{reply.pk}/{what}/" for what in ("markdown", "confidence")]
    assert [alices.get(path).status_code for path in addresses] == [200, 200]
    assert change(alices, "trash", sky.pk) == (200, "Moved to the trash.")
    for gone in (f"/c/{sky.pk}/", *addresses):
        assert alices.get(gone).status_code == 404
    assert alices.post(address(sky.pk, "rename"), {"title": "Again"}).status_code == 404
    for listed in ("/conversations/", "/conversations/?folder=archive"):
        assert "The sky" not in alices.get(listed).text
    assert str(sky.pk) not in olives.get("/review/").text
    assert olives.get(f"/review/{sky.pk}/").status_code == 404
    assert "The sky" in alices.get("/conversations/?folder=trash").text
    for action in ("pin", "archive", "trash", "move"):
        assert change(alices, action, sky.pk) == (404, "This no longer exists.")
    assert change(alices, "restore", sky.pk) == (200, "Restored.")
    assert alices.get(addresses[0]).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_a_conversation_leaves_the_trash_after_thirty_days(
    alice: User, alices: Client, sky: Conversation
) -> None:
    untrashed = alice.conversations.create(title="Kept")
    young = alice.conversations.create(title="Young", trashed_at=timezone.now() - 29 * DAY)
    Conversation.objects.filter(pk=sky.pk).update(trashed_at=timezone.now() - 30 * DAY)
    assert "The sky" not in alices.get("/conversations/?folder=trash").text
    assert change(alices, "restore", sky.pk)[0] == 404
    call_command("housekeeping", stdout=StringIO())
    assert set(alice.conversations.all()) == {untrashed, young}
    assert not Message.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_emptying_the_trash_deletes_only_its_contents(
    alice: User, bob: User, alices: Client, sky: Conversation
) -> None:
    bobs = bob.conversations.create(title="Bob's", trashed_at=timezone.now())
    gone = alice.conversations.create(title="Gone", trashed_at=timezone.now())
    assert change(alices, "empty") == (200, "Deleted permanently.")
    assert change(alices, "restore", gone.pk)[0] == 404
    call_command("housekeeping", stdout=StringIO())
    assert set(Conversation.objects.all()) == {sky, bobs}
    assert change(alices, "empty")[0] == 404


@pytest.mark.django_db(transaction=True)
def test_only_conversations_in_the_trash_can_be_deleted_permanently(
    alices: Client, sky: Conversation
) -> None:
    assert change(alices, "discard", sky.pk)[0] == 404
    change(alices, "trash", sky.pk)
    assert change(alices, "discard", sky.pk) == (200, "Deleted permanently.")
    call_command("housekeeping", stdout=StringIO())
    assert not Conversation.objects.exists()


def test_many_conversations_can_be_changed_at_once_but_not_other_peoples(
    alice: User, bob: User, alices: Client
) -> None:
    own = [alice.conversations.create(title=f"Own {number}").pk for number in range(3)]
    bobs = bob.conversations.create(title="Bob's")
    assert change(alices, "archive", *own, bobs.pk, uuid4()) == (200, "3 chats archived.")
    bobs.refresh_from_db()
    assert bobs.archived_at is None
    assert alice.conversations.archived().count() == 3
    assert change(alices, "pin", bobs.pk) == (404, "This no longer exists.")


@pytest.mark.parametrize(
    ("posted", "reason"),
    [
        ({"action": "erase", "ids": [str(uuid4())]}, "Select a valid choice"),
        ({"action": "trash", "ids": ["x"]}, "This page is out of date. Reload it."),
        ({"action": "trash", "ids": [str(uuid4())] * 501}, "Select 500 at most."),
        ({"action": "move", "project": str(uuid4())}, "This project no longer exists."),
    ],
)
def test_an_impossible_change_is_refused_with_a_reason(
    alices: Client, posted: dict[str, object], reason: str
) -> None:
    answer = alices.post(CHANGE, posted, headers=HTMX)
    assert answer.status_code == 422
    assert reason in answer.content.decode()


def test_the_number_of_pinned_conversations_is_limited(
    alice: User, alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "MAX_PINNED", 2)
    pks = [alice.conversations.create(title=f"Chat {number}").pk for number in range(3)]
    assert change(alices, "pin", *pks[:2])[0] == 200
    assert change(alices, "pin", *pks[:2])[0] == 200  # already pinned
    status, reason = change(alices, "pin", pks[2])
    assert (status, reason) == (422, "You can pin at most 2 chats. Unpin some first.")


def test_requests_without_htmx_are_redirected(alices: Client, sky: Conversation) -> None:
    answer = alices.post(address(sky.pk, "rename"), {"title": "Mine"})
    assert answer.headers["location"] == f"/c/{sky.pk}/"
    answer = alices.post(CHANGE, {"action": "trash", "ids": [str(sky.pk)]})
    assert answer.headers["location"] == "/"


def test_nobody_but_the_owner_can_rename_a_conversation(
    alice: User, bobs: Client, olive: User, olives: Client, sky: Conversation
) -> None:
    for client, status in ((bobs, 404), (olives, 404), (Client(), 302)):
        answer = client.post(address(sky.pk, "rename"), {"title": "Theirs"})
        assert answer.status_code == status
    sky.refresh_from_db()
    assert sky.title == "The sky"


@pytest.mark.parametrize("what", ["rename", "change"])
def test_another_site_cannot_post_changes(alice: User, sky: Conversation, what: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    path = CHANGE if what == "change" else address(sky.pk, what)
    posted = {"title": "Theirs", "action": "trash", "ids": str(sky.pk)}
    assert client.post(path, posted).status_code == 403
    assert client.get(path).status_code == 405


async def test_a_tab_shows_a_new_chat_once_its_conversation_is_deleted(
    tab: Tab, alices: Client, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("Half"), Stall())
    conversation = (await load_reply(await tab.ask())).conversation_id
    request = await upstream.until_requested()
    await tab.until("Half")
    await sync_to_async(change)(alices, "trash", conversation)
    assert f'data-gone="{conversation}"' in await tab.until("was deleted")
    await tab.until(f"delete target:#nav-{conversation}")
    assert (await request.until_closed()).was_streaming
    upstream.script(role(), delta("Anew"), Stall())
    assert (await load_reply(await tab.ask("Next"))).conversation_id != conversation


async def test_a_tab_that_reconnects_to_a_deleted_conversation_shows_a_new_chat(
    tab: Tab, alices: Client
) -> None:
    conversation = (await load_reply(await tab.ask())).conversation_id
    await tab.until_ended()
    await tab.close()
    await sync_to_async(change)(alices, "trash", conversation)
    async with Tab(alices, conversation=conversation) as again:
        frame = await again.until("no longer exists")
    assert f'data-gone="{conversation}"' in frame


async def test_a_prompt_in_a_deleted_conversation_is_returned(tab: Tab, alices: Client) -> None:
    conversation = (await load_reply(await tab.ask())).conversation_id
    await tab.until_ended()
    await sync_to_async(change)(alices, "trash", conversation)
    prompt = str(uuid4())
    await tab.send(action="prompt", message="And?", conversation=str(conversation), prompt=prompt)
    assert "no longer exists" in await tab.until(f'data-prompt="{prompt}"')
    assert await Message.objects.acount() == 2
