"""RTF is read with its structure, in the code pages of its fonts."""

import pytest

from chatapp.documents import LeftOut
from tests.documents import files
from tests.documents.conftest import Reader

FONTS = (
    rb"{\fonttbl{\f0\fswiss\fcharset0 Arial;}{\f1\fnil\fcharset128 MS Gothic;}"
    rb"{\f2\fnil\fcharset204 Arial Cyr;}{\f3\fnil\fcharset2 Symbol;}}"
)


def rtf(body: bytes, head: bytes = b"") -> bytes:
    return rb"{\rtf1\ansi\ansicpg1252\deff0" + FONTS + head + b"\n" + body + b"}"


def test_structure_becomes_markdown(read: Reader) -> None:
    styles = rb"{\stylesheet{\s1\outlinelevel0 heading 1;}{\s7 Normal;}}{\info{\title Secret}}"
    document = read.document(
        rtf(
            rb"{\header Acme Ltd\par}{\headerf Acme Ltd\par}"
            rb"\pard\s1 Report\par\pard\plain One\tab two"
            rb"\line three\par{\pntext\f3\'B7\tab}first\par{\listtext\f3\'B7\tab}second\par"
            rb"{\listtext 1.\tab}third\par"
            rb"\trowd\cellx1\cellx2\pard\intbl Name\cell Value\cell\row"
            rb"\trowd\cellx1\cellx2\pard\intbl A|b\cell 1\par 2\cell\row\pard After"
            rb"{\field{\*\fldinst HYPERLINK "
            rb'"https://example.org/x"}{\fldrslt  link}}.\par',
            styles,
        )
    )
    assert (document.kind, document.media_type, document.unit) == ("RTF", "application/rtf", "")
    assert document.pages == (
        "[Header: Acme Ltd]\n\n# Report\n\nOne\ttwo\nthree\n\n- first\n- second\n\n1. third\n\n"
        "| Name | Value |\n| --- | --- |\n| A\\|b | 1 2 |\n\nAfter[link](https://example.org/x).",
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (rb"Gr\'f6\'dfe", "Größe"),
        (rb"\u8364 ?100 and \u8364\'80", "€100 and €"),
        (rb"{\uc0\u20250\u-10179\u-8704}", "会😀"),
        (rb"{\uc2\u20250 ??}x", "会x"),
        (rb"{\f1\'89\'ef\'8bc}", "会議"),  # the second half of a character is a letter
        (rb"{\f1\'83\\}", "ソ"),
        (rb"{\f2\'cf\'f0\'e8\'e2\'e5\'f2}", "Привет"),
        (rb"\{a\}\\b \emdash\~\ldblquote c\rdblquote", "{a}\\b \u2014\xa0\u201cc\u201d"),
        (rb"{\f3\'b7} \u61623 ?", "• •"),
        (rb"a\bin2 {}b", "ab"),
    ],
)
def test_characters_of_any_kind_are_read(read: Reader, body: bytes, text: str) -> None:
    assert read.text(rtf(body)) == text


@pytest.mark.parametrize("code_page", [1250, 1251, 1253, 932, 936, 949, 950, 874])
def test_the_code_page_of_the_file_is_used(read: Reader, code_page: int) -> None:
    words = {
        **{1250: "Příliš", 1251: "Счёт", 1253: "Καλημέρα", 932: "会議", 936: "会议"},
        **{949: "회의", 950: "會議", 874: "ประชุม"},
    }
    encoded = words[code_page].encode(f"cp{code_page}").hex()
    escaped = "".join(f"\\'{encoded[i : i + 2]}" for i in range(0, len(encoded), 2))
    content = f"{{\\rtf1\\ansi\\ansicpg{code_page} {escaped}}}".encode()
    assert read.text(content) == words[code_page]


def test_notes_comments_and_text_boxes_are_marked(read: Reader) -> None:
    body = (
        rb"Text{\footnote \pard Note\par} more{\footnote Other}.{\*\atnauthor Ann}"
        rb"{\*\annotation Check this}{\v secret}{\deleted gone}\par"
        rb"{\shp{\*\shpinst{\sp{\sn shapeType}{\sv 202}}{\shptxt \pard In the box\par}}}\par"
    )
    assert read.text(rtf(body)) == (
        "Text[^1] more[^2]. [Comment by Ann: Check this]secret (hidden)~~gone~~\n\n"
        "[Text box: In the box]\n\n[^1]: Note\n\n[^2]: Other"
    )


def test_pictures_are_in_their_places(read: Reader) -> None:
    picture = files.image("PNG", (60, 40)).hex().encode()
    body = (
        rb"Before {\*\shppict{\pict{\*\picprop{\sp{\sn wzDescription}{\sv A red box}}}\pngblip "
        + picture
        + rb"}}{\nonshppict{\pict\wmetafile8 0102}} after {\pict\emfblip 0100000001}\par"
    )
    document = read.document(rtf(body))
    assert document.pages == (
        "Before [Picture 1: A red box] after [Picture 2 is left out: it can't be read]",
    )
    assert [each.offset for each in document.pictures] == [29]
    assert document.left_out == (LeftOut("picture", 1),)


def test_floating_pictures_are_in_their_places(read: Reader) -> None:
    picture = files.image("PNG", (60, 40)).hex().encode()
    body = (
        rb"Before {\shp{\*\shpinst{\sp{\sn shapeType}{\sv 75}}{\sp{\sn pib}{\sv {\pict\pngblip "
        + picture
        + rb"}}}}} after\par"
    )
    document = read.document(rtf(body))
    assert document.pages == ("Before [Picture 1] after",)
    assert len(document.pictures) == 1


def test_embedded_files_are_named_and_counted(read: Reader) -> None:
    preview = rb"{\result{\pict\pngblip " + files.image("PNG", (60, 40)).hex().encode() + b"}}"
    body = (
        rb"See {\object\objemb{\*\objclass Package}{\*\objdata 01050000}" + preview + rb"} here\par"
    )
    document = read.document(rtf(body))
    assert document.pages == ("See [Embedded file][Picture 1] here",)
    assert document.left_out == (LeftOut("attachment", 1),)


def test_a_note_in_a_table_leaves_the_table_whole(read: Reader) -> None:
    body = (
        rb"\trowd\cellx1\cellx2\pard\intbl a{\footnote\pard\plain note\par}\par b\cell c\cell\row"
        rb"\pard after\par"
    )
    assert read.text(rtf(body)) == "| a[^1] b | c |\n| --- | --- |\n\nafter\n\n[^1]: note"


def test_styles_are_headings_by_their_names(read: Reader) -> None:
    styles = rb"{\stylesheet{\s0 Normal;}{\s4 heading 2;}{\*\cs9 Strong;}}"
    assert read.text(rtf(rb"\pard\s4 Title\par\pard\s0 Text", styles)) == "## Title\n\nText"


def test_pages_are_those_that_the_author_ended(read: Reader) -> None:
    document = read.document(rtf(rb"One\par\page Two\par"))
    assert (document.unit, document.pages) == ("Page", ("One", "Two"))


@pytest.mark.parametrize(
    "content", [b"{\\rtf1", b"{\\rtf1}}}}}" + b"}" * 999, b"{\\rtf1" + b"{" * 9_999]
)
def test_broken_rtf_has_no_text(read: Reader, content: bytes) -> None:
    assert read.refusal(content) == "This RTF file has no text."
