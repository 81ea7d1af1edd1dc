"""PDFs with what real ones have: columns, tables, forms, comments, scans and other scripts."""

from collections.abc import Iterator

from tests.documents import pdf_files as make
from tests.documents.pdf_files import LEFT_COLUMN, RIGHT_COLUMN, at, rows

from .case import Case

FORMAT = "PDF"
LEFT = (
    "The left column begins here and goes on with its second line and a third one, which ends in"
    " a middle of a word, as columns do, and ends with the fifth of its lines."
)
RIGHT = (
    "The right column follows the left one, but never line by line. It is as narrow, and so it has"
    " an efficient hyphen at the end of a line and a fifth line to end with, too."
)
NOTE = at(30, 300, "arXiv:2603.00001", "0 1 -1 0")
WIDGET = "/Subtype /Widget /Rect [300 700 400 720]"
BOX = "/AP << /N << /blue 3 0 R /Off 3 0 R >> >>"


def cases() -> Iterator[Case]:
    for name, content, words in (*_columns(), *_tables(), *_laid_over(), *_pages(), *_scripts()):
        yield Case(FORMAT, name, content, words)


def _columns() -> Iterator[tuple[str, bytes, str]]:
    two = at(60, 800, "Two columns") + rows(LEFT_COLUMN, RIGHT_COLUMN) + at(60, 30, "Footer")
    yield "two columns, row by row", make.draw_pdf([two]), f"Two columns {LEFT} {RIGHT} Footer"
    three = rows(LEFT_COLUMN, RIGHT_COLUMN, LEFT_COLUMN, x=20, width=190)
    yield "three columns, row by row", make.draw_pdf([three]), f"{LEFT} {RIGHT} {LEFT}"
    one_by_one = rows(LEFT_COLUMN) + rows([""] * 5, RIGHT_COLUMN)
    yield "two columns, one by one", make.draw_pdf([one_by_one]), f"{LEFT} {RIGHT}"
    landscape = f"q 0 1 -1 0 595 0 cm\n{rows(LEFT_COLUMN, RIGHT_COLUMN, top=500)}Q"
    yield "columns of a turned page", make.draw_pdf([landscape], "/Rotate 90"), f"{LEFT} {RIGHT}"
    noted = rows(LEFT_COLUMN[:2]) + NOTE + at(60, 732, "comes to its end.")
    words = "The left column begins here and goes on with its second line and comes to its end."
    yield "a note in the margin", make.draw_pdf([noted]), f"{words} arXiv:2603.00001"


def _tables() -> Iterator[tuple[str, bytes, str]]:
    cells = ["Item", "Bread", "Milk", "Butter"], ["Price", "10", "7", "3"], ["Stock", "2", "1", "4"]
    words = "Item Price Stock Bread 10 2 Milk 7 1 Butter 3 4"
    yield "a table", make.draw_pdf([rows(*cells, width=100)]), words
    lines = ["Rotated line one.", "Rotated line two.", "Service Building 1010A"]
    turned = "".join(at(60 + 16 * i, 60, line, "0 1 -1 0") for i, line in enumerate(lines))
    yield "lines of a turned page", make.draw_pdf([turned], "/Rotate 90"), " ".join(lines)


def _laid_over() -> Iterator[tuple[str, bytes, str]]:
    form = make.form(
        at(60, 700, "Application"),
        "/FT /Tx /T (Name) /V (Ann)",
        "/FT /Ch /Ff 131072 /T (Country) /Opt [[(de) (Germany)] [(fr) (France)]] /V (de)",
    )
    yield "fields that are not drawn", form, "Application Name: Ann Country: Germany"
    boxes = make.form(
        at(60, 700, "Application"),
        f"/FT /Btn /T (Agree) /V /blue /AS /blue {BOX}",
        f"/FT /Btn /Ff 32768 /T (Colour) /V /blue /AS /blue {BOX}",
    )
    yield "check boxes", boxes, "Application Agree: ticked Colour: blue"
    comments = make.draw_annotated_page(
        at(60, 700, "Payable in thirty days"),
        "/Subtype /Text /Rect [0 0 9 9] /Contents (Too long) /T (Ann)",
        "/Subtype /FreeText /Rect [0 0 9 9] /Contents (Agreed with Bob)",
    )
    yield "comments", comments, "Payable in thirty days Ann: Too long Agreed with Bob"
    link = "/Subtype /Link /Rect [58 695 75 712] /A << /S /URI /URI (https://example.org/x) >>"
    linked = make.draw_annotated_page(at(60, 700, "Here is more"), link)
    yield "links", linked, "Here is more https://example.org/x"
    extra = [
        b"<< /Type /Filespec /F (invoice.xml) /UF (invoice.xml) /EF << /F 5 0 R >> >>",
        b"<< /Type /EmbeddedFile /Length 3 >>\nstream\nabc\nendstream",
    ]
    names = "/Names << /EmbeddedFiles << /Names [(invoice.xml) 4 0 R] >> >>"
    attached = make.draw_pdf([at(60, 700, "Invoice")], extra=extra, catalog=names)
    yield "attached files", attached, "Invoice invoice.xml"


def _pages() -> Iterator[tuple[str, bytes, str]]:
    scanned = make.image_at(0, 0, 595, 842)
    mixed = make.draw_pdf([at(60, 700, "Cover"), scanned], extra=[make.IMAGE])
    yield "a scan behind a cover", mixed, "Cover Page 2 is a picture"
    illustrated = make.draw_pdf([make.ILLUSTRATED], extra=[make.IMAGE])
    yield "a picture", illustrated, "Words above a picture Picture 1"
    damaged = make.draw_pdf([at(60, 700, "Cover"), at(60, 700, "Lost")])
    damaged = damaged.replace(b"/Kids [5 0 R 7 0 R]", b"/Kids [5 0 R 1 0 R]")
    yield "a damaged page", damaged, "Cover Page 2 cannot be read"
    yield "an owner's password", make.encrypt_pdf("Readable: 4711."), "Readable: 4711."


def _scripts() -> Iterator[tuple[str, bytes, str]]:
    for name, text in (
        ("Cyrillic", "Договор аренды жилого помещения"),
        ("Greek", "Σύμβαση μίσθωσης κατοικίας"),
        ("Chinese", "房屋租赁合同"),
        ("Japanese", "賃貸借契約書について"),
        ("Hindi", "किराया अनुबंध"),
    ):
        yield name, make.in_any_script(text), text
