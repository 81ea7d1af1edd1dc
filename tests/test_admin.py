"""Administration: review reads and changes nothing; upstream keys go in and never out."""

import re
from uuid import uuid4

import pytest
from django.test import Client

from chatapp.models import Conversation, Message, Upstream, Usage, User
from chatapp.upstream.events import TokenUsage
from tests import stored

REQUESTS = {
    "dialect": "auto",
    "parameters": "{}",
    "offers_tools": "on",
    "silence_seconds": "300",
}

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/admin/chatapp/conversation/"
UPSTREAMS = "/admin/chatapp/upstream/"


@pytest.fixture
def conversation(alice: User, connected: Upstream) -> Conversation:
    """Two replies to one prompt: one of 1,200 tokens reported, one of 300 estimated."""
    conversation = alice.conversations.create(title="The sky")
    prompt, first = conversation.ask(
        uuid4(), "Why is it blue?", None, connected, "some-model", uuid4()
    )
    end(first, "Rayleigh <script>", Usage.Provenance.REPORTED, 1200)
    second = conversation.answer(prompt, connected, "some-model", uuid4())
    end(second, "Tyndall", Usage.Provenance.ESTIMATED, 300)
    return conversation


def end(reply: Message, text: str, provenance: Usage.Provenance, tokens: int) -> None:
    counted = Usage.counted(provenance, TokenUsage(0, tokens, tokens))
    stored.end(reply, stored.reply_of(text), usage=counted)


@pytest.mark.parametrize("path", ["/admin/", LIST, UPSTREAMS])
def test_who_is_no_staff_is_refused(alices: Client, path: str) -> None:
    answer = alices.get(path)
    assert answer.status_code == 302
    assert "login" in answer.headers["location"]


def test_the_list_shows_who_and_what_it_cost(olives: Client, conversation: Conversation) -> None:
    page = olives.get(LIST).content.decode()
    assert "The sky" in page
    assert "alice" in page
    assert "1,500, of which 300 estimated" in page


def test_the_list_shows_what_is_estimated_at_most(
    olives: Client, conversation: Conversation
) -> None:
    Usage.objects.filter(total_tokens=300).update(
        upper_prompt_tokens=0, upper_completion_tokens=1100
    )
    assert "1,500, of which 300 estimated (at most 1,100)" in olives.get(LIST).content.decode()


def test_one_reply_of_unknown_usage_is_counted_as_one(
    olives: Client, conversation: Conversation
) -> None:
    Usage.objects.filter(total_tokens=300).update(provenance=Usage.Provenance.UNKNOWN)
    assert "1 reply of unknown usage" in olives.get(LIST).content.decode()


def test_what_the_clock_costs_stands_beside_its_setting(
    olives: Client, connected: Upstream
) -> None:
    page = olives.get(f"{UPSTREAMS}{connected.pk}/change/").content.decode()
    assert re.search(r"About 1\d\d tokens a request", page)


@pytest.mark.parametrize(
    ("query", "is_found"),
    [("sky", True), ("alice", True), ("tyndall", True), ("blue", True), ("chocolate", False)],
)
def test_titles_people_and_texts_are_searched(
    olives: Client, conversation: Conversation, query: str, is_found: bool
) -> None:
    page = olives.get(LIST, {"q": query}).content.decode()
    assert ("The sky" in page) is is_found


def test_a_search_that_joins_messages_multiplies_no_tokens(
    olives: Client, conversation: Conversation
) -> None:
    page = olives.get(LIST, {"q": "alice"}).content.decode()
    assert "1,500, of which 300 estimated" in page
    assert page.count(f"{LIST}{conversation.pk}/change/") == 1


def test_review_shows_every_branch_as_text(olives: Client, conversation: Conversation) -> None:
    page = olives.get(f"{LIST}{conversation.pk}/change/").content.decode()
    assert "Why is it blue?" in page
    assert "Rayleigh &lt;script&gt;" in page
    assert "Tyndall" in page
    assert "(reported)" in page
    assert "(estimated)" in page


def test_a_reply_that_still_streams_can_be_reviewed(
    olives: Client, conversation: Conversation, connected: Upstream
) -> None:
    conversation.ask(uuid4(), "And?", None, connected, "some-model", uuid4())
    page = olives.get(f"{LIST}{conversation.pk}/change/")
    assert page.status_code == 200
    assert "not saved yet" in page.content.decode()


def test_review_changes_nothing(olives: Client, conversation: Conversation) -> None:
    path = f"{LIST}{conversation.pk}"
    assert olives.get(f"{LIST}add/").status_code == 403
    assert olives.post(f"{path}/change/", {"title": "Changed"}).status_code == 403
    assert olives.post(f"{path}/delete/", {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": str(conversation.pk), "post": "yes"}
    olives.post(LIST, chosen)
    conversation.refresh_from_db()
    assert conversation.title == "The sky"
    assert conversation.messages.count() == 3


def test_a_stored_key_is_never_shown(olives: Client, connected: Upstream) -> None:
    for path in (UPSTREAMS, f"{UPSTREAMS}{connected.pk}/change/"):
        page = olives.get(path)
        assert page.status_code == 200
        assert "sk-very-secret" not in page.content.decode()


@pytest.mark.parametrize(("typed", "kept"), [("", "sk-very-secret"), ("sk-new", "sk-new")])
def test_an_empty_key_field_keeps_the_stored_one(
    olives: Client, connected: Upstream, typed: str, kept: str
) -> None:
    form = {
        "name": "Renamed",
        "base_url": connected.base_url,
        "new_api_key": typed,
        "enabled": "on",
        **REQUESTS,
    }
    answer = olives.post(f"{UPSTREAMS}{connected.pk}/change/", form)
    assert answer.status_code == 302
    connected.refresh_from_db()
    assert (connected.name, connected.api_key) == ("Renamed", kept)


def test_a_refused_form_does_not_repeat_the_typed_key(olives: Client, connected: Upstream) -> None:
    form = {
        "name": "X",
        "base_url": "no url",
        "new_api_key": "sk-typed",
        "enabled": "on",
        **REQUESTS,
    }
    answer = olives.post(f"{UPSTREAMS}{connected.pk}/change/", form)
    assert answer.status_code == 200
    assert "sk-typed" not in answer.content.decode()
    connected.refresh_from_db()
    assert connected.api_key == "sk-very-secret"


def test_the_environments_upstream_keeps_its_address(olives: Client, connected: Upstream) -> None:
    Upstream.objects.update(from_environment=True)
    form = {
        "name": "X",
        "base_url": "http://evil/v1",
        "new_api_key": "",
        "enabled": "on",
        **REQUESTS,
    }
    olives.post(f"{UPSTREAMS}{connected.pk}/change/", form)
    connected.refresh_from_db()
    assert (connected.name, connected.base_url.startswith("http://127.0.0.1")) == ("Fake", True)
