"""A reply as HTML, whether it streams or has ended."""

import pytest

from chatapp.models import Conversation, Message, Usage
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
