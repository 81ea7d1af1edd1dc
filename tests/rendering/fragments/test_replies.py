"""A reply as HTML, whether it streams or has ended."""

import pytest

from chatapp.models import Conversation, Message, Usage
from chatapp.models.billing.prices import DOLLAR
from chatapp.rendering.fragments.replies import ReplyView, reply_html
from tests.support.page import parse


@pytest.mark.parametrize("ending", [Message.STREAMING, "complete", "stopped"])
def test_a_reply_names_its_model_outside_the_row_that_appears_on_hover(ending: str) -> None:
    message = Message(
        role="assistant", model="<b>small</b>", ending=ending, conversation=Conversation()
    )
    message.usage = Usage(message=message, provenance=Usage.Provenance.UNKNOWN)
    page = parse(reply_html(ReplyView(message, [])))
    assert page.find("p", id=f"by-{message.pk}").text.strip() == "<b>small</b>"
    assert not page.find("footer").find_all("p", id=f"by-{message.pk}")


@pytest.mark.parametrize(
    ("price", "text"), [({"source": "administrator"}, "at least $0.50"), (None, "$0.50")]
)
def test_a_computed_cost_without_fees_is_at_least(price: dict[str, str] | None, text: str) -> None:
    message = Message(role="assistant", model="m", ending="complete", conversation=Conversation())
    counts = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, "extra_fees": 2}
    message.usage = Usage(
        message=message, provenance="reported", cost=DOLLAR // 2, price=price, **counts
    )
    page = parse(reply_html(ReplyView(message, [])))
    [usage] = (element for element in page.walk() if "data-usage" in element.attributes)
    assert " ".join(usage.text.split()) == f"3 tokens · {text}"
