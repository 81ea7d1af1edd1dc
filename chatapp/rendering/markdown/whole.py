"""Renders a whole text to HTML."""

from django.utils.safestring import SafeString, mark_safe

from . import budgets
from .block_html import (
    CLOSING,
    FULL,
    OPENING,
    PLAIN,
    RenderOptions,
    block_html,
    is_heavy,
    plain_html,
)
from .blocks import split
from .characters import clean
from .code import CODE_BEGINS
from .definitions import Definitions, UsedDefinitions

_MAX_LENGTH_AT_ONCE = 4 * 1024  # characters


def render(text: str, options: RenderOptions = FULL) -> SafeString:
    """Render the text to `<div class="block">…</div>`, one for each top-level block."""
    visible_text = clean(text[: budgets.MAX_TEXT_LENGTH])
    blocks, definitions = split(visible_text), Definitions()
    for block in blocks:
        definitions.learn(block)
    used_definitions = UsedDefinitions(definitions)
    html = [block_html(block, used_definitions.for_block(block), options) for block in blocks]
    if len(text) > budgets.MAX_TEXT_LENGTH:
        html.append(TOO_LONG)
    return mark_safe("".join(html))  # noqa: S308 — each block comes out of nh3 or is escaped


def render_at_once(text: str) -> SafeString | None:
    """Render the text if that is sure to be cheap; otherwise return None."""
    if len(text) > _MAX_LENGTH_AT_ONCE or "$" in text or "\\" in text or CODE_BEGINS.search(text):
        return None
    if any(is_heavy(block) for block in split(clean(text))):
        return None
    return render(text, PLAIN)


def render_plain(text: str, notice: str) -> SafeString:
    """Return the text unformatted, below a notice."""
    visible_text = clean(text[: budgets.MAX_TEXT_LENGTH])
    html = OPENING + plain_html(visible_text, notice) + CLOSING
    if len(text) > budgets.MAX_TEXT_LENGTH:
        html += TOO_LONG
    return mark_safe(html)  # noqa: S308 — it is escaped


TOO_LONG = f'{OPENING}<p class="as-written">{budgets.TOO_LONG}</p>{CLOSING}'
