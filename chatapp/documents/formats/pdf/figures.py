"""Finds the images on a PDF's page that are worth to be seen: figures and photos, but neither
logos nor what lies behind the text, such as a scan whose text was recognised."""

from collections.abc import Iterable, Iterator
from ctypes import c_uint
from typing import NamedTuple

import PIL.Image
import pypdfium2
import pypdfium2.raw as pdfium

from .boxes import Box, Corners, turn_corners

MIN_SHARE = 0.025  # of the page
MIN_SIDE = 36.0  # points
MAX_TEXT = 200  # characters within an image, such as labels; more are in front of a background
MAX_IMAGES = 500  # of a page; some programs cut images into strips
MAX_DEPTH = 8
TOUCH = 2.0  # points between strips
KINDS = (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM)


class Figure(NamedTuple):
    """An image, or several that touch each other. The same one again has the same identity."""

    box: Box
    identity: tuple[int, ...]


def find_figures(page: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage) -> list[Figure]:
    """Return the figures of a page, from the top."""
    edges = Box(*page.get_bbox())
    min_area = MIN_SHARE * _area(edges)
    images = [each for each in _images(page, edges) if not _is_background(each, text, min_area)]
    figures = [
        figure
        for figure in _join(images)
        if _area(figure.box) >= min_area
        and min(_width(figure.box), _height(figure.box)) >= MIN_SIDE
        and not _is_background(figure, text, min_area)
    ]
    return sorted(figures, key=lambda figure: (-figure.box.top, figure.box.left))


def _is_background(figure: Figure, text: pypdfium2.PdfTextPage, min_area: float) -> bool:
    if _area(figure.box) < min_area:
        return False
    return len("".join(text.get_text_bounded(*figure.box).split())) > MAX_TEXT


def draw_figure(page: pypdfium2.PdfPage, box: Box, side: int, max_scale: float) -> PIL.Image.Image:
    """Draw a part of the page, with what lies in front of it."""
    turn = 4 - page.get_rotation() // 90
    edges, part = turn_corners(page.get_bbox(), turn), turn_corners(box, turn)
    crop = tuple(
        max(0.0, (inner - outer) * sign)
        for inner, outer, sign in zip(part, edges, (1, 1, -1, -1), strict=True)
    )
    scale = min(side / max(_width(box), _height(box), 1.0), max_scale)
    image: PIL.Image.Image = page.render(scale=scale, crop=crop, rev_byteorder=True).to_pil()
    return image


def _images(page: pypdfium2.PdfPage, edges: Box) -> Iterator[Figure]:
    """Yield the images on the page, cut at its edges."""
    count = 0
    for image, corners in _walk(page, page.raw, MAX_DEPTH):
        box = _common(Box(*corners), edges)
        if box.left < box.right and box.bottom < box.top:
            yield Figure(box, (*_pixels(image), *map(round, box)))
            count += 1
        if count >= MAX_IMAGES:
            return


def _walk(
    page: pypdfium2.PdfPage, container: object, depth: int
) -> Iterator[tuple[object, Corners]]:
    """Yield the image objects of a page or a group of objects with their places in it."""
    is_page = container is page.raw
    count_objects = pdfium.FPDFPage_CountObjects if is_page else pdfium.FPDFFormObj_CountObjects
    get_object = pdfium.FPDFPage_GetObject if is_page else pdfium.FPDFFormObj_GetObject
    for index in range(count_objects(container)):
        each = get_object(container, index)
        kind = pdfium.FPDFPageObj_GetType(each)
        if kind not in KINDS:
            continue
        page_object = pypdfium2.PdfObject(each, page=page, pdf=page.pdf)
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
            yield each, page_object.get_bounds()
        elif depth:
            matrix = page_object.get_matrix()
            for image, corners in _walk(page, each, depth - 1):
                yield image, matrix.on_rect(*corners)


def _pixels(image: object) -> tuple[int, ...]:
    width, height = c_uint(), c_uint()
    pdfium.FPDFImageObj_GetImagePixelSize(image, width, height)
    return width.value, height.value, pdfium.FPDFImageObj_GetImageDataRaw(image, None, 0)


def _join(images: Iterable[Figure]) -> list[Figure]:
    """Join images that touch each other. The strips of an image come one after the other."""
    joined: list[Figure] = []
    for image in images:
        while joined and _touch(joined[-1].box, image.box):
            last = joined.pop()
            image = Figure(_hull(last.box, image.box), last.identity)
        joined.append(image)
    return joined


def _touch(box: Box, other: Box) -> bool:
    common = _common(box, other)
    return common.left - common.right <= TOUCH and common.bottom - common.top <= TOUCH


def _common(box: Box, other: Box) -> Box:
    return Box(*map(max, box[:2], other[:2]), *map(min, box[2:], other[2:]))


def _hull(box: Box, other: Box) -> Box:
    return Box(*map(min, box[:2], other[:2]), *map(max, box[2:], other[2:]))


def _area(box: Box) -> float:
    return _width(box) * _height(box)


def _width(box: Box) -> float:
    return box.right - box.left


def _height(box: Box) -> float:
    return box.top - box.bottom
