"""Stores what was read of a person's files: texts, images, and the pictures in documents."""

from collections.abc import Collection, Iterable, Sequence
from io import BufferedIOBase, BytesIO
from itertools import accumulate

from django.db import transaction

from chatapp.documents import Document, LeftOut, Picture, PlacedPicture, Scan
from chatapp.models import FileContent, PageImage, StoredFile


def store_result(
    result: Document | Picture | Scan, file: BufferedIOBase, owner: int
) -> FileContent:
    """Store what was read of a file, and a document itself. Raises `OSError`."""
    match result:
        case Picture():
            return _store_picture(result, owner)
        case Document():
            return _store_document(result, file, owner)
        case Scan():
            return _store_scan(result, file, owner)


def store_pages(content: FileContent, pages: Collection[PlacedPicture], owner: int) -> None:
    """Store more pages of a person's scan. Raises `OSError`."""
    images = [_store_page_image(page.picture, owner) for page in pages]
    for page, image in zip(pages, images, strict=True):
        image.position = page.page
    _add_images(content, images)


def _store_picture(picture: Picture, owner: int) -> FileContent:
    thumbnail = StoredFile.store_file(BytesIO(picture.thumbnail), owner)
    file = StoredFile.store_file(BytesIO(picture.data), owner)
    return _store_content(
        file,
        (),
        kind=FileContent.Kind.IMAGE,
        label=picture.media_type.partition("/")[2].upper(),
        media_type=picture.media_type,
        width=picture.width,
        height=picture.height,
        thumbnail=thumbnail if thumbnail != file else None,
        left_out=_counts(picture.left_out),
    )


def _store_document(document: Document, file: BufferedIOBase, owner: int) -> FileContent:
    pictures = [_store_page_image(picture.picture, owner) for picture in document.pictures]
    for position, (image, placed_picture) in enumerate(
        zip(pictures, document.pictures, strict=True)
    ):
        image.position, image.page, image.offset = (
            position,
            placed_picture.page,
            placed_picture.offset,
        )
    return _store_content(
        StoredFile.store_file(file, owner),
        pictures,
        kind=FileContent.Kind.DOCUMENT,
        label=document.kind,
        media_type=document.media_type,
        text="".join(document.pages),
        page_ends=list(accumulate(map(len, document.pages))),
        unit=document.unit,
        left_out=_counts(document.left_out),
    )


def _store_scan(scan: Scan, file: BufferedIOBase, owner: int) -> FileContent:
    pages = [_store_page_image(page, owner) for page in scan.pages]
    for position, page in enumerate(pages):
        page.position = position
    return _store_content(
        StoredFile.store_file(file, owner),
        pages,
        kind=FileContent.Kind.SCAN,
        label=scan.kind,
        media_type=scan.media_type,
        page_ends=[0] * scan.page_count,
        unit="Page",
        left_out=_counts(scan.left_out),
    )


def _store_page_image(picture: Picture, owner: int) -> PageImage:
    """Store the bytes of a picture; the row that refers to them has neither content nor place."""
    return PageImage(
        file=StoredFile.store_file(BytesIO(picture.data), owner),
        media_type=picture.media_type,
        width=picture.width,
        height=picture.height,
    )


def _add_images(content: FileContent, images: Sequence[PageImage]) -> None:
    for image in images:
        image.content = content
    PageImage.objects.bulk_create(images, ignore_conflicts=True)


def _counts(left_out: Iterable[LeftOut]) -> list[tuple[str, int]] | None:
    return [(part.what, part.count) for part in left_out] or None


@transaction.atomic  # nobody finds a document without its pictures
def _store_content(
    file: StoredFile, pictures: Sequence[PageImage], **fields: object
) -> FileContent:
    content, is_new = FileContent.objects.get_or_create(file=file, defaults=fields)
    if is_new:
        _add_images(content, pictures)
    return content
