"""Pages of chats with a part left out: where it is marked, and the figure for the meter."""

import pytest
from django.test import Client

from chatapp.models import (
    ContextCut,
    Conversation,
    EditSummary,
    LeaveOut,
    Message,
    SendAgain,
    Upstream,
    User,
)
from tests.support.page import parse
from tests.support.stored import store_turn

pytestmark = pytest.mark.django_db

LINE = "everything above this line"


@pytest.fixture
def gateway(db: None) -> Upstream:
    """An upstream that refuses connections, so that none outlives a test's event loop."""
    return Upstream.objects.create(name="Gateway", base_url="http://127.0.0.1:9/v1")


@pytest.fixture
def messages(alice: User, gateway: Upstream) -> list[Message]:
    """Forty exchanges, more than a page shows."""
    conversation = alice.conversations.create(title="Long")
    turns: list[Message] = []
    for number in range(40):
        turns += store_turn(conversation, gateway, f"{number}", turns[-1] if turns else None)
    return turns


def get_page(client: Client, messages: list[Message], query: str = "") -> str:
    return client.get(f"/c/{messages[0].conversation_id}/{query}").text


def test_a_part_that_is_not_shown_is_marked_where_the_page_ends(
    alices: Client, alice: User, messages: list[Message]
) -> None:
    assert LINE not in get_page(alices, messages)
    LeaveOut(messages[0].conversation_id, message=messages[69].pk).store(alice)
    newest = get_page(alices, messages)
    assert newest.count(LINE) == 1
    assert newest.index("To 34") < newest.index(LINE) < newest.index("To 35")
    oldest = get_page(alices, messages, f"?at={messages[0].pk}")
    assert oldest.count(LINE) == 1
    assert "context-below" in oldest
    path = f"/c/{messages[0].conversation_id}/earlier/?before={messages[50].pk}"
    assert "context-below" in alices.get(path).text
    later = alices.get(f"/c/{messages[0].conversation_id}/later/?after={messages[69].pk}").text
    assert LINE not in later


def test_a_branch_that_does_not_go_through_the_cut_is_not_marked(
    alices: Client, alice: User, gateway: Upstream, messages: list[Message]
) -> None:
    LeaveOut(messages[0].conversation_id, message=messages[5].pk).store(alice)
    conversation = Conversation.objects.get(pk=messages[0].conversation_id)
    _, other = store_turn(conversation, gateway, "Otherwise", messages[3])
    assert LINE not in get_page(alices, messages, f"?at={other.pk}")
    assert "Otherwise" in get_page(alices, messages, f"?at={other.pk}")


def test_a_kept_summary_is_shown_where_it_could_be_used_again(
    alices: Client, alice: User, messages: list[Message]
) -> None:
    LeaveOut(messages[0].conversation_id, message=messages[69].pk).store(alice)
    cut = ContextCut.objects.get()
    EditSummary(cut.pk, "About <i>larks</i>").store(alice)
    SendAgain(cut.pk).store(alice)
    page = get_page(alices, messages)
    assert page.index("To 34") < page.index("its summary is kept") < page.index("To 35")
    assert "About &lt;i&gt;larks&lt;/i&gt;" in page
    assert "data-cut" not in page
    LeaveOut(messages[0].conversation_id, message=messages[71].pk).store(alice)
    assert "its summary is kept" not in get_page(alices, messages)  # it would change nothing


def test_the_composer_knows_how_much_is_still_sent(
    alices: Client, alice: User, messages: list[Message]
) -> None:
    def read_used_tokens(query: str = "") -> str | None:
        [state] = parse(get_page(alices, messages, query)).find_all(id="composer-state")
        return state.attributes.get("data-used")

    assert read_used_tokens() is None
    assert (
        read_used_tokens(f"?at={messages[0].pk}") == "0"
    )  # the usage of the last reply is unknown
    LeaveOut(messages[0].conversation_id, message=messages[77].pk).store(alice)
    left = read_used_tokens()
    assert left
    assert 5 < int(left) < 50


def test_a_chat_that_begins_with_a_summary_shows_it_first(
    alices: Client, alice: User, gateway: Upstream
) -> None:
    new = alice.conversations.create(title="Long (continued)", cut_changes=1)
    ContextCut.objects.create(conversation=new, summary="About <i>larks</i>", model="lark-1")
    page = alices.get(f"/c/{new.pk}/").text
    assert "About &lt;i&gt;larks&lt;/i&gt;" in page
    assert LINE not in page
    store_turn(new, gateway, "Why?")
    page = alices.get(f"/c/{new.pk}/").text
    assert page.index("larks") < page.index("To Why?")
