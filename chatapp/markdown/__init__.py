"""Text from people and language models in, safe HTML out: the one renderer.

`render` takes a whole text; `LiveMarkdown` takes a text that is still being written and says what
a viewer must do to its page. Both cut the text into the same top-level blocks and render a block
with the same code, so a stream's end looks exactly like the page that is loaded afterwards.

What comes out holds no more than `allowed` lists: no raw HTML from the text, nothing that loads,
and links to http, https and mailto alone. Nothing here does I/O, and no text makes it raise.
"""

from .changes import Append, Change, ReplaceAll, ReplaceBlock, ReplaceLast
from .live import LiveMarkdown
from .whole import render

__all__ = [
    "Append",
    "Change",
    "LiveMarkdown",
    "ReplaceAll",
    "ReplaceBlock",
    "ReplaceLast",
    "render",
]
