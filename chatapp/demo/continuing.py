"""Going on with an answer that was stopped."""

import re

REQUEST = re.compile(r"\s*(please\s+)?(continue|go on|carry on|keep going)\b", re.IGNORECASE)
WHERE = re.compile(r"[^.]*\bwhere you (stopped|left off)\b", re.IGNORECASE)
MOST_WORDS = 6
FENCE = re.compile(r"^```.*$", re.MULTILINE)


def asks_to_continue(text: str) -> bool:
    """Whether `text` is a wish such as "Continue where you stopped.", with no other beside it.

    What the app sends for its button begins so, and goes on to say how."""
    is_wish = len(text.split()) <= MOST_WORDS or WHERE.match(text) is not None
    return is_wish and REQUEST.match(text) is not None


def rest_of(whole: str, said: str) -> str | None:
    """What follows `said` in `whole`, or None if `whole` does not begin with it.

    White space at the end of `said` may have been lost on the way. If `said` stopped within a
    code block, the rest opens it again, since it is shown as a message of its own.
    """
    said = said.rstrip()
    if not whole.startswith(said):
        return None
    fences = FENCE.findall(said)
    rest = whole[len(said) :]
    return f"{fences[-1]}\n" + rest.removeprefix("\n") if len(fences) % 2 else rest
