"""Word, PowerPoint, Excel and OpenDocument files become Markdown, page by page."""

import docx
import openpyxl
import pytest

from tests.documents import files
from tests.documents.conftest import Reader
from tests.documents.files import save_document


def test_a_word_file_keeps_its_structure_and_pages(read: Reader) -> None:
    document = read.document(files.word(), "picture.png")
    assert (document.kind, document.unit) == ("Word", "Page")
    assert document.media_type.endswith("wordprocessingml.document")
    assert document.pages == (
        "# Report\n\n## Findings\n\nPlain\ttext\n\n- first\n  - nested\n1. second\n\n"
        "| Name | a\\|b |\n| --- | --- |\n| x | two lines |",
        "On page two",
    )


@pytest.mark.parametrize(
    ("xml", "text"),
    [
        (
            "<w:p><w:r><w:t>a</w:t></w:r><w:del><w:r><w:delText>b</w:delText></w:r></w:del></w:p>",
            "a\n\n[1 tracked deletion is left out]",
        ),
        ("<w:p><w:ins><w:r><w:t>inserted</w:t></w:r></w:ins></w:p>", "inserted"),
        (
            "<w:sdt><w:sdtContent><w:p><w:r><w:t>field</w:t></w:r></w:p></w:sdtContent></w:sdt>",
            "field",
        ),
        ("<w:p><w:r><w:t>a</w:t><w:br/><w:t>b</w:t></w:r></w:p>", "a\nb"),
        (
            '<w:p><w:hyperlink r:id="rId99"><w:r><w:t>no target</w:t></w:r></w:hyperlink></w:p>',
            "no target",
        ),
        ("<w:p><w:r><w:t>a</w:t></w:r></w:p><w:p/><w:p><w:r><w:t>b</w:t></w:r></w:p>", "a\n\nb"),
    ],
)
def test_text_of_word_files_is_what_people_see(read: Reader, xml: str, text: str) -> None:
    assert read.text(word_with(xml)) == text


def test_pages_of_word_end_where_they_were_last_laid_out(read: Reader) -> None:
    first = "<w:p><w:r><w:t>one</w:t></w:r></w:p>"
    second = "<w:p><w:r><w:lastRenderedPageBreak/><w:t>two</w:t></w:r></w:p>"
    assert read.document(word_with(first + second)).pages == ("one", "two")


def test_links_and_footnotes_of_word_follow_their_text(read: Reader) -> None:
    notes = "word/footnotes.xml"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = word_with(
        '<w:p><w:hyperlink r:id="rId50"><w:r><w:t>site</w:t></w:r></w:hyperlink>'
        '<w:r><w:footnoteReference w:id="2"/></w:r></w:p>'
    )
    rels = files.part(package, "word/_rels/document.xml.rels").replace(
        "</Relationships>",
        f'<Relationship Id="rId50" Type="{office}/hyperlink" Target="https://example.org/"'
        f' TargetMode="External"/><Relationship Id="rId51" Type="{office}/footnotes"'
        ' Target="footnotes.xml"/></Relationships>',
    )
    package = files.with_part(package, "word/_rels/document.xml.rels", rels)
    footnote = '<w:footnote w:id="2"><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote>'
    package = files.with_part(package, notes, f"<w:footnotes {WORD}>{footnote}</w:footnotes>")
    assert read.text(package) == "[site](https://example.org/)[^1]\n\n[^1]: A note."


def test_slides_have_titles_lists_tables_and_notes(read: Reader) -> None:
    document = read.document(files.powerpoint())
    assert (document.kind, document.unit) == ("PowerPoint", "Slide")
    assert document.pages == (
        "## Plan\n\n- one\n- two\n\n| Year | 2026 |\n| --- | --- |\n\nNotes:\n\nSay hello",
        "",
    )


