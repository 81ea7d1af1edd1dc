"""What a page tells of what was just done."""

import re

from tests.support.page import parse


def told_by(page: str) -> str:
    """Its messages, one after the other."""
    found = [
        one.text for one in parse(page).find_all("div") if one.attributes.get("class") == "messages"
    ]
    return re.sub(r"\s+", " ", " ".join(found)).strip()
