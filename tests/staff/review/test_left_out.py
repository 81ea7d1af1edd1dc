"""Messages that a person left out of later requests, as reviewers see them."""

import pytest
from django.test import Client

from chatapp.models import ContextCut, Conversation, Upstream
from tests.staff.review.conftest import Begin
from tests.support.reviewer import open_for_review

pytestmark = pytest.mark.django_db


@pytest.fixture
def conversation(begin: Begin) -> Conversation:
    return begin()


def test_a_reviewer_sees_what_is_left_out_and_the_summary(
    ritas: Client, conversation: Conversation
) -> None:
    reply = conversation.messages.get(role="assistant")
    upstream = Upstream.objects.first()
    ContextCut.objects.create(
        conversation=conversation,
        message=reply,
        summary="About <b>larks</b>",
        upstream=upstream,
        model="lark-1",
        is_edited=True,
    )
    path = f"/review/{conversation.pk}/"
    assert "larks" not in ritas.get(path).text
    open_for_review(ritas, conversation.pk)
    page = ritas.get(path).text
    assert "is not sent to models" in page
    assert "About &lt;b&gt;larks&lt;/b&gt;" in page
    assert "edited by the person" in page
    ContextCut.objects.update(is_lifted=True)
    page = ritas.get(path).text
    assert "was not sent to models for a time" in page
    assert "larks" in page


def test_a_reviewer_sees_the_summary_with_which_a_chat_begins(
    ritas: Client, conversation: Conversation
) -> None:
    ContextCut.objects.create(conversation=conversation, summary="About larks", model="lark-1")
    open_for_review(ritas, conversation.pk)
    page = ritas.get(f"/review/{conversation.pk}/").text
    assert "of the chat before" in page
    assert page.index("About larks") < page.index('data-role="user"')
