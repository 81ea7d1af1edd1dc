"""The preset, instructions and parameters of replies, as reviewers see them."""

from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from chatapp.models import Conversation, Message, Preset, RequestSettings, Upstream, User
from tests.staff.review.conftest import Begin
from tests.support.page import parse
from tests.support.reviewer import address, open_for_review

pytestmark = pytest.mark.django_db


@pytest.fixture
def conversation(begin: Begin) -> Conversation:
    return begin(replies=2)


def ask_with(
    conversation: Conversation, user: User, *replies: Message, instructions: str = "Rhyme <b>."
) -> None:
    """Record for these replies that they were asked with a preset, an instruction and more."""
    preset = Preset.start(user, name="Poet & <i>")
    settings = RequestSettings.objects.create(
        conversation=conversation,
        digest=uuid4().hex,
        preset_version=preset.newest,
        instructions=instructions,
        parameters={"temperature": 1.25},
    )
    pks = [reply.pk for reply in replies]
    Message.objects.filter(pk__in=pks).update(request_settings=settings)


def test_a_reviewer_sees_what_each_reply_was_asked_with(
    ritas: Client, alice: User, conversation: Conversation
) -> None:
    first, second = conversation.messages.filter(role="assistant").order_by("sequence")
    ask_with(conversation, alice, first, second)
    assert "Rhyme" not in ritas.get(address(conversation.pk)).text
    page = open_for_review(ritas, conversation.pk).text
    assert page.count("Poet &amp; &lt;i&gt;") == 2
    assert page.count("version 1") == 2
    assert page.count("Rhyme &lt;b&gt;.") == 1
    assert page.count("1.25") == 1
    [link] = parse(page).find_all("a", href=f"#m-{first.pk}")
    assert link.text == "an earlier reply"


def test_the_json_of_a_reply_has_what_it_was_asked_with(
    ritas: Client, alice: User, conversation: Conversation
) -> None:
    reply, other = conversation.messages.filter(role="assistant").order_by("sequence")
    ask_with(conversation, alice, reply)
    open_for_review(ritas, conversation.pk)
    records = [
        ritas.get(f"{address(conversation.pk)}messages/{message.pk}/").json()["asked_with"]
        for message in (reply, other)
    ]
    assert records == [
        {
            "preset": "Poet & <i>",
            "version": 1,
            "instructions": "Rhyme <b>.",
            "files": [],
            "parameters": {"temperature": 1.25},
        },
        None,
    ]


def test_a_reply_without_settings_says_nothing_of_them(
    ritas: Client, conversation: Conversation
) -> None:
    assert "Asked with" not in open_for_review(ritas, conversation.pk).text


def test_a_preset_that_is_gone_leaves_what_was_sent(
    ritas: Client, alice: User, conversation: Conversation
) -> None:
    ask_with(conversation, alice, *conversation.messages.filter(role="assistant"))
    Preset.objects.all().delete()
    page = open_for_review(ritas, conversation.pk).text
    assert "Rhyme &lt;b&gt;." in page
    assert "Poet" not in page


def test_more_replies_need_no_more_queries(
    ritas: Client, alice: User, conversation: Conversation, saved_upstream: Upstream
) -> None:
    replies = conversation.messages.filter(role="assistant").order_by("sequence")
    open_for_review(ritas, conversation.pk)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert "Asked with" in ritas.get(address(conversation.pk)).text
        return len(captured)

    ask_with(conversation, alice, replies[0])
    queries_for_one = queries()
    ask_with(conversation, alice, replies[1], instructions="Be brief.")
    assert queries() == queries_for_one
