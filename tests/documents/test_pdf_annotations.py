"""Content laid over the pages of PDFs: fields of forms, comments, links and attached files."""

import pytest

from chatapp.documents import LeftOut
from tests.documents.conftest import Reader
from tests.documents.pdf_files import at, draw_annotated_page, draw_pdf, form

WORDS = at(60, 700, "Some words")
RECT = "/Rect [55 695 86 712]"
QUAD = "/QuadPoints [55 712 86 712 55 695 86 695]"
BOX = "/AP << /N << /on 3 0 R /Off 3 0 R >> >>"


@pytest.mark.parametrize(
    ("field", "mark"),
    [
        ("/FT /Tx /T (name) /V (Ann)", "[Form field name: Ann]"),
        ("/FT /Tx /T (f1[0]) /TU (Full name) /V (Ann)", "[Form field Full name: Ann]"),
        ("/FT /Tx /T (name) /V (Ann) /F 2", "[Form field name: Ann (hidden)]"),
        ("/FT /Tx /T (pin) /V (1234) /Ff 8192", "[Form field pin: a password, which is not read]"),
        ("/FT /Tx /T (name)", "[Empty form fields: name]"),
        (
            "/FT /Ch /Ff 131072 /T (land) /Opt [[(de) (Germany)] [(fr) (France)]] /V (de)",
            "[Form field land: Germany]",
        ),
        (
            f"/FT /Btn /T (agree) /V /on /AS /on {BOX}",
            "[Check box agree: ticked]",
        ),
        (
            f"/FT /Btn /T (agree) /V /Off /AS /Off {BOX}",
            "[Check box agree: not ticked]",
        ),
        (
            f"/FT /Btn /Ff 32768 /T (colour) /V /on /AS /on {BOX}",
            "[Radio buttons colour: on]",
        ),
        ("/FT /Tx /T <FEFF0418043C044F> /V <FEFF6F225B57>", "[Form field Имя: 漢字]"),
    ],
)
def test_the_fields_of_a_form_are_read(read: Reader, field: str, mark: str) -> None:
    assert read.text(form(WORDS, field)) == f"Some words\n\n{mark}"


def test_a_form_on_an_empty_page_is_read(read: Reader) -> None:
    assert read.text(form("", "/FT /Tx /T (name) /V (Ann)")) == "[Form field name: Ann]"


@pytest.mark.parametrize(
    ("annotation", "mark"),
    [
        ("/Subtype /Text /Contents (Why?) /T (Ann)", "[Comment by Ann: Why?]"),
        ("/Subtype /FreeText /Contents (Typed)", "[Comment: Typed]"),
        (
            f"/Subtype /Highlight /Contents (Which?) /T (Bob) {QUAD}",
            "[Comment by Bob on “Some”: Which?]",
        ),
        (
            f"/Subtype /StrikeOut /T (Bob) {QUAD}",
            "[Struck out by Bob: Some]",
        ),
        (
            "/Subtype /Link /A << /S /URI /URI (https://example.org/x) >>",
            "[Link “Some”: https://example.org/x]",
        ),
    ],
)
def test_comments_and_links_are_read(read: Reader, annotation: str, mark: str) -> None:
    assert read.text(draw_annotated_page(WORDS, f"{RECT} {annotation}")) == f"Some words\n\n{mark}"


@pytest.mark.parametrize(
    "annotation",
    [
        "/Subtype /Popup /Contents (Again)",
        f"/Subtype /Highlight {QUAD}",
        "/Subtype /Link /A << /S /URI /URI (https://Some/) >>",
        "/Subtype /Link /A << /S /URI /URI (javascript:alert\\(1\\)) >>",
        "/Subtype /Link /Dest [3 0 R /Fit]",
        "/Subtype /Link",
    ],
)
def test_annotations_that_say_nothing_new_are_not_read(read: Reader, annotation: str) -> None:
    assert read.text(draw_annotated_page(WORDS, f"{RECT} {annotation}")) == "Some words"


def test_attached_files_are_named(read: Reader) -> None:
    extra = [
        b"<< /Type /Filespec /F (invoice.xml) /UF (invoice.xml) /EF << /F 5 0 R >> >>",
        b"<< /Type /EmbeddedFile /Length 3 >>\nstream\nabc\nendstream",
    ]
    names = "/Names << /EmbeddedFiles << /Names [(invoice.xml) 4 0 R] >> >>"
    document = read.document(draw_pdf([WORDS], extra=extra, catalog=names))
    assert document.pages == ("Some words\n\n[Attached file, which is not read: invoice.xml]",)
    assert document.left_out == (LeftOut("attachment", 1),)
    scan = read.scan(draw_pdf(["0 0 m 9 9 l S"], extra=extra, catalog=names))
    assert scan.left_out == (LeftOut("attachment", 1),)


def test_what_a_signature_shows_is_read(read: Reader) -> None:
    stream = "BT /F1 10 Tf 2 5 Td (Signed by Ann) Tj ET"
    signature = "/FT /Sig /T (sign) /V << /Type /Sig >> /F 4 /AP << /N 5 0 R >>"
    appearance = (
        "<< /Type /XObject /Subtype /Form /BBox [0 0 100 20] /Resources << /Font << /F1 3 0 R >> >>"
        f" /Length {len(stream)} >>\nstream\n{stream}\nendstream"
    )
    widget = f"/Subtype /Widget /Rect [300 700 400 720] {signature}"
    catalog = "/AcroForm << /Fields [4 0 R] >>"
    text = read.text(draw_annotated_page(WORDS, widget, catalog=catalog, extra=appearance))
    assert "Signed by Ann" in text
    assert text.endswith("[Form field sign: signed]")
