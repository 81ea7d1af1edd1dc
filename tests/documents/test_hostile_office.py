"""Office files made to harm by what they repeat, claim or refer to in a circle."""

import pytest

from bench.documents.office_packages import (
    element,
    opendocument,
    paragraph,
    png,
    powerpoint,
    run,
    shape,
    slide,
    word,
)
from chatapp.documents import LeftOut
from tests.documents.conftest import Reader

pytestmark = pytest.mark.server

ENTITIES = '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
CHART = '<w:p><w:r><w:drawing><a:graphic><c:chart r:id="rId1"/></a:graphic></w:drawing></w:r></w:p>'


def test_a_comment_or_note_that_is_referred_to_often_is_read_once(read: Reader) -> None:
    long = "x" * 10_000
    comment = f'<w:comment w:id="0" w:author="Ann">{paragraph(long)}</w:comment>'
    note = f'<w:footnote w:id="0">{paragraph(long)}</w:footnote>'
    parts = {
        "word/comments.xml": element("w:comments", comment),
        "word/footnotes.xml": element("w:footnotes", note),
    }
    references = '<w:commentReference w:id="0"/><w:footnoteReference w:id="0"/>'
    body = f"<w:p><w:r>{references * 2_000}</w:r></w:p>"
    relations = [("c", "comments", "comments.xml"), ("f", "footnotes", "footnotes.xml")]
    assert read.text(word(body, parts, *relations)).count(long) == 2


def test_comments_and_notes_that_refer_to_themselves_end(read: Reader) -> None:
    comment = '<w:p><w:r><w:commentReference w:id="0"/><w:t>Again</w:t></w:r></w:p>'
    note = '<w:p><w:r><w:footnoteReference w:id="0"/><w:t>Again</w:t></w:r></w:p>'
    parts = {
        "word/comments.xml": element("w:comments", f'<w:comment w:id="0">{comment}</w:comment>'),
        "word/footnotes.xml": element("w:footnotes", f'<w:footnote w:id="0">{note}</w:footnote>'),
    }
    references = '<w:commentReference w:id="0"/><w:footnoteReference w:id="0"/>'
    relations = [("c", "comments", "comments.xml"), ("f", "footnotes", "footnotes.xml")]
    body = f"<w:p><w:r>{references}</w:r></w:p>"
    assert read.text(word(body, parts, *relations)) == "[Comment: Again][^1]\n\n[^1]: [^1]Again"


def test_styles_and_parts_that_refer_to_each_other_in_a_circle_end(read: Reader) -> None:
    styles = "".join(
        f'<w:style w:styleId="{own}"><w:basedOn w:val="{other}"/></w:style>'
        for own, other in (("A", "B"), ("B", "A"))
    )
    parts = {"word/styles.xml": element("w:styles", styles)}
    body = paragraph("Text", '<w:pStyle w:val="A"/>')
    relations = [("s", "styles", "styles.xml"), ("h", "header", "document.xml")]
    section = '<w:sectPr><w:headerReference w:type="default" r:id="h"/></w:sectPr>'
    assert read.text(word(body + section, parts, *relations)).endswith("Text")


@pytest.mark.parametrize("content", [ENTITIES + "<a>&a;</a>", "<broken", "<a>" * 5_000])
def test_a_chart_that_cannot_be_read_is_named(read: Reader, content: str) -> None:
    package = word(
        paragraph("Text") + CHART, {"word/chart.xml": content}, ("rId1", "chart", "chart.xml")
    )
    assert read.text(package) == "Text\n\n[Chart is left out: it can't be read]"


def test_a_chart_of_a_million_points_is_bounded(sandboxed_reader: Reader) -> None:
    points = "".join(f'<c:pt idx="{i}"><c:v>{i}.{i * 7919}</c:v></c:pt>' for i in range(100_000))
    series = f"<c:lineChart><c:ser><c:val>{points}</c:val></c:ser></c:lineChart>"
    chart = element("c:chartSpace", f"<c:chart><c:plotArea>{series}</c:plotArea></c:chart>")
    package = word(CHART, {"word/chart.xml": chart}, ("rId1", "chart", "chart.xml"))
    document = sandboxed_reader.document(package, seconds=10)
    assert document.left_out == (LeftOut("chart value", 99_500),)
    assert len(document.pages[0]) < 50_000


def test_claimed_spans_and_repetitions_are_bounded(read: Reader) -> None:
    cell = '<w:tc><w:tcPr><w:gridSpan w:val="999999999"/></w:tcPr>' + paragraph("x") + "</w:tc>"
    rows = '<w:tr><w:trPr><w:gridBefore w:val="999999999"/></w:trPr>' + cell + cell + "</w:tr>"
    assert len(read.text(word(f"<w:tbl>{rows}</w:tbl>"))) < 100
    wide = (
        '<table:table-cell table:number-columns-repeated="999999999" '
        'table:number-rows-spanned="999999999"><text:p>x</text:p></table:table-cell>'
        '<table:covered-table-cell table:number-columns-repeated="999999999"/>'
    )
    table = f"<table:table><table:table-row>{wide}</table:table-row></table:table>"
    assert read.text(opendocument("text", table)).count("x") <= 1_000


def test_a_long_list_takes_no_quadratic_time(sandboxed_reader: Reader) -> None:
    numbering = (
        '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/>'
        '<w:lvlText w:val="%1."/></w:lvl></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    )
    parts = {"word/numbering.xml": element("w:numbering", numbering)}
    item = paragraph("item of a list", '<w:numPr><w:numId w:val="1"/></w:numPr>')
    package = word(item * 40_000 + run(""), parts, ("n", "numbering", "numbering.xml"))
    assert "40000. item" in sandboxed_reader.text(package, seconds=15)


def test_thousands_of_pictures_and_slides_are_bounded(sandboxed_reader: Reader) -> None:
    picture = '<p:pic><p:blipFill><a:blip r:embed="rId1"/></p:blipFill></p:pic>'
    slides = [slide(picture * 50 + shape("Text"))] * 100
    relations = {
        f"ppt/slides/slide{i}.xml": [("rId1", "image", "../media/a.png")] for i in range(1, 101)
    }
    document = sandboxed_reader.document(
        powerpoint(slides, {"ppt/media/a.png": png()}, relations), seconds=10
    )
    assert len(document.pictures) == 1
    assert sum(page.count("[Picture 1 again]") for page in document.pages) == 100 * 50 - 1


def test_targets_outside_the_file_are_not_in_it(read: Reader) -> None:
    blip = '<w:p><w:r><w:drawing><a:blip r:embed="rId1"/></w:drawing></w:r></w:p>'
    package = word(blip, {}, ("rId1", "image", "../../../etc/passwd"))
    assert read.text(package) == "[Picture is left out: it is not in the file]"
