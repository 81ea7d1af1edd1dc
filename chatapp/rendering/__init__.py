"""Texts to HTML without holding up anybody: in processes that may be killed, and once.

`rendered` and `arendered` take texts and give a function from each of them to its HTML: a string is
Markdown, `Typed` is what a person typed. `drawn` does the jobs of a `LiveMarkdown`.

What is sure to be cheap is done in place. All else goes to a few worker processes with a time
limit, since no lexer is trusted, and Python's `re` holds the interpreter's lock in whatever thread
it runs. What has been made is kept for a while, for reloads and other tabs.

A text that takes too long, or whose worker dies, is shown as it was written: nothing here raises.
"""

from chatapp.rendering.jobs import Typed
from chatapp.rendering.texts import (
    HtmlOf,
    Renderer,
    arendered,
    drawn,
    forget,
    rendered,
    shut_down,
    warm_up,
)

__all__ = [
    "HtmlOf",
    "Renderer",
    "Typed",
    "arendered",
    "drawn",
    "forget",
    "rendered",
    "shut_down",
    "warm_up",
]
