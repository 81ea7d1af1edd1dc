"""Pages of PDFs that are pictures, pictures in pages, and pages that cannot be read."""

import pytest

from chatapp.documents import LeftOut
from tests.documents import files
from tests.documents.conftest import Reader
from tests.documents.pdf_files import IMAGE, at, draw_annotated_page, draw_pdf, image_at

WORDS = at(60, 800, "Words above the picture")
SCANNED = image_at(0, 0, 595, 842)


def test_a_page_without_text_is_a_picture_in_its_place(read: Reader) -> None:
    document = read.document(draw_pdf([WORDS, SCANNED, ""], extra=[IMAGE]))
    mark = "[Page 2 is a picture]"
    assert document.pages == ("Words above the picture", mark, "(This page has no text.)")
    (placed,) = document.pictures
    assert (placed.page, placed.offset) == (1, len(mark))
    assert placed.picture.media_type == "image/jpeg"
    assert (placed.picture.width, placed.picture.height) == (1448, 2048)
    assert document.left_out == ()


def test_a_page_that_shows_one_colour_only_is_blank(read: Reader) -> None:
    white = "1 1 1 rg 0 0 595 842 re f"
    assert read.document(draw_pdf([WORDS, white])).pages[1] == "(This page has no text.)"


def test_pages_beyond_the_limit_say_that_they_are_left_out(read: Reader) -> None:
    document = read.document(draw_pdf([WORDS] + [SCANNED] * 4, extra=[IMAGE]), pictures=2)
    assert document.pages[2] == "[Page 3 is a picture]"
    assert document.pages[4] == (
        "[Page 5 is a picture, which is left out: only the first 2 are sent]"
    )
    assert [placed.page for placed in document.pictures] == [1, 2]
    assert document.left_out == (LeftOut("page", 2),)


def test_nothing_is_drawn_when_too_little_time_is_left(read: Reader) -> None:
    document = read.document(draw_pdf([WORDS, SCANNED], extra=[IMAGE]), seconds=0)
    assert document.pages[1] == (
        "[Page 2 is a picture, which is left out: drawing this file takes too long]"
    )
    assert document.left_out == (LeftOut("page", 1),)


def test_a_page_that_is_damaged_says_so(read: Reader) -> None:
    content = draw_pdf([WORDS, WORDS])
    damaged = content.replace(b"/Kids [5 0 R 7 0 R]", b"/Kids [5 0 R 1 0 R]")
    document = read.document(damaged)
    assert document.pages[1] == "[Page 2 cannot be read: it is damaged]"
    assert document.left_out == (LeftOut("page", 1),)


def test_a_picture_in_a_page_follows_its_text(read: Reader) -> None:
    page = WORDS + image_at(100, 300, 200, 100)
    document = read.document(draw_pdf([page], extra=[IMAGE]))
    assert document.pages == ("Words above the picture\n[Picture 1]",)
    (placed,) = document.pictures
    assert (placed.page, placed.offset) == (0, len(document.pages[0]))
    assert (placed.picture.width, placed.picture.height) == (833, 417)
    image = files.open_image(placed.picture.data).convert("RGB")
    assert image.getpixel((10, 10)) == pytest.approx((255, 0, 0), abs=40)


def test_a_picture_in_a_turned_page_is_cut_out_of_it(read: Reader) -> None:
    page = WORDS + image_at(100, 300, 200, 100)
    (placed,) = read.document(draw_pdf([page], "/Rotate 90", [IMAGE])).pictures
    image = files.open_image(placed.picture.data).convert("RGB")
    assert image.size == (417, 833)
    assert image.getpixel((407, 10)) == pytest.approx((255, 0, 0), abs=40)


def test_an_image_in_strips_is_one_picture(read: Reader) -> None:
    strips = "".join(image_at(100, 300 + 10 * i, 200, 10) for i in range(10))
    (placed,) = read.document(draw_pdf([WORDS + strips], extra=[IMAGE])).pictures
    assert (placed.picture.width, placed.picture.height) == (833, 417)


def test_logos_backgrounds_and_repeated_pictures_are_not_sent(read: Reader) -> None:
    text = "".join(at(60, 700 - 14 * row, "A line of the text in front") for row in range(20))
    logo, photo = image_at(50, 800, 60, 30), image_at(100, 300, 200, 100)
    behind, first, second = SCANNED + text, WORDS + logo + photo, at(60, 50, "Again") + photo
    document = read.document(draw_pdf([behind, first, second], extra=[IMAGE]))
    assert [placed.page for placed in document.pictures] == [1]
    assert document.pages[2] == "Again"


def test_a_scan_with_a_stamp_on_each_page_is_seen(read: Reader) -> None:
    document = read.document(draw_pdf([SCANNED + at(60, 20, "ABC-001")], extra=[IMAGE]))
    assert document.pages == ("ABC-001\n[Picture 1]",)


def test_pictures_beyond_the_limit_are_counted(read: Reader) -> None:
    pages = [WORDS + image_at(100, 300, 200, 100 + i) for i in range(3)]
    document = read.document(draw_pdf(pages, extra=[IMAGE]), pictures=1)
    assert document.pages[2].endswith("[Picture 3 is left out: only the first 1 are sent]")
    assert document.left_out == (LeftOut("picture", 2),)


def test_comments_keep_the_pages_of_a_scan_in_a_document(read: Reader) -> None:
    comment = "/Subtype /Text /Rect [0 0 9 9] /Contents (Look here) /T (Ann)"
    document = read.document(draw_annotated_page("0 0 m 500 500 l S", comment))
    assert document.pages == ("[Page 1 is a picture]\n\n[Comment by Ann: Look here]",)
