"""Reads the messages that a page shows after an action."""

import re

from tests.support.page import parse


def told_by(page: str) -> str:
    """Return the page's messages as one text."""
    found = [
        one.text for one in parse(page).find_all("div") if one.attributes.get("class") == "messages"
    ]
    return re.sub(r"\s+", " ", " ".join(found)).strip()
