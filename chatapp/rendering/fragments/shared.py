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
from chatapp.rendering.fragments.replies import CallRegion, Region, ReplyView, key_of, typed_html
from chatapp.rendering.fragments.shared_calls import call_for_readers
from chatapp.rendering.fragments.swaps import ENDING, swap
from chatapp.rendering.pool import HtmlOf

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
    """What is shown besides prompts and answers. A `SharedChat` is one."""

    shows_reasoning: bool
    shows_tools: bool
    shows_files: bool
    shows_author: bool


def shared_html(messages: Sequence[Message], html_of: HtmlOf, parts: ShownParts) -> SafeString:
    """Return messages for the readers of a shared chat."""
    drawn = (_message_html(message, html_of, parts) for message in messages)
    return mark_safe("".join(drawn))  # noqa: S308 - rendered templates


def _message_html(message: Message, html_of: HtmlOf, parts: ShownParts) -> SafeString:
    if message.is_prompt:
        context = {"message": message, "html": typed_html(message, html_of), "parts": parts}
        return draw("sharing/_prompt.html", context)
    return shared_reply_html(ReplyView.of(message, html_of), parts)


def shared_reply_html(view: ReplyView, parts: ShownParts) -> SafeString:
    regions = shown_regions(view.regions, parts)
    context = {"reply": view, "message": view.message, "regions": regions, "parts": parts}
    return draw("sharing/_reply.html", context)


def shown_regions(
    regions: Iterable[Region | CallRegion], parts: ShownParts
) -> list[Region | CallRegion]:
    shown = shown_names(parts)
    return [region for region in regions if region.name in shown]


def shown_names(parts: ShownParts) -> frozenset[str]:
    """Return the names of the regions that are shown."""
    names = {"answer", "refusal"}
    if parts.shows_reasoning:
        names.add("reasoning")
    if parts.shows_tools:
        names.add(CALL)
    return frozenset(names)


def named_region(message: Message, name: str, html: str) -> str:
    """Append a region to a reply, with its name for `for_readers`."""
    target = f'append target:#b{key_of(message)}" data-region="{name}"'
    return f"{_OPENING}{target}>{html}{ENDING}"


def shared_snapshot(view: ReplyView) -> str:
    """Replace all regions of a reply by those of now. `for_readers` leaves out what is hidden."""
    message = view.message
    empty = swap("innerHTML", f"#b{key_of(message)}")
    return empty + "".join(
        named_region(message, one.name, draw("sharing/_region.html", _context(view, one)))
        for one in view.regions
    )


def _context(view: ReplyView, region: Region | CallRegion) -> dict[str, object]:
    return {"reply": view, "message": view.message, "region": region}


def for_readers(frame: str, names: frozenset[str]) -> str:
    """Return the fragments of a reply's frame that change regions with these names.

    Everything else is left out, also the buttons of tool calls. A frame is a sequence of templates
    that this package made, and none of them contains another.
    """
    return "".join(_for_readers(part, names) for part in _templates(frame))


def _templates(frame: str) -> Iterator[str]:
    start = 0
    while frame.startswith(_OPENING, start):
        end = frame.find(ENDING, start)
        if end < 0:
            return
        end += len(ENDING)
        yield frame[start:end]
        start = end


def _for_readers(part: str, names: frozenset[str]) -> str:
    """Return what readers may get of a template; empty if nothing."""
    if found := _OF_TEXT.match(part, len(_OPENING)):
        return part if _REGIONS[found["region"]] in names else ""
    if found := _OF_REGION.match(part, len(_OPENING)):
        if (name := found["name"]) not in names:
            return ""
        return _call(part, found.end()) if name == CALL else part
    if found := _OF_CALL.match(part, len(_OPENING)):
        return _call(part, found.end()) if CALL in names else ""
    return part if _OF_ALL.fullmatch(part, len(_OPENING)) else ""


def _call(part: str, start: int) -> str:
    """Return a template whose content, which begins at `start`, is a tool call or a part of one."""
    return part[:start] + call_for_readers(part[start : -len(ENDING)]) + ENDING


def shared_title_fragment(title: str) -> str:
    """Update the title on readers' pages."""
    return swap("innerHTML", "#title", escape(title))


def shared_thread_fragment(page: ThreadPage, html: str) -> str:
    """Replace the messages on a reader's page, or append to them if these follow."""
    head = f' data-head="{page.head.pk}" data-ending="{page.ending}"' if page.head else ""
    if not page.follows:
        thread = draw("sharing/_thread.html", {"view": page, "thread": html})
        return f'{_OPENING}innerHTML target:#messages"{head}>{thread}{ENDING}'
    gone = [swap("delete", f"#{'m' if one.is_prompt else 'reply'}-{one.pk}") for one in page.shown]
    return f'{"".join(gone)}{_OPENING}append target:#messages"{head}>{html}{ENDING}'
