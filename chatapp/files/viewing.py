"""Views that show attached files: the viewer of images, the text of documents, pages of PDFs.

A text is sent in pieces, since a document may have millions of characters.
"""

import asyncio
import logging
from base64 import b64encode
from bisect import bisect_right
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.documents import DrawnPage, Unreadable
from chatapp.files import drawn_pages
from chatapp.files.blocks import (
    Block,
    Figure,
    PlacedFigure,
    Text,
    csv_table,
    cut_at_figures,
    split_blocks,
    whole_blocks_length,
)
from chatapp.files.readers import for_readers
from chatapp.models import Attachment, FileContent, PresetFile, User
from chatapp.rendering.fragments.environment import draw

logger = logging.getLogger(__name__)

AT_ONCE = 40_000  # characters
PAGES_AT_ONCE = 20
MAX_DRAWING_SECONDS = 30.0  # until only the text of a page is shown
SHEET = "Sheet"
CSV = "text/csv"
PDF = "application/pdf"
MAILS = ("message/rfc822", "application/vnd.ms-outlook")
UNSTRUCTURED = ("text/plain", "text/xml", CSV, PDF, *MAILS)


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
    """Show a document as the model gets it: a dialog or a page, or the next piece of its text."""
    content = attachment.content
    if content is None or not content.page_count:
        raise Http404("This file has no text.")
    form = FromForm(request.GET)
    begin = form.cleaned_data["begin"] if form.is_valid() else None
    is_in_dialog = "HX-Request" in request.headers
    piece: dict[str, object] = {"images": [], "drawn": [], "passages": [], "more": None}
    piece["missing"] = ""
    if is_in_dialog and _is_drawn(request, attachment, content):
        piece |= _drawn_piece(attachment, content, begin or 0)
    else:
        piece |= _piece(attachment, content, begin or 0)
    context = {"file": attachment, "content": content} | piece
    if not is_in_dialog:
        return render(request, "files/text.html", context)
    return render(request, "files/_document.html" if begin is None else "files/_text.html", context)


@for_readers
def drawn_page(
    request: HttpRequest, attachment: Attachment | PresetFile, number: int
) -> HttpResponseBase:
    """A page of a PDF as people see it; only its text if it can't be drawn."""
    file, content = attachment.file, attachment.content
    first, last = attachment.page_range
    if not (file and content and _is_drawn(request, attachment, content)):
        raise Http404("This file is not drawn.")
    if not first <= number <= last:
        raise Http404("This page is not sent.")
    begin, end = [0, *content.page_ends][number - 1 : number + 1]
    context = {"number": number, "text": content.text_from(begin, end - begin)}
    assert isinstance(request.user, User)
    drawing = drawn_pages.draw_page(file, number - 1, request.user.pk)
    return StreamingHttpResponse(_drawn_html(drawing, context))


async def _drawn_html(
    drawing: "Future[DrawnPage]", context: dict[str, object]
) -> AsyncIterator[bytes]:
    try:
        page = await asyncio.wait_for(asyncio.wrap_future(drawing), MAX_DRAWING_SECONDS)
        data = await asyncio.to_thread(b64encode, page.picture.data)
        context = {"page": page, "data": data.decode()} | context
    except (Unreadable, OSError) as error:  # or it takes too long
        logger.warning("A page of a PDF was not drawn: %s", error)
        context = {"page": None} | context
    html = await asyncio.to_thread(draw, "files/_drawn_page.html", context)
    yield html.encode()


def _is_drawn(request: HttpRequest, file: Attachment | PresetFile, content: FileContent) -> bool:
    """Whether the reader sees the pages of a file: its owner does, reviewers read its text."""
    is_own = isinstance(file, Attachment) and file.user_id == request.user.pk
    is_text = content.kind == FileContent.Kind.DOCUMENT
    return is_own and is_text and content.media_type == PDF


def _drawn_piece(
    attachment: Attachment | PresetFile, content: FileContent, begin: int
) -> dict[str, object]:
    first, last = attachment.page_range
    start = max(bisect_right(content.page_ends, begin) + 1, first)
    end = min(start + PAGES_AT_ONCE - 1, last)
    more = content.page_ends[end - 1] if end < last else None
    return {"drawn": range(start, end + 1), "more": more}


def _piece(
    attachment: Attachment | PresetFile, content: FileContent, begin: int
) -> dict[str, object]:
    first, last = attachment.page_range
    if content.kind == FileContent.Kind.SCAN:
        pages = content.page_images.filter(position__gte=first - 1, position__lt=last)
        page_images = list(pages[: settings.CHATAPP_SCANNED_PAGES])
        return {"images": page_images, "missing": content.pages_not_sent(first, last, page_images)}
    passages, end = _passages(content, first, last, begin)
    more = end if end < content.page_ends[last - 1] else None
    return {"passages": passages, "more": more}


def _passages(content: FileContent, first: int, last: int, begin: int) -> tuple[list[Passage], int]:
    """Return what to show of these pages from this position on, and where it ends."""
    starts, ends = [0, *content.page_ends], content.page_ends[:last]
    begin = min(max(begin, starts[first - 1]), ends[-1])
    text = content.text_from(begin, min(_length_at_once(content, begin), ends[-1] - begin))
    if begin + len(text) < ends[-1]:
        text = text[: _length_of_whole(content, text, begin, ends)]
    end = begin + len(text)
    figures = _figures(content)

    def build_passages() -> Iterator[Passage]:
        at = first - 1 if begin == starts[first - 1] else bisect_right(ends, begin)
        for start, stop in zip(starts[at:], ends[at:], strict=False):
            at += 1
            if start < end or stop == end:
                passage_start = max(start, begin)
                passage_text = text[passage_start - begin : stop - begin]
                passage_figures = [
                    (position - passage_start, figure)
                    for position, figure in figures
                    if passage_start < position <= passage_start + len(passage_text)
                ]
                yield _passage(content, at if start >= begin else 0, passage_text, passage_figures)

    return list(build_passages()), end


def _figures(content: FileContent) -> list[PlacedFigure]:
    """Return the pictures of a document with their places in its text."""
    starts = [0, *content.page_ends]
    pictures = content.page_images.filter(page__isnull=False)
    return [
        (
            starts[picture.page_number - 1] + picture.offset,
            Figure(picture.position, picture.width, picture.height),
        )
        for picture in pictures
    ]


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


def _passage(
    content: FileContent, number: int, text: str, figures: Sequence[PlacedFigure]
) -> Passage:
    """Return what to show of a page; `number` is 0 if the page began earlier."""
    blocks: list[Block] = []
    for piece, following in cut_at_figures(text, figures):
        blocks += [*_blocks(content, piece), *following]
    title = f"{content.unit} {number}" if content.unit and number else ""
    if content.unit == SHEET and blocks and blocks[0].kind == "heading":
        title = ""  # the sheet's name is the title
    return Passage(title, blocks)


def _blocks(content: FileContent, text: str) -> Sequence[Block]:
    if _is_structured(content):
        return split_blocks(text)
    if content.media_type == CSV and (table := csv_table(text)):
        return [table]
    return [Text(text)]


def _is_tabular(content: FileContent) -> bool:
    return content.unit == SHEET or content.media_type == CSV


def _is_structured(content: FileContent) -> bool:
    """Whether its text is Markdown: what was read of an Office file or a web page, too."""
    return content.media_type not in UNSTRUCTURED
