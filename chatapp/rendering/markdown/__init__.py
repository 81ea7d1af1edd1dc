"""Renders text from people and language models to safe HTML.

`render` takes a whole text; `LiveMarkdown` takes a text that is still being written and returns the
changes that a viewer must apply to its page. Both split the text into the same top-level blocks and
render a block with the same code, so the end of a stream looks exactly like the page when it is
reloaded. `render_typed` takes what a person typed, where only URLs and fenced code have a meaning.

The output contains only what `allowed` lists: no raw HTML from the text, nothing that loads, and
links to http, https and mailto only. `budgets` limits its size. Nothing here does I/O, and no text
makes it raise. Some texts take long to render, so `chatapp.rendering.pool` does that in other
processes.

Imports nothing else of the app.
"""

from .as_typed import render_typed, render_typed_at_once
from .block_html import FULL, PLAIN, RenderOptions, block_html
from .blocks import Block
from .changes import Append, Change, ReplaceBlock, ReplaceLast
from .live import Job, LiveMarkdown, Work
from .whole import render, render_at_once, render_plain

__all__ = [
    "FULL",
    "PLAIN",
    "Append",
    "Block",
    "Change",
    "Job",
    "LiveMarkdown",
    "RenderOptions",
    "ReplaceBlock",
    "ReplaceLast",
    "Work",
    "block_html",
    "render",
    "render_at_once",
    "render_plain",
    "render_typed",
    "render_typed_at_once",
]
