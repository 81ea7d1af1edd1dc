"""Positions of the text on a PDF's page, so that people can select it on the page's picture."""

from collections.abc import Iterable, Iterator
from ctypes import byref, c_int
from itertools import islice
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from chatapp.documents.formats.output.pages import clean_text
from chatapp.documents.results import Run

from . import right_to_left

MAX_CHARACTERS = 20_000  # of a page
MAX_RUNS, MAX_RUN_LENGTH = 5_000, 1_000
LINE_ENDS = "\r\n"


class Character(NamedTuple):
    """A character and its box, in the page's own units, from the bottom left."""

    text: str
    left: float
    bottom: float
    right: float
    top: float


def text_runs(page: pypdfium2.PdfPage, width: int, height: int) -> Iterator[Run]:
    """Yield the text of a page with its places in a picture of this size."""
    characters = islice(_characters(page.get_textpage()), MAX_CHARACTERS)
    for run in islice(_split_runs(characters), MAX_RUNS):
        text = _text(run)[:MAX_RUN_LENGTH]
        corner = _place(page, width, height, min(c.left for c in run), min(c.bottom for c in run))
        opposite = _place(page, width, height, max(c.right for c in run), max(c.top for c in run))
        (left, right), (top, bottom) = map(sorted, zip(corner, opposite, strict=True))
        if text and left < right and top < bottom:
            yield Run(text, left, top, right - left, bottom - top)


def _characters(text: pypdfium2.PdfTextPage) -> Iterator[Character]:
    for i in range(text.count_chars()):
        code = pdfium.FPDFText_GetUnicode(text, i)
        try:
            yield Character(chr(code), *text.get_charbox(i, loose=True))
        except (pypdfium2.PdfiumError, ValueError):  # it has no place, or is no character
            continue


def _split_runs(characters: Iterable[Character]) -> Iterator[list[Character]]:
    """Yield the characters that stand next to each other on a line."""
    run: list[Character] = []
    for character in characters:
        if run and not _follows(character, run[-1]):
            yield run
            run = []
        if character.text not in LINE_ENDS:
            run.append(character)
    if run:
        yield run


def _follows(character: Character, last: Character) -> bool:
    height = max(last.top - last.bottom, character.top - character.bottom)
    is_on_line = character.bottom < last.top and last.bottom < character.top
    is_near = max(character.left - last.right, last.left - character.right) < height
    return character.text not in LINE_ENDS and is_on_line and is_near


def _text(run: Iterable[Character]) -> str:
    text = "".join(character.text for character in run)
    if right_to_left.has_letters(text):
        text = right_to_left.in_reading_order((each.text, each.left) for each in run)
    return clean_text(text).replace("\n", " ").strip()


def _place(page: pypdfium2.PdfPage, width: int, height: int, x: float, y: float) -> tuple[int, int]:
    """Return the pixel at a point of the page, or the nearest one if it is outside."""
    across, down = c_int(), c_int()
    pdfium.FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, byref(across), byref(down))
    return min(max(across.value, 0), width), min(max(down.value, 0), height)
