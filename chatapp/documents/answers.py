"""The subprocess's answer: how it is encoded, how large it may be and what passes as one.

The subprocess may have been taken over by the file it read, so nothing in its answer is trusted.
"""

import logging
from collections.abc import Sequence

import msgspec

from .results import (
    LEFT_OUT,
    Document,
    DrawnPage,
    LeftOut,
    Limits,
    Picture,
    PlacedPicture,
    Result,
    Run,
    Scan,
    Unreadable,
)

logger = logging.getLogger(__name__)

UNCONFINED = 77  # exit status of a subprocess that could not be sandboxed
MAX_SENTENCE_LENGTH = 400
MAX_KIND_LENGTH, MAX_MEDIA_TYPE_LENGTH = 40, 100
MAX_MARK_LENGTH = 100  # of a page that is a picture
UNITS = ("Page", "Slide", "Sheet", "")
IMAGE_SIGNATURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
MAX_THUMBNAIL_BYTES = 2**20
MAX_RUNS = 5_000  # of a page
MAX_RUN_LENGTH = 1_000
MAX_COUNT = 2**31 - 1  # which PostgreSQL can store


class Answer(msgspec.Struct, frozen=True):
    """Exactly one of a result and a refusal is set."""

    document: Document | None = None
    picture: Picture | None = None
    scan: Scan | None = None
    page: DrawnPage | None = None
    pages: tuple[PlacedPicture, ...] = ()
    refusal: str = ""
    error: str = ""  # the name of the exception behind the refusal


class BadAnswer(ValueError):
    """The answer is none that our code gives."""


Outcome = Result | DrawnPage | tuple[PlacedPicture, ...] | Unreadable


def encode_outcome(outcome: Outcome) -> bytes:
    match outcome:
        case Document():
            answer = Answer(document=outcome)
        case Picture():
            answer = Answer(picture=outcome)
        case Scan():
            answer = Answer(scan=outcome)
        case DrawnPage():
            answer = Answer(page=outcome)
        case tuple():
            answer = Answer(pages=outcome)
        case Unreadable():
            answer = Answer(refusal=str(outcome), error=type(outcome.__cause__).__name__)
    return msgspec.msgpack.encode(answer)


def max_bytes(limits: Limits) -> int:
    """Return how long an encoded answer may be."""
    text = 4 * limits.characters + 16 * limits.pages
    pictures = (limits.pictures + 5) * limits.image_side**2  # most are JPEG
    return text + pictures + 2**20


def decode_result(answer: bytes, limits: Limits) -> Result | Unreadable:
    """Decode an answer. Raises `BadAnswer` if it is malformed or exceeds the limits."""
    fields = _decode_fields(answer)
    if isinstance(fields, Unreadable):
        return fields
    result = fields.document or fields.picture or fields.scan
    if result is None or not _is_within(result, limits):
        raise BadAnswer("no result within the limits")
    return result


def decode_page(answer: bytes, limits: Limits) -> DrawnPage | Unreadable:
    """Decode the answer to a request for a page, as `decode_result` does."""
    fields = _decode_fields(answer)
    if isinstance(fields, Unreadable):
        return fields
    if fields.page is None or not _is_page(fields.page, limits):
        raise BadAnswer("no page within the limits")
    return fields.page


def decode_pages(
    answer: bytes, limits: Limits, indices: Sequence[int]
) -> tuple[PlacedPicture, ...] | Unreadable:
    """Decode the answer to a request for pictures of these pages, as `decode_result` does."""
    fields = _decode_fields(answer)
    if isinstance(fields, Unreadable):
        return fields
    if [placed.page for placed in fields.pages] != list(indices) or not all(
        0 <= placed.offset <= MAX_MARK_LENGTH and _is_image(placed.picture, limits)
        for placed in fields.pages
    ):
        raise BadAnswer("not these pages within the limits")
    return fields.pages


def _decode_fields(answer: bytes) -> Answer | Unreadable:
    try:
        fields = msgspec.msgpack.decode(answer, type=Answer)
    except msgspec.MsgspecError as error:
        raise BadAnswer(str(error)) from error
    if fields.refusal and len(fields.refusal) <= MAX_SENTENCE_LENGTH:
        if not fields.refusal.isprintable():
            raise BadAnswer("a refusal that is no sentence")
        # Never more than a name: an exception's text can contain text of the file.
        logger.info(
            "A file was not read: %s", fields.error[:80] if fields.error.isidentifier() else ""
        )
        return Unreadable(fields.refusal)
    return fields


def _is_within(result: Result, limits: Limits) -> bool:
    match result:
        case Document():
            return _is_text(result, limits)
        case Picture():
            return _is_image(result, limits)
        case Scan(pages=pictures, page_count=count, left_out=left_out):
            are_few = 1 <= len(pictures) <= min(limits.pictures, count) <= limits.pages
            are_images = all(_is_image(picture, limits) for picture in pictures)
            is_named = _is_label(result.kind, MAX_KIND_LENGTH)
            is_named = is_named and _is_label(result.media_type, MAX_MEDIA_TYPE_LENGTH)
            return are_few and are_images and is_named and _are_left_out(left_out)


def _is_text(document: Document, limits: Limits) -> bool:
    return (
        1 <= len(document.pages) <= limits.pages
        and sum(map(len, document.pages)) <= limits.characters
        and not any("\0" in page for page in document.pages)  # which PostgreSQL cannot store
        and document.unit in UNITS
        and _is_label(document.kind, MAX_KIND_LENGTH)
        and _is_label(document.media_type, MAX_MEDIA_TYPE_LENGTH)
        and len(document.pictures) <= limits.pictures
        and all(_is_placed(picture, document.pages, limits) for picture in document.pictures)
        and _are_in_order(document.pictures)
        and _are_left_out(document.left_out)
    )


def _is_label(text: str, max_length: int) -> bool:
    return len(text) <= max_length and text.isprintable()


def _is_placed(placed: PlacedPicture, pages: Sequence[str], limits: Limits) -> bool:
    is_within = 0 <= placed.page < len(pages) and 0 <= placed.offset <= len(pages[placed.page])
    return is_within and _is_image(placed.picture, limits)


def _are_in_order(pictures: Sequence[PlacedPicture]) -> bool:
    places = [(picture.page, picture.offset) for picture in pictures]
    return places == sorted(set(places))


def _are_left_out(left_out: Sequence[LeftOut]) -> bool:
    kinds = [omission.what for omission in left_out]
    return (
        len(set(kinds)) == len(kinds)
        and set(kinds) <= set(LEFT_OUT)
        and all(1 <= omission.count <= MAX_COUNT for omission in left_out)
    )


def _is_image(picture: Picture, limits: Limits) -> bool:
    signature = IMAGE_SIGNATURES.get(picture.media_type)
    return (
        signature is not None
        and picture.data.startswith(signature)
        and picture.thumbnail.startswith(tuple(IMAGE_SIGNATURES.values()))
        and len(picture.thumbnail) <= MAX_THUMBNAIL_BYTES
        and 1 <= picture.width <= limits.image_side
        and 1 <= picture.height <= limits.image_side
        and _are_left_out(picture.left_out)
    )


def _is_page(page: DrawnPage, limits: Limits) -> bool:
    return (
        _is_image(page.picture, limits)
        and len(page.runs) <= MAX_RUNS
        and all(_is_run(run, limits.image_side) for run in page.runs)
    )


def _is_run(run: Run, side: int) -> bool:
    return len(run.text) <= MAX_RUN_LENGTH and all(
        0 <= length <= side for length in (run.left, run.top, run.width, run.height)
    )
