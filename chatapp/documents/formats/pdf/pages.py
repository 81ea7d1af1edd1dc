"""Collects the pages of a PDF: text, what is laid over it, and pictures of what has no text."""

import time
from collections.abc import Callable

import PIL.Image

from chatapp.documents.formats.images import images
from chatapp.documents.formats.output.pages import Pages, clean_text
from chatapp.documents.results import Limits, PlacedPicture

BLANK_PAGE = "(This page has no text.)"
SHARE_OF_TIME = 0.6  # of the computing that is allowed, after which nothing more is drawn

Draw = Callable[[], PIL.Image.Image]


class Budget:
    """The number of pictures that may still be drawn, and the time left for it."""

    def __init__(self, limits: Limits) -> None:
        self._pictures = limits.pictures
        self._limits = limits
        self._end = time.process_time() + SHARE_OF_TIME * limits.seconds

    @property
    def is_over(self) -> bool:
        return time.process_time() > self._end

    def refuse(self) -> str:
        """Return why no more is drawn, or nothing if it is."""
        if not self._pictures:
            return f"only the first {self._limits.pictures} are sent"
        if self.is_over:
            return "drawing this file takes too long"
        return ""

    def spend(self) -> None:
        self._pictures -= 1


def mark_of_picture_page(index: int) -> str:
    return f"[Page {index + 1} is a picture]"


class PicturePages(Pages):
    """Pages whose pictures follow their text."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self._budget = Budget(limits)
        self._page = ""  # what is collected of it so far
        self._figures = 0
        self._placed: list[PlacedPicture] = []

    @property
    def pictures(self) -> tuple[PlacedPicture, ...]:
        return tuple(self._placed)

    def write(self, text: str, separator: str = "\n") -> None:
        text = clean_text(text).strip("\n")
        self._page += separator * bool(self._page and text) + text

    def draw_page(self, draw: Draw) -> None:
        """Write that this page is a picture, and place it, or say why it is left out."""
        number = len(self._texts) + 1
        if reason := self._budget.refuse():
            self.leave_out("page")
            self.write(f"[Page {number} is a picture, which is left out: {reason}]")
        elif (image := _draw_if_possible(draw)) is None:
            self.leave_out("page")
            self.write(f"[Page {number} is a picture, which can't be drawn]")
        elif not _is_of_one_colour(image):
            self._place(mark_of_picture_page(number - 1), image)

    def draw_figure(self, draw: Draw) -> None:
        self._figures += 1
        reason = self._budget.refuse()
        image = None if reason else _draw_if_possible(draw)
        if image is None:
            self.leave_out("picture")
            self.write(f"[Picture {self._figures} is left out: {reason or 'it cannot be drawn'}]")
        else:
            self._place(f"[Picture {self._figures}]", image)

    def end_page(self) -> None:
        self.add(self._page or BLANK_PAGE)
        self._page = ""

    def _place(self, mark: str, image: PIL.Image.Image) -> None:
        self._budget.spend()
        self.write(mark)
        picture = images.encode_image(image, self._limits.image_side, images.JPEG)
        self._placed.append(PlacedPicture(len(self._texts), len(self._page), picture))


def _draw_if_possible(draw: Draw) -> PIL.Image.Image | None:
    try:
        return draw()
    except (RuntimeError, ValueError):  # of PDFium and Pillow
        return None


def _is_of_one_colour(image: PIL.Image.Image) -> bool:
    return image.getcolors(maxcolors=1) is not None
