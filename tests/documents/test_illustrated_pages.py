"""Pictures get a mark in the text, and their place is right behind it."""

import io

from PIL import Image

from chatapp.documents import LeftOut, Limits
from chatapp.documents.formats.illustrated_pages import IllustratedPages


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
    rest = "[Picture 2 is left out: only the first 1 are sent: A chart]"
    assert pages.whole("Word") == (f"[Picture 1]{rest}",)
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


def test_text_that_looks_like_a_picture_is_no_picture() -> None:
    pages = IllustratedPages(Limits())
    pages.add("Text \x1a7\x1a end")
    assert pages.whole("Text") == ("Text  end",)
    assert pages.pictures == ()
