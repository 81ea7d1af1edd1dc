"""Review of conversations: it reads, and changes nothing."""

from uuid import uuid4

import pytest
from django.test import Client

from chatapp.models import Conversation, Message, Upstream, Usage, User
from chatapp.upstream.wire.events import TokenUsage
from tests import stored
from tests.page import parse

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "/admin/chatapp/conversation/"


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


def test_the_list_shows_who_and_what_it_cost(olives: Client, conversation: Conversation) -> None:
    page = olives.get(LIST).content.decode()
    assert "The sky" in page
    assert "alice" in page
    assert "1,500, of which 300 estimated" in page


def row_of(page: str) -> dict[str, str]:
    """The cells of the only conversation in the list, by their column."""
    [row] = parse(page).find("table", id="result_list").find("tbody").find_all("tr")
    cells = [cell for cell in row.elements if "field-" in cell.attributes.get("class", "")]
    return {cell.attributes["class"].split("field-")[1]: cell.text.strip() for cell in cells}


def test_a_conversation_in_which_nothing_was_flagged_says_so_with_a_dash(
    olives: Client, conversation: Conversation
) -> None:
    assert row_of(olives.get(LIST).text)["flagged"] == "\N{EN DASH}"
    conversation.messages.filter(content__contains="Tyndall").update(is_flagged=True)
    assert row_of(olives.get(LIST).text)["flagged"] == "Flagged"


def test_a_reply_that_was_killed_with_its_server_counts_as_one(
    olives: Client, conversation: Conversation, connected: Upstream
) -> None:
    conversation.ask(uuid4(), "And at night?", None, connected, "some-model", uuid4())
    assert row_of(olives.get(LIST).text)["replies"] == "2"  # it streams
    assert Message.objects.interrupt_orphans() == 1
    assert row_of(olives.get(LIST).text)["replies"] == "3"


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
    assert '<div class="typed" dir="auto">Why is it blue?</div>' in page
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
