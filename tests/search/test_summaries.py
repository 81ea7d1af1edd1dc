"""A chat is found by the summaries that stand in the place of its oldest part."""

import pytest

from chatapp.models import ContextCut, EditSummary, LeaveOut, Message, SendAgain, Upstream, User
from tests.search.conftest import Search, index_all, messages, titles
from tests.support.stored import new_conversation, store_turn

pytestmark = pytest.mark.django_db


@pytest.fixture
def reply(alice: User, saved_upstream: Upstream) -> Message:
    _, reply = store_turn(new_conversation(alice, "Figures"), saved_upstream, "Count")
    LeaveOut(reply.conversation_id, message=reply.pk).store(alice)
    EditSummary(ContextCut.objects.get().pk, "About a nightingale").store(alice)
    index_all()
    return reply


def test_a_chat_is_found_by_its_summary_as_it_was_edited_last(
    search: Search, reply: Message, alice: User, bob: User
) -> None:
    results = search("nightingale")
    assert messages(results) == [reply]
    assert results.conversations[0].passages
    assert not search("nightingale", bob).conversations
    cut = ContextCut.objects.get()
    EditSummary(cut.pk, "About a lark").store(alice)
    index_all()
    assert not search("nightingale").conversations
    assert messages(search("lark")) == [reply]
    SendAgain(cut.pk).store(alice)
    index_all()
    assert messages(search("lark")) == [reply]  # which is kept


def test_a_chat_that_begins_with_a_summary_is_found_by_it(
    search: Search, alice: User, saved_upstream: Upstream
) -> None:
    new = alice.conversations.create(title="Figures (continued)", cut_changes=1)
    cut = ContextCut.objects.create(conversation=new, summary="About a nightingale")
    index_all()
    assert titles(search("nightingale")) == ["Figures (continued)"]
    EditSummary(cut.pk, "About a lark").store(alice)
    index_all()
    assert not search("nightingale").conversations
    assert titles(search("lark")) == ["Figures (continued)"]
    assert titles(search("figures")) == ["Figures (continued)"]
