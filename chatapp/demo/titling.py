"""Answer the app's request for a conversation title."""

import re

REQUEST = re.compile(r"\s*Write a title for the conversation below\b.*?<message>\n", re.DOTALL)
MAX_WORDS = 5
SMALL_WORDS = {"a", "an", "the", "please", "me", "i", "you", "can", "could", "how", "do", "does"}


def make_title(question: str) -> str | None:
    """Return a title made from the quoted message's first words, small words skipped.

    None if the question is not a request for a title.
    """
    if not (request := REQUEST.match(question)):
        return None
    message = question[request.end() :].partition("\n</message>")[0]
    words = re.findall(r"[\w'’-]+", message)  # noqa: RUF001 - as people type it
    while len(words) > 1 and words[0].lower() in SMALL_WORDS:
        words = words[1:]
    title = " ".join(words[:MAX_WORDS]) or "A conversation"
    return title[:1].upper() + title[1:]
