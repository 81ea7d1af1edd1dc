"""What an owner does to a conversation as a whole, and what the tabs show of it."""

from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from chatapp.models import Conversation, Message, Upstream, User
from tests.fake_upstream import FakeUpstream, Stall, delta, role
from tests.stored import end, reply_of, saved
from tests.tab import Tab

pytestmark = pytest.mark.django_db(transaction=True)

HTMX = {"HX-Request": "true"}


@pytest.fixture
def sky(alice: User, connected: Upstream) -> Conversation:
    conversation = alice.conversations.create(title="The sky")
    end(conversation.ask(uuid4(), "Why?", None, connected, "m", uuid4())[1], reply_of("So."))
    return conversation


def address(conversation: UUID, what: str) -> str:
    return f"/c/{conversation}/{what}/"


def test_the_row_comes_back_with_its_new_title(alices: Client, sky: Conversation) -> None:
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
def test_what_is_no_title_is_refused_with_a_sentence(
    alices: Client, sky: Conversation, title: str, reason: str
) -> None:
    answer = alices.post(address(sky.pk, "rename"), {"title": title}, headers=HTMX)
    assert (answer.status_code, answer.content.decode()) == (422, reason)
    assert answer.headers["content-type"].startswith("text/plain")
    sky.refresh_from_db()
    assert sky.title == "The sky"


def test_a_deleted_one_leaves_nothing(alices: Client, sky: Conversation) -> None:
    answer = alices.post(address(sky.pk, "delete"), headers=HTMX)
    assert (answer.status_code, answer.content) == (200, b"")
    assert not Message.objects.exists()
    for what in ("delete", "rename"):
        assert alices.post(address(sky.pk, what), {"title": "Again"}).status_code == 404


def test_without_htmx_one_is_sent_on(alices: Client, sky: Conversation) -> None:
    answer = alices.post(address(sky.pk, "rename"), {"title": "Mine"})
    assert answer.headers["location"] == f"/c/{sky.pk}/"
    assert alices.post(address(sky.pk, "delete")).headers["location"] == "/"


@pytest.mark.parametrize("what", ["rename", "delete"])
def test_nobody_else_does_so(
    alice: User, bobs: Client, olive: User, olives: Client, sky: Conversation, what: str
) -> None:
    for client, status in ((bobs, 404), (olives, 404), (Client(), 302)):
        answer = client.post(address(sky.pk, what), {"title": "Theirs"})
        assert answer.status_code == status
    sky.refresh_from_db()
    assert sky.title == "The sky"


@pytest.mark.parametrize("what", ["rename", "delete"])
def test_no_other_site_posts_it(alice: User, sky: Conversation, what: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    assert client.post(address(sky.pk, what), {"title": "Theirs"}).status_code == 403
    assert client.get(address(sky.pk, what)).status_code == 405


async def test_a_tab_shows_a_new_chat_once_its_conversation_is_gone(
    tab: Tab, alices: Client, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("Half"), Stall())
    conversation = (await saved(await tab.ask())).conversation_id
    request = await upstream.until_requested()
    await tab.until("Half")
    await sync_to_async(alices.post)(address(conversation, "delete"))
    assert f'data-gone="{conversation}"' in await tab.until("was deleted")
    await tab.until(f"delete target:#nav-{conversation}")
    assert (await request.until_closed()).was_streaming
    upstream.script(role(), delta("Anew"), Stall())
    assert (await saved(await tab.ask("Next"))).conversation_id != conversation


async def test_a_tab_that_comes_back_to_one_that_is_gone_starts_anew(
    tab: Tab, alices: Client
) -> None:
    conversation = (await saved(await tab.ask())).conversation_id
    await tab.until_ended()
    await tab.close()
    await sync_to_async(alices.post)(address(conversation, "delete"))
    async with Tab(alices, conversation=conversation) as again:
        frame = await again.until("not here any more")
    assert f'data-gone="{conversation}"' in frame


async def test_what_is_asked_in_one_that_is_gone_is_given_back(tab: Tab, alices: Client) -> None:
    conversation = (await saved(await tab.ask())).conversation_id
    await tab.until_ended()
    await sync_to_async(alices.post)(address(conversation, "delete"))
    prompt = str(uuid4())
    await tab.send(action="prompt", message="And?", conversation=str(conversation), prompt=prompt)
    assert "not here any more" in await tab.until(f'data-prompt="{prompt}"')
    assert not await Message.objects.aexists()
