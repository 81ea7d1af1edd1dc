"""The sentences that say which model answered in place of another."""

import pytest

from chatapp.models import Conversation, Message
from chatapp.models.conversations.messages.failed_models import FailedModel
from chatapp.rendering.fragments.fallback_words import fallback_sentence, waiting_text
from chatapp.rendering.fragments.replies import ReplyView, reply_html

LARGE = FailedModel(1, "large", "<b>Large", "rate_limited", 429)
OTHER = FailedModel(2, "other", "Other", "unreachable")


def reply(*failed: FailedModel, content: str = "Here.", ending: str = "complete") -> Message:
    return Message(
        role="assistant",
        model="small",
        content=content,
        ending=ending,
        conversation=Conversation(),
        failed_models_record=[model.as_record() for model in failed] or None,
    )


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (reply(), ""),
        (reply(LARGE), "Answered by small because <b>Large was rate-limited."),
        (
            reply(LARGE, OTHER),
            "Answered by small because <b>Large was rate-limited and Other could not be reached.",
        ),
        (reply(OTHER, content=""), "small was asked because Other could not be reached."),
        (
            reply(FailedModel(1, "large", "Large", "a kind of a newer version")),
            "Answered by small because Large failed.",
        ),
    ],
)
def test_a_reply_says_why_another_model_answered(message: Message, sentence: str) -> None:
    assert fallback_sentence(message) == sentence


def test_while_a_fallback_is_asked_only_the_last_failure_is_named() -> None:
    text = waiting_text(reply(LARGE, OTHER, ending="streaming"))
    assert text == "Other could not be reached. Asking small…"


@pytest.mark.django_db
def test_the_reply_names_both_models_and_escapes_them() -> None:
    html = reply_html(ReplyView(reply(LARGE), []))
    assert "<b>Large" not in html
    assert "in place of <bdi>&lt;b&gt;Large</bdi>" in html
    assert "Answered by small because &lt;b&gt;Large was rate-limited." in html
