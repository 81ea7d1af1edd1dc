"""Reads the messages that a page shows after an action."""

import re

from tests.support.page import parse


def read_messages(page: str) -> str:
    """Return the page's messages as one text."""
    texts = [
        element.text
        for element in parse(page).find_all("div")
        if element.attributes.get("class") == "messages"
    ]
    return re.sub(r"\s+", " ", " ".join(texts)).strip()
