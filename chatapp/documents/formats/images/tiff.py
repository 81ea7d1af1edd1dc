"""TIFF: one picture, or the pages of a scan or a fax."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from PIL import Image

from chatapp.documents import refusals
from chatapp.documents.results import Limits, Picture, PlacedPicture, Scan

from . import images

KIND, MEDIA_TYPE = "TIFF", "image/tiff"
SUBFILE_TYPE, SUB_DIRECTORIES, DNG_VERSION = 0x00FE, 0x014A, 0xC612  # tags
REDUCED, MASK = 1, 4  # bits of `SUBFILE_TYPE`


def read(file: BinaryIO, limits: Limits) -> Picture | Scan:
    image = images.open_image(file.read(), limits)
    if _is_raw(image):
        raise refusals.outdated("RAW photo", ".jpg")
    try:
        pages = list(_page_indexes(image, limits))
        pictures = [_page(image, index, limits) for index in pages[: limits.pictures]]
    except (OSError, SyntaxError, ValueError) as error:
        raise refusals.damaged(KIND) from error
    if len(pages) == 1:
        return pictures[0]
    return Scan(MEDIA_TYPE, KIND, tuple(pictures), len(pages))


def draw_pages(file: BinaryIO, limits: Limits, indices: Sequence[int]) -> tuple[PlacedPicture, ...]:
    """Return pictures of these pages; the first is 0."""
    image = images.open_image(file.read(), limits)
    pages = list(_page_indexes(image, limits))
    return tuple(PlacedPicture(index, 0, _page(image, pages[index], limits)) for index in indices)


def _is_raw(image: Image.Image) -> bool:
    """Return whether only a preview in it is a picture that a TIFF reader decodes."""
    tags = image.getexif()
    return DNG_VERSION in tags or (SUB_DIRECTORIES in tags and tags.get(SUBFILE_TYPE) == REDUCED)


def _page_indexes(image: Image.Image, limits: Limits) -> Iterator[int]:
    """Yield the indexes of the images that are pages, rather than previews or masks of one."""
    count: int = getattr(image, "n_frames", 1)
    if count > limits.pages:
        raise refusals.too_many_pages(count, limits.pages, "Page")
    for index in range(count):
        image.seek(index)
        if not index or not image.getexif().get(SUBFILE_TYPE, 0) & (REDUCED | MASK):
            yield index


def _page(image: Image.Image, index: int, limits: Limits) -> Picture:
    image.seek(index)
    images.check_size(image, limits)
    return images.picture(image, limits)
