"""Pictures get a mark in the text, and their place is right behind it."""

import io

from PIL import Image

from chatapp.documents import LeftOut, Limits
from chatapp.documents.formats.images import images
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages
from chatapp.documents.results import Document, Picture, PlacedPicture


def png(side: int = 60, colour: str = "red") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (side, side), colour).save(file, "PNG")
    return file.getvalue()


def test_a_picture_is_placed_behind_its_mark() -> None:
    pages = IllustratedPages(Limits())
    pages.add("The first page.")
    pages.add(f"\r\n\nBefore\r\n{pages.picture(png(), 'A  red square ')} after.\n")
    (placed,) = pages.pictures
    before = "Before\n[Picture 1: A red square]"
    assert pages.whole("Word")[1] == f"{before} after."
    assert (placed.page, placed.offset) == (1, len(before))


def test_a_picture_that_comes_again_is_sent_once() -> None:
    pages = IllustratedPages(Limits())
    for _ in range(2):
        pages.add(f"Logo {pages.picture(png())}")
    assert pages.whole("Word") == ("Logo [Picture 1]", "Logo [Picture 1 again]")
    assert len(pages.pictures) == 1


def test_pictures_beyond_the_limit_are_named() -> None:
    pages = IllustratedPages(Limits(pictures=1))
    pages.add(pages.picture(png()) + pages.picture(png(colour="blue"), "A chart"))
    mark = "[Picture 2 is left out: only the first 1 are sent: A chart]"
    assert pages.whole("Word") == (f"[Picture 1]{mark}",)
    assert pages.left_out == (LeftOut("picture", 1),)


def test_a_picture_that_cannot_be_read_is_named() -> None:
    pages = IllustratedPages(Limits())
    pages.add(pages.picture(b"no picture"))
    assert pages.whole("Word") == ("[Picture 1 is left out: it can't be read]",)
    assert pages.left_out == (LeftOut("picture", 1),)


def test_ornaments_are_counted_without_a_mark() -> None:
    pages = IllustratedPages(Limits())
    pages.add(f"Text{pages.picture(png(side=12))}")
    assert pages.whole("Word") == ("Text",)
    assert pages.left_out == (LeftOut("picture", 1),)


def test_an_ornament_that_comes_again_has_no_mark_and_takes_no_number() -> None:
    pages = IllustratedPages(Limits())
    pages.add(f"One{pages.picture(png(12))} two{pages.picture(png(12))} {pages.picture(png())}")
    assert pages.whole("Word") == ("One two [Picture 1]",)


def read_picture() -> Picture:
    picture = images.read(io.BytesIO(png()), Limits())
    assert isinstance(picture, Picture)
    return picture


def test_pages_of_a_pdf_that_are_pictures_keep_their_text_and_picture() -> None:
    mark = "Stamp\n[Page 2 is a picture]"
    placed = PlacedPicture(1, len(mark), read_picture())
    page = f"{mark}\n\n[Link: https://example.org]"
    pages = IllustratedPages(Limits())
    document = Document("application/pdf", "PDF", "Page", ("Hello", page), (placed,))
    pages.add(pages.include(document))
    assert pages.whole("Mail") == (
        "Hello\n\nStamp\n[Picture 1: Page 2]\n\n[Link: https://example.org]",
    )
    assert len(pages.pictures) == 1


def test_repeated_pictures_of_included_documents_get_the_number_of_the_first() -> None:
    pages = IllustratedPages(Limits())
    text = "[Picture 1] and [Picture 1 again]"
    placed = PlacedPicture(0, len("[Picture 1]"), read_picture())
    document = Document("text/html", "HTML", "", (text,), (placed,))
    pages.add(pages.picture(b"no picture"))
    pages.add(pages.include(document))
    pages.add(pages.include(document))
    assert pages.whole("Mail")[1:] == (
        "[Picture 2] and [Picture 2 again]",
        "[Picture 2 again] and [Picture 2 again]",
    )


def test_text_that_looks_like_a_picture_is_no_picture() -> None:
    pages = IllustratedPages(Limits())
    pages.add("Text \x1a7\x1a end")
    assert pages.whole("Text") == ("Text  end",)
    assert pages.pictures == ()