def test_sheets_show_values_and_formulas_that_have_none(read: Reader) -> None:
    document = read.document(files.excel())
    assert (document.kind, document.unit) == ("Excel", "Sheet")
    assert document.pages == (
        "# Sales\n\n| Item | Price | Day | Sold |\n| --- | --- | --- | --- |\n"
        "| a\\|b | 0.3 | 2026-01-02 | TRUE |\n"
        "| =cmd\\|' /C calc'!A0 (not calculated) | 3 | 2026-01-02 03:04:00"
        " | =1+1 (not calculated) |",
        "# Secret (hidden)",
    )


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (files.word(), "This file has 2 pages. At most 1 can be read."),
        (files.powerpoint(), "This file has 2 slides. At most 1 can be read."),
        (files.excel(), "This file has 2 sheets. At most 1 can be read."),
    ],
)
def test_too_many_pages_are_refused(read: Reader, content: bytes, refusal: str) -> None:
    assert read.refusal(content, pages=1) == refusal


@pytest.mark.parametrize("content", [files.word(), files.powerpoint(), files.excel()])
def test_too_many_characters_are_refused(read: Reader, content: bytes) -> None:
    assert "more than 9 characters" in read.refusal(content, characters=9)


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (save_document(docx.Document()), "This Word file has no text."),
        (save_document(openpyxl.Workbook()), "This Excel file has no text."),
        (files.opendocument("text", ""), "This OpenDocument file has no text."),
    ],
)
def test_files_without_text_are_refused(read: Reader, content: bytes, refusal: str) -> None:
    assert read.refusal(content) == refusal


def test_an_encrypted_opendocument_file_is_refused(read: Reader) -> None:
    manifest = "<manifest><file-entry><encryption-data/></file-entry></manifest>"
    content = files.opendocument("text", "", **{"META-INF/manifest.xml": manifest})
    assert "OpenDocument file is encrypted" in read.refusal(content)


def test_opendocument_text_keeps_its_structure(read: Reader) -> None:
    document = read.document(
        files.opendocument(
            "text",
            '<text:h text:outline-level="2">Title</text:h><text:p>one<text:s text:c="2"/>two'
            "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>a note"
            "</text:p></text:note-body></text:note></text:p><text:list><text:list-item><text:p>a"
            "</text:p><text:list><text:list-item><text:p>b</text:p></text:list-item></text:list>"
            "</text:list-item></text:list><table:table><table:table-row>"
            '<table:table-cell table:number-columns-repeated="2"><text:p>x</text:p>'
            "</table:table-cell></table:table-row></table:table>"
            '<text:p><text:soft-page-break/><text:a xlink:href="https://example.org/">site</text:a>'
            "</text:p>",
        )
    )
    assert (document.kind, document.unit) == ("OpenDocument", "Page")
    assert document.pages == (
        "## Title\n\none  two[^1]\n\n- a\n  - b\n\n| x | x |\n| --- | --- |",
        "[site](https://example.org/)\n\n[^1]: a note",
    )


def test_opendocument_slides_and_sheets_are_read(read: Reader) -> None:
    slide = (
        "<draw:page><draw:frame><draw:text-box><text:p>Hello</text:p></draw:text-box></draw:frame>"
        "<presentation:notes><draw:frame><draw:text-box><text:p>Aside</text:p></draw:text-box>"
        "</draw:frame></presentation:notes></draw:page>"
    )
    slides = read.document(files.opendocument("presentation", slide))
    assert (slides.unit, slides.pages) == ("Slide", ("Hello\n\nNotes:\n\nAside",))
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    row = f"<table:table-row>{cell.format('a')}{cell.format('b')}</table:table-row>"
    sheets = read.document(
        files.opendocument("spreadsheet", f'<table:table table:name="One">{row}</table:table>')
    )
    assert (sheets.unit, sheets.pages) == ("Sheet", ("# One\n\n| a | b |\n| --- | --- |",))


WORD = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)


def word_with(body: str) -> bytes:
    document = f"<w:document {WORD}><w:body>{body}</w:body></w:document>"
    return files.with_part(files.word(), "word/document.xml", document)
