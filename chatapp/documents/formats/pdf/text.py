"""The text of a PDF's page, in reading order.

PDFium returns text in the order in which a page draws it, which is mostly right. Where the boxes of
the text hint at columns drawn row by row or at sideways notes, `reading_order` looks at it closely.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from ctypes import c_double
from math import pi

import pypdfium2
import pypdfium2.raw as pdfium

from chatapp.documents.formats.output.pages import clean_text

from . import reading_order, right_to_left
from .boxes import Box, Corners, turn_corners
from .reading_order import HYPHEN, Piece

MAX_CHARACTERS = 50_000  # of a page whose order is looked at
MAX_BOXES = 3_000
MIN_SPACE = 0.1  # in heights of a line
MIN_NOTE = 40.0  # points
SIDEWAYS = 4.0  # how many times higher than wide a box of sideways text is, at least
PDFIUM_HYPHEN = 2  # where it joins a word that is cut at a line's end; `clean_text` removes it
SPACES = re.compile(r"\s+")
NEWLINES = "\r\n"


def read_text(page: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage) -> str:
    page_text = _with_line_ends(text)
    if right_to_left.has_letters(page_text):
        page_text = right_to_left.in_reading_order(_locate_characters(text))
    elif lines := reading_order.lines_in_order(_pieces_if_out_of_order(page, text)):
        page_text = "\n".join(lines)
    return page_text.strip()


def _with_line_ends(text: pypdfium2.PdfTextPage) -> str:
    """Return the text within the page's edges.

    PDFium joins words without a space there, such as cells of a table, if they are at one height
    and it holds them for lines of their own. It does not in the text that is not cut at the edges,
    which often is the same otherwise.
    """
    bounded: str = text.get_text_bounded()
    whole: str = text.get_text_range().replace(HYPHEN, chr(PDFIUM_HYPHEN))
    if whole == bounded or _without_spaces(whole) != _without_spaces(bounded):
        return bounded
    known_ends = {end for end, _ in _line_ends(bounded)}
    pieces, start = [], 0
    for end, index in _line_ends(whole):
        pieces.append(whole[start:index])
        pieces.append(NEWLINES if end in known_ends else _separator(text, index))
        start = index + len(NEWLINES)
    return "".join([*pieces, whole[start:]])


def _line_ends(text: str) -> Iterator[tuple[int, int]]:
    """Yield how many characters but spaces there are up to each line end, and its index."""
    index = characters = 0
    for line in text.split(NEWLINES)[:-1]:
        index += len(line)
        characters += len(_without_spaces(line))
        yield characters, index
        index += len(NEWLINES)


def _separator(text: pypdfium2.PdfTextPage, index: int) -> str:
    """Return what is between two characters, depending on whether they are next to each other."""
    last, following = (_place(text, place) for place in (index - 1, index + len(NEWLINES)))
    if last.bottom >= following.top or following.bottom >= last.top:
        return NEWLINES
    height = max(last.top - last.bottom, following.top - following.bottom)
    gap = max(following.left - last.right, last.left - following.right)
    return " " if gap > MIN_SPACE * height else ""


def _place(text: pypdfium2.PdfTextPage, index: int) -> Box:
    box = pdfium.FS_RECTF()
    character = pdfium.FPDFText_GetCharIndexFromTextIndex(text, index)
    pdfium.FPDFText_GetLooseCharBox(text, character, box)
    return Box(box.left, box.bottom, box.right, box.top)


def _without_spaces(text: str) -> str:
    return SPACES.sub("", clean_text(text))


def _locate_characters(text: pypdfium2.PdfTextPage) -> Iterator[right_to_left.PlacedCharacter]:
    for i in range(text.count_chars()):
        if code := pdfium.FPDFText_GetUnicode(text, i):
            yield chr(code), text.get_charbox(i)[0]


def _pieces_if_out_of_order(page: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage) -> list[Piece]:
    """Return the pieces of the page's lines, or none if their boxes hint at nothing unusual.

    Pieces replace the whole text, so there are none of a page that is too long for them.
    """
    if text.count_chars() > MAX_CHARACTERS:
        return []
    boxes = list(_boxes(text))
    is_landscape = _are_sideways(boxes)
    upright = [Box(*turn_corners(box, 3)) for box in boxes] if is_landscape else boxes
    has_notes = any(_is_sideways(box) for box in upright)
    if not has_notes and not _have_columns(text, boxes, upright):
        return []
    if is_landscape:
        return _pieces(page, text, _main_turn(text))
    return _pieces(page, text, 0 if has_notes else None)


def _have_columns(
    text: pypdfium2.PdfTextPage, boxes: Sequence[Box], upright: Sequence[Box]
) -> bool:
    """Look at the order of the boxes, which can be of parts of words, so that it only is a hint."""
    if not reading_order.may_be_columns(upright):
        return False
    words = (" ".join(text.get_text_bounded(*box).split()) for box in boxes)
    pieces = [Piece(word, *box) for word, box in zip(words, upright, strict=True)]
    return reading_order.lines_in_order(pieces) is not None


def _are_sideways(boxes: Sequence[Box]) -> bool:
    """Return whether most text is sideways to its paper, as on landscape pages."""
    high = wide = 0
    for left, bottom, right, top in boxes:
        width, height = right - left, top - bottom
        high += height > 2 * width
        wide += width > 2 * height
    return high > max(wide, len(boxes) / 3)


def _is_sideways(box: Box) -> bool:
    height = box.top - box.bottom
    return height > MIN_NOTE and height > SIDEWAYS * (box.right - box.left)


def _boxes(text: pypdfium2.PdfTextPage) -> Iterator[Box]:
    """Yield the boxes of text that is drawn as one, which are much fewer than characters."""
    handle = text.raw  # looked up once
    left, top, right, bottom = (c_double() for _ in range(4))
    for i in range(min(text.count_rects(), MAX_BOXES)):
        if pdfium.FPDFText_GetRect(handle, i, left, top, right, bottom):
            yield Box(left.value, bottom.value, right.value, top.value)


def _main_turn(text: pypdfium2.PdfTextPage) -> int:
    """Return by how many quarters of a circle most characters are turned."""
    turns = Counter(
        _turn(text, i)
        for i in range(text.count_chars())
        if not pdfium.FPDFText_IsGenerated(text, i)
    )
    return max(turns, key=turns.__getitem__, default=0)


def _turn(text: pypdfium2.PdfTextPage, index: int) -> int:
    angle: float = pdfium.FPDFText_GetCharAngle(text, index)
    return round(angle / (pi / 2)) % 4


def _pieces(page: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage, turn: int | None) -> list[Piece]:
    """Return the pieces of lines if the page is turned so; without a turn all text is upright."""
    pieces: list[Piece] = []
    run = Run()
    for character, own_turn, box in _characters(page, text, turn is not None):
        is_sideways = own_turn != (turn or 0)
        box = turn_corners(box, turn) if turn and box else box
        if character in NEWLINES or not run.is_followed_by(box, is_sideways):
            pieces += run.pieces()
            run = Run()
        if character not in NEWLINES:
            run.add(character, box, is_sideways)
    return [*pieces, *run.pieces()]


def _characters(
    page: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage, has_turns: bool
) -> Iterator[tuple[str, int, Corners | None]]:
    """Yield the characters within the page's edges, their turns and, but for spaces, places."""
    left, bottom, right, top = page.get_bbox()
    box, turn = pdfium.FS_RECTF(), 0
    handle = text.raw  # looked up once
    for i in range(text.count_chars()):
        code = pdfium.FPDFText_GetUnicode(handle, i)
        character = HYPHEN if code == PDFIUM_HYPHEN else chr(code)
        if character.isspace():
            yield character, turn, None
        elif code and pdfium.FPDFText_GetLooseCharBox(handle, i, box):
            turn = _turn(text, i) if has_turns else 0
            place: Corners = (box.left, box.bottom, box.right, box.top)
            if left <= place[0] <= right and bottom <= place[1] <= top:
                yield character, turn, place


class Run:
    """Characters that stand next to each other."""

    def __init__(self) -> None:
        self._characters: list[str] = []
        self._boxes: list[Corners] = []
        self._is_sideways = False

    def add(self, character: str, box: Corners | None, is_sideways: bool) -> None:
        self._characters.append(character)
        if box is not None:
            self._boxes.append(box)
            self._is_sideways = is_sideways

    def is_followed_by(self, box: Corners | None, is_sideways: bool) -> bool:
        if box is None or not self._boxes:
            return True
        if is_sideways or self._is_sideways:
            return is_sideways == self._is_sideways
        _, last_bottom, last_right, last_top = self._boxes[-1]
        left, bottom, _, top = box
        height = max(last_top - last_bottom, top - bottom)
        is_on_line = bottom < last_top and last_bottom < top
        return is_on_line and -height <= left - last_right < reading_order.MIN_GAP * height

    def pieces(self) -> Iterator[Piece]:
        if self._boxes:
            text = " ".join("".join(self._characters).split())
            lefts, bottoms, rights, tops = zip(*self._boxes, strict=True)
            yield Piece(text, min(lefts), min(bottoms), max(rights), max(tops), self._is_sideways)
