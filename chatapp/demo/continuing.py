"""Continue an answer that was stopped."""

import re

REQUEST = re.compile(r"\s*(please\s+)?(continue|go on|carry on|keep going)\b", re.IGNORECASE)
WHERE = re.compile(r"[^.]*\bwhere you (stopped|left off)\b", re.IGNORECASE)
MAX_WORDS = 6
FENCE = re.compile(r"^```.*$", re.MULTILINE)


def asks_to_continue(text: str) -> bool:
    """Whether `text` asks only to continue, such as "Continue where you stopped.".

    The prompt of the app's Continue button begins like this, followed by instructions.
    """
    is_wish = len(text.split()) <= MAX_WORDS or WHERE.match(text) is not None
    return is_wish and REQUEST.match(text) is not None


def find_rest(whole: str, beginning: str) -> str | None:
    """Return what follows `beginning` in `whole`, or None if `whole` does not begin with it.

    White space at the end of `beginning` may have been lost. If `beginning` stopped inside a code
    block, the rest reopens it, because it is shown as a separate message.
    """
    beginning = beginning.rstrip()
    if not whole.startswith(beginning):
        return None
    fences = FENCE.findall(beginning)
    remainder = whole[len(beginning) :]
    return f"{fences[-1]}\n" + remainder.removeprefix("\n") if len(fences) % 2 else remainder
