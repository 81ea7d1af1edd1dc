"""Views that show attached files: the viewer of images, and the text of documents.

A text is sent in pieces, since a document may have millions of characters.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.files.blocks import Block, Text, csv_table, split_blocks, whole_blocks_length
from chatapp.files.readers import for_readers
from chatapp.models import Attachment, FileContent, PresetFile

AT_ONCE = 40_000  # characters
SHEET = "Sheet"
CSV = "text/csv"
STRUCTURED = ("text/markdown", "text/html", "application/vnd.")  # of Office and OpenDocument files


class Passage(NamedTuple):
    """A page of a document, or a part of a long one."""

    title: str  # such as "Page 3"; empty if the page began in an earlier piece
    blocks: list[Block]


class FromForm(forms.Form):
    """The piece of a text to show: the position of its first character."""

    begin = forms.IntegerField(min_value=0, max_value=2**31, required=False)


@require_GET
@never_cache
@login_required
def viewer(request: HttpRequest) -> HttpResponse:
    """The dialog that shows images, loaded when it is first opened."""
    return render(request, "files/_viewer.html")


@for_readers
def text(request: HttpRequest, attachment: Attachment | PresetFile) -> HttpResponse:
    """What the model gets of a document: a dialog or a page, or the next piece of its text."""
    content = attachment.content
    if content is None or not content.page_count:
        raise Http404("This file has no text.")
    form = FromForm(request.GET)
    begin = form.cleaned_data["begin"] if form.is_valid() else None
    context = {"file": attachment, "content": content} | _piece(attachment, content, begin or 0)
    if "HX-Request" not in request.headers:
        return render(request, "files/text.html", context)
    return render(request, "files/_document.html" if begin is None else "files/_text.html", context)


def _piece(
    attachment: Attachment | PresetFile, content: FileContent, begin: int
) -> dict[str, object]:
    first, last = attachment.page_range
    if content.kind == FileContent.Kind.SCAN:
        return {"images": content.page_images.all()[first - 1 : last], "passages": [], "more": None}
    passages, end = _passages(content, first, last, begin)
    more = end if end < content.page_ends[last - 1] else None
    return {"images": [], "passages": passages, "more": more}


def _passages(content: FileContent, first: int, last: int, begin: int) -> tuple[list[Passage], int]:
    """Return what to show of these pages from this position on, and where it ends."""
    starts, ends = [0, *content.page_ends], content.page_ends[:last]
    begin = min(max(begin, starts[first - 1]), ends[-1])
    text = content.text_from(begin, min(_length_at_once(content, begin), ends[-1] - begin))
    if begin + len(text) < ends[-1]:
        text = text[: _length_of_whole(content, text, begin, ends)]
    end = begin + len(text)

    def found() -> Iterator[Passage]:
        at = first - 1 if begin == starts[first - 1] else bisect_right(ends, begin)
        for start, stop in zip(starts[at:], ends[at:], strict=False):
            at += 1
            if start < end or stop == end:
                shown = text[max(start, begin) - begin : stop - begin]
                yield _passage(content, at if start >= begin else 0, shown)

    return list(found()), end


def _length_at_once(content: FileContent, begin: int) -> int:
    """Return how much of a text to load: of tables, which are shown in part, whole pages."""
    page_end = next((end for end in content.page_ends if end > begin), begin)
    return max(AT_ONCE, page_end - begin) if _is_tabular(content) else AT_ONCE


def _length_of_whole(content: FileContent, text: str, begin: int, ends: list[int]) -> int:
    """Return the length of the whole pages in a text, or else of the whole lines, or of all."""
    before = bisect_right(ends, begin + len(text))
    page_end = ends[before - 1] - begin if before else 0
    if page_end > 0:
        return page_end
    whole_blocks = whole_blocks_length(text) if _is_structured(content) else 0
    return whole_blocks or text.rfind("\n") + 1 or len(text)


def _passage(content: FileContent, number: int, text: str) -> Passage:
    """Return what to show of a page; `number` is 0 if the page began earlier."""
    blocks: list[Block] = [Text(text)]
    if _is_structured(content):
        blocks = split_blocks(text)
    elif content.media_type == CSV and (table := csv_table(text)):
        blocks = [table]
    title = f"{content.unit} {number}" if content.unit and number else ""
    if content.unit == SHEET and blocks and blocks[0].kind == "heading":
        title = ""  # the sheet's name is the title
    return Passage(title, blocks)


def _is_tabular(content: FileContent) -> bool:
    return content.unit == SHEET or content.media_type == CSV


def _is_structured(content: FileContent) -> bool:
    """Whether its text is Markdown: what was read of an Office file or a web page, too."""
    return content.media_type.startswith(STRUCTURED)
