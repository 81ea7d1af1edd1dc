"""A whole text as HTML."""

from django.utils.safestring import SafeString, mark_safe

from .block_html import block_html
from .blocks import split
from .characters import clean
from .definitions import Definitions


def render(text: str) -> SafeString:
    """The text as `<div class="block">…</div>`, one for each top-level block."""
    blocks, definitions = split(clean(text)), Definitions()
    for block in blocks:
        definitions.learn(block)
    html = (block_html(block, definitions.used_in(block.source)) for block in blocks)
    return mark_safe("".join(html))  # noqa: S308 — each block comes out of nh3 or is escaped
