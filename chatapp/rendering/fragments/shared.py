"""Shared chats as HTML: the same regions as on the chat page, without its actions.

What a link does not show is left out here, before anything is drawn.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from django.utils.safestring import SafeString, mark_safe
from markupsafe import escape

from chatapp.models import Message, ThreadPage
from chatapp.rendering.fragments.environment import draw
from chatapp.rendering.fragments.replies import (
    CallRegion,
    Region,
    ReplyView,
    get_element_key,
    typed_html,
)
from chatapp.rendering.fragments.shared_calls import clean_call
from chatapp.rendering.fragments.swaps import ENDING, swap
from chatapp.rendering.pool import GetHtml

CALL = "tool-call"
# The beginnings of the fragments that readers may get: those that add to the text of a region or
# replace its summary, add a region, change a tool call, or remove all. See `RegionFragments`.
_OPENING = '<template hx-swap-oob="'
_OF_TEXT = re.compile(
    r"(?:append|outerHTML) target:#s?(?P<region>ans|ref|rea)[0-9a-f]{8}\d*"
    r'(?:>:last-child|>:nth-child\(\d+\))*(?: strip:true)?">'
)
_OF_REGION = re.compile(r'append target:#b[0-9a-f]{8}" data-region="(?P<name>[a-z-]+)">')
_OF_CALL = re.compile(
    r"(?:append target:#c[0-9a-f]{8}-\d+-\d+(?:-a)?"
    r'|outerHTML target:#c[0-9a-f]{8}-\d+-\d+ strip:true)">'
)
_OF_ALL = re.compile(r'innerHTML target:#b[0-9a-f]{8}"></template>')
_REGIONS = {"ans": "answer", "ref": "refusal", "rea": "reasoning"}


class ShownParts(Protocol):
    """The parts that are shown besides prompts and answers. A `SharedChat` is one."""

    shows_reasoning: bool
    shows_tools: bool
    shows_files: bool
    shows_author: bool


def shared_html(messages: Sequence[Message], get_html: GetHtml, parts: ShownParts) -> SafeString:
    """Return messages for the readers of a shared chat."""
    messages_html = (_message_html(message, get_html, parts) for message in messages)
    return mark_safe("".join(messages_html))  # noqa: S308 - rendered templates


def _message_html(message: Message, get_html: GetHtml, parts: ShownParts) -> SafeString:
    if message.is_prompt:
        context = {"message": message, "html": typed_html(message, get_html), "parts": parts}
        return draw("sharing/_prompt.html", context)
    return shared_reply_html(ReplyView.of(message, get_html), parts)


def shared_reply_html(view: ReplyView, parts: ShownParts) -> SafeString:
    regions = filter_regions(view.regions, parts)
    context = {"reply": view, "message": view.message, "regions": regions, "parts": parts}
    return draw("sharing/_reply.html", context)


def filter_regions(
    regions: Iterable[Region | CallRegion], parts: ShownParts
) -> list[Region | CallRegion]:
    names = name_shown_regions(parts)
    return [region for region in regions if region.name in names]


def name_shown_regions(parts: ShownParts) -> frozenset[str]:
    """Return the names of the regions that are shown."""
    names = {"answer", "refusal"}
    if parts.shows_reasoning:
        names.add("reasoning")
    if parts.shows_tools:
        names.add(CALL)
    return frozenset(names)


def named_region(message: Message, name: str, html: str) -> str:
    """Append a region to a reply, with its name for `filter_for_readers`."""
    target = f'append target:#b{get_element_key(message)}" data-region="{name}"'
    return f"{_OPENING}{target}>{html}{ENDING}"


def shared_snapshot(view: ReplyView) -> str:
    """Replace all regions of a reply by current ones. `filter_for_readers` omits hidden ones."""
    message = view.message
    empty = swap("innerHTML", f"#b{get_element_key(message)}")
    return empty + "".join(
        named_region(message, region.name, draw("sharing/_region.html", _context(view, region)))
        for region in view.regions
    )


def _context(view: ReplyView, region: Region | CallRegion) -> dict[str, object]:
    return {"reply": view, "message": view.message, "region": region}


def filter_for_readers(frame: str, names: frozenset[str]) -> str:
    """Return the fragments of a reply's frame that change regions with these names.

    Everything else is left out, also the buttons of tool calls. A frame is a sequence of templates
    that this package made, and none of them contains another.
    """
    return "".join(_filter_fragment(part, names) for part in _templates(frame))


def _templates(frame: str) -> Iterator[str]:
    start = 0
    while frame.startswith(_OPENING, start):
        end = frame.find(ENDING, start)
        if end < 0:
            return
        end += len(ENDING)
        yield frame[start:end]
        start = end


def _filter_fragment(part: str, names: frozenset[str]) -> str:
    """Return what readers may get of a template; empty if nothing."""
    if match := _OF_TEXT.match(part, len(_OPENING)):
        return part if _REGIONS[match["region"]] in names else ""
    if match := _OF_REGION.match(part, len(_OPENING)):
        if (name := match["name"]) not in names:
            return ""
        return _call(part, match.end()) if name == CALL else part
    if match := _OF_CALL.match(part, len(_OPENING)):
        return _call(part, match.end()) if CALL in names else ""
    return part if _OF_ALL.fullmatch(part, len(_OPENING)) else ""


def _call(part: str, start: int) -> str:
    """Return a template whose content, which begins at `start`, is a tool call or a part of one."""
    return part[:start] + clean_call(part[start : -len(ENDING)]) + ENDING


def shared_title_fragment(title: str) -> str:
    """Update the title on readers' pages."""
    return swap("innerHTML", "#title", escape(title))


def shared_thread_fragment(page: ThreadPage, html: str) -> str:
    """Replace the messages on a reader's page, or append to them if these follow."""
    head = f' data-head="{page.head.pk}" data-ending="{page.ending}"' if page.head else ""
    if not page.follows:
        thread = draw("sharing/_thread.html", {"view": page, "thread": html})
        return f'{_OPENING}innerHTML target:#messages"{head}>{thread}{ENDING}'
    gone = [
        swap("delete", f"#{'m' if message.is_prompt else 'reply'}-{message.pk}")
        for message in page.visible_messages
    ]
    return f'{"".join(gone)}{_OPENING}append target:#messages"{head}>{html}{ENDING}'
