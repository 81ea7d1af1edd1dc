"""Content besides paragraphs in OpenDocument texts and presentations is read, or named."""

from bench.documents.office_packages import ODF, Parts, odf, opendocument, png
from chatapp.documents import LeftOut
from tests.documents.conftest import Reader

MEDIA = {"Pictures/one.png": png()}


def frame(inside: str, attributes: str = "") -> str:
    return f"<draw:frame {attributes}>{inside}</draw:frame>"


IMAGE = '<draw:image xlink:href="Pictures/one.png"/>'
OBJECT = '<draw:object xlink:href="./Object 1"><loext:p/></draw:object>'


def test_pictures_stand_in_their_place_with_their_description(read: Reader) -> None:
    described = f"<svg:title>Logo</svg:title>{IMAGE}<svg:desc>A red square</svg:desc>"
    body = f"<text:p>See {frame(described)} here.</text:p>"
    document = read.document(opendocument("text", body, MEDIA))
    assert document.pages == ("See [Picture 1: Logo: A red square] here.",)
    assert len(document.pictures) == 1


def test_the_best_of_the_alternatives_of_a_picture_is_taken(read: Reader) -> None:
    drawing = '<draw:image xlink:href="Pictures/one.svg"/>'
    parts: Parts = {**MEDIA, "Pictures/one.svg": "<svg/>"}
    package = opendocument("text", f"<text:p>{frame(drawing + IMAGE)}</text:p>", parts)
    assert read.text(package) == "[Picture 1]"


def test_linked_pictures_are_named_and_counted(read: Reader) -> None:
    linked = frame('<draw:image xlink:href="../a.png"/><svg:desc>A map</svg:desc>')
    document = read.document(opendocument("text", f"<text:p>{linked}</text:p>"))
    assert document.pages == ("[Picture is left out: it is not in the file: A map]",)
    assert document.left_out == (LeftOut("picture", 1),)


def test_text_boxes_and_shapes_are_marked(read: Reader) -> None:
    box = frame("<draw:text-box><text:p>Beware</text:p></draw:text-box>")
    drawn = "<draw:custom-shape><text:p>Here</text:p></draw:custom-shape>"
    body = (
        f"<text:p>One{box} line</text:p>{drawn}<draw:line><svg:desc>An arrow</svg:desc></draw:line>"
    )
    assert read.text(opendocument("text", body)) == (
        "One line\n\n[Text box: Beware]\n\n[Text box: Here]\n\n[Drawing: An arrow]"
    )


def test_a_picture_with_a_caption_needs_no_mark_around_it(read: Reader) -> None:
    inside = (
        f"<draw:text-box><text:p>{frame(IMAGE)}</text:p><text:p>Figure 1</text:p></draw:text-box>"
    )
    package = opendocument("text", f"<text:p>{frame(inside)}</text:p>", MEDIA)
    assert read.text(package) == "[Picture 1]\n\nFigure 1"


def test_headers_and_footers_of_pages_in_use_come_once(read: Reader) -> None:
    masters = (
        '<style:master-page style:name="Standard"><style:header><text:p>Acme</text:p>'
        "</style:header><style:footer><text:p>Page <text:page-number>3</text:page-number></text:p>"
        '</style:footer><style:header-left style:display="false"><text:p>Left</text:p>'
        '</style:header-left></style:master-page><style:master-page style:name="Unused">'
        "<style:header><text:p>Nowhere</text:p></style:header></style:master-page>"
    )
    package = opendocument("text", "<text:p>Text</text:p>", masters=masters)
    assert read.text(package) == "[Header: Acme]\n\nText\n\n[Footer: Page #]"


def test_comments_stand_where_their_range_ends(read: Reader) -> None:
    comment = (
        '<office:annotation office:name="c1"><dc:creator>Ann</dc:creator>'
        "<dc:date>2026-01-01</dc:date>"
        "<text:p>Too</text:p><text:p>high?</text:p></office:annotation>"
    )
    end = '<office:annotation-end office:name="c1"/>'
    point = comment.replace(' office:name="c1"', ' loext:resolved="true"')
    body = f"<text:p>{comment}5 %{end} a year{point}</text:p>"
    assert read.text(opendocument("text", body)) == (
        "5 % [Comment by Ann: Too high?] a year [Resolved comment by Ann: Too high?]"
    )


def test_notes_follow_the_text_under_their_numbers(read: Reader) -> None:
    note = (
        '<text:note text:note-class="{}"><text:note-citation>{}</text:note-citation>'
        "<text:note-body><text:p>{}</text:p></text:note-body></text:note>"
    )
    first, last = note.format("footnote", "1", "First"), note.format("endnote", "i", "Last")
    body = f"<text:p>a{first}b{last}</text:p>"
    assert read.text(opendocument("text", body)) == "a[^1]b[^e1]\n\n[^1]: First\n\n[^e1]: Last"


def test_tracked_deletions_are_counted(read: Reader) -> None:
    deletion = "<text:deletion><text:p>old</text:p></text:deletion>"
    region = f"<text:changed-region>{deletion}</text:changed-region>"
    body = f"<text:tracked-changes>{region}</text:tracked-changes><text:p>new</text:p>"
    document = read.document(opendocument("text", body))
    assert document.pages == ("new\n\n[1 tracked deletion is left out]",)
    assert document.left_out == (LeftOut("tracked deletion", 1),)


STYLES = """
<style:style style:name="H" style:family="text"><style:text-properties
 text:display="none"/></style:style>
<style:style style:name="S" style:family="text" style:parent-style-name="S0"/>
<style:style style:name="S0" style:family="text"><style:text-properties
 style:text-line-through-style="solid"/></style:style>
<style:style style:name="U" style:family="text"><style:text-properties
 style:text-position="super 58%"/></style:style>
<style:style style:name="B" style:family="paragraph"><style:paragraph-properties
 fo:break-before="page"/></style:style>
<style:style style:name="D" style:family="drawing-page"><style:drawing-page-properties
 presentation:visibility="hidden"/></style:style>
"""


def test_hidden_struck_and_raised_text_is_marked(read: Reader) -> None:
    span = '<text:span text:style-name="{}">{}</text:span>'
    hidden, struck = span.format("H", "secret"), span.format("S", "old")
    body = f"<text:p>{hidden} {struck} 10{span.format('U', '6')}</text:p>"
    section = '<text:section text:display="none"><text:p>later</text:p></text:section>'
    assert read.text(opendocument("text", body + section, styles=STYLES)) == (
        "[Hidden: secret] ~~old~~ 10⁶\n\n[Hidden: later]"
    )


def test_pages_begin_where_a_style_says_so(read: Reader) -> None:
    body = '<text:p>One</text:p><text:p text:style-name="B">Two</text:p>'
    assert read.document(opendocument("text", body, styles=STYLES)).pages == ("One", "Two")


LIST = """
<text:list-style style:name="L">
 <text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>
 <text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")"/>
 <text:list-level-style-number text:level="3" style:num-format="1" text:display-levels="3"/>
</text:list-style>
"""


def items(*texts: str, attributes: str = 'text:style-name="L"') -> str:
    inside = "".join(f"<text:list-item>{text}</text:list-item>" for text in texts)
    return f"<text:list {attributes}>{inside}</text:list>"


def test_numbers_of_lists_are_shown_and_go_on(read: Reader) -> None:
    deep = items("<text:p>deep</text:p>", attributes="")
    nested = items("<text:p>b</text:p>", f"<text:p>c</text:p>{deep}", attributes="")
    body = items(f"<text:p>a</text:p>{nested}", "<text:p>d</text:p>") + "<text:p>between</text:p>"
    body += items(
        "<text:p>e</text:p>", attributes='text:style-name="L" text:continue-numbering="true"'
    )
    assert read.text(opendocument("text", body, styles=LIST)) == (
        "1. a\na) b\nb) c\n1.b.1 deep\n2. d\n\nbetween\n\n3. e"
    )


def test_the_title_is_a_heading(read: Reader) -> None:
    style = (
        '<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Title"/>'
    )
    package = opendocument("text", '<text:p text:style-name="P1">Plan</text:p>', styles=style)
    assert read.text(package) == "# Plan"


def test_lists_that_follow_each_other_go_on_on_slides(read: Reader) -> None:
    lists = items("<text:p>a</text:p>") + items("<text:p>b</text:p>")
    slide = f"<draw:page>{frame(f'<draw:text-box>{lists}</draw:text-box>')}</draw:page>"
    assert read.text(opendocument("presentation", slide, styles=LIST)) == "1. a\n2. b"
    assert read.text(opendocument("text", lists, styles=LIST)) == "1. a\n1. b"


def test_numbered_headings_are_headings(read: Reader) -> None:
    heading = '<text:h text:outline-level="1">Scope</text:h>'
    assert read.text(opendocument("text", items(heading), styles=LIST)) == "# 1. Scope"


def test_cells_merged_downwards_repeat_their_text(read: Reader) -> None:
    cell = "<table:table-cell {}><text:p>{}</text:p></table:table-cell>"
    covered = "<table:covered-table-cell/>"
    rows = (
        cell.format('table:number-columns-spanned="2"', "Both") + covered,
        cell.format('table:number-rows-spanned="2"', "North") + cell.format("", "1"),
        covered + cell.format("", "2"),
    )
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    assert read.text(opendocument("text", f"<table:table>{body}</table:table>")) == (
        "| Both |  |\n| --- | --- |\n| North | 1 |\n| North | 2 |"
    )


def test_equations_are_latex(read: Reader) -> None:
    math = (
        '<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mrow><mi>E</mi><mo>=</mo>'
        "<mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></mrow>"
        '<annotation encoding="StarMath 5.0">E = m c^2</annotation></semantics></math>'
    )
    body = f"<text:p>So {frame('<draw:object xlink:href=&quot;./Object 1&quot;/>')}.</text:p>"
    body = body.replace("&quot;", '"')
    package = opendocument("text", body, {"Object 1/content.xml": math})
    assert read.text(package) == "So $E=mc^2$."


def test_charts_become_tables(read: Reader) -> None:
    rows = "".join(
        f"<table:table-row><table:table-cell><text:p>{label}</text:p></table:table-cell>"
        f'<table:table-cell office:value="{value}"><text:p>x</text:p></table:table-cell>'
        "</table:table-row>"
        for label, value in (("2025", "1.5"), ("2026", "2"))
    )
    head = "<table:table-cell/><table:table-cell><text:p>Sales</text:p></table:table-cell>"
    head = f"<table:table-row>{head}</table:table-row>"
    head = f"<table:table-header-rows>{head}</table:table-header-rows>"
    chart = (
        "<chart:chart><chart:title><text:p>Growth</text:p></chart:title><chart:plot-area><chart:axis>"
        "<chart:title><text:p>Year</text:p></chart:title></chart:axis></chart:plot-area>"
        f"<table:table>{head}{rows}</table:table></chart:chart>"
    )
    part = odf(
        "office:document-content",
        f"<office:body><office:chart>{chart}</office:chart></office:body>",
    )
    body = f"<text:p>Look:{frame(OBJECT)}</text:p>"
    assert read.text(opendocument("text", body, {"Object 1/content.xml": part})) == (
        "Look:\n\n[Chart: Growth]\n\nAxes: Year\n\n"
        "|  | Sales |\n| --- | --- |\n| 2025 | 1.5 |\n| 2026 | 2 |"
    )


def test_embedded_files_and_videos_are_named(read: Reader) -> None:
    sheet = frame('<draw:object xlink:href="./Object 2"/>', 'draw:name="Budget"')
    video = frame('<draw:plugin xlink:href="Media/tour.mp4"/>')
    part = odf("office:document-content", "<office:body><office:spreadsheet/></office:body>")
    package = opendocument(
        "text", f"<text:p>{sheet}{video}</text:p>", {"Object 2/content.xml": part}
    )
    document = read.document(package)
    assert document.pages == ("[Embedded file: Budget][Video is left out: tour.mp4]",)
    assert document.left_out == (LeftOut("attachment", 2),)


def test_form_fields_show_their_values(read: Reader) -> None:
    forms = (
        "<office:forms><form:form>"
        '<form:checkbox form:id="c1" form:label="I agree" form:current-state="checked"/>'
        '<form:text form:id="c2" form:name="Name" form:current-value="Ann"/>'
        "</form:form></office:forms>"
    )
    controls = '<draw:control draw:control="c1"/> <draw:control draw:control="c2"/>'
    body = f"{forms}<text:p>{controls}</text:p>"
    assert read.text(opendocument("text", body)) == (
        "[Form field I agree: ☒] [Form field Name: Ann]"
    )


def test_ruby_stands_behind_its_text(read: Reader) -> None:
    ruby = "<text:ruby-base>漢字</text:ruby-base><text:ruby-text>かんじ</text:ruby-text>"
    body = f"<text:p><text:ruby>{ruby}</text:ruby>です</text:p>"
    assert read.text(opendocument("text", body)) == "漢字(かんじ)です"


def test_slides_have_titles_comments_footers_and_hidden_ones(read: Reader) -> None:
    declared = '<presentation:footer-decl presentation:name="f">Acme</presentation:footer-decl>'
    box = "<draw:text-box><text:p>{}</text:p></draw:text-box>"
    title = frame(box.format("Plan"), 'presentation:class="title"')
    comment = (
        "<office:annotation><dc:creator>Ann</dc:creator><text:p>Why?</text:p></office:annotation>"
    )
    number = frame(box.format("7"), 'presentation:class="page-number"')
    shapes = f"{comment}{frame(box.format('Text'))}{number}{title}"
    body = (
        f'{declared}<draw:page presentation:use-footer-name="f" draw:style-name="D">{shapes}'
        "</draw:page>"
        f'<draw:page presentation:use-footer-name="f">{frame(IMAGE)}</draw:page>'
    )
    document = read.document(opendocument("presentation", body, MEDIA, styles=STYLES))
    assert document.pages == (
        "(hidden slide)\n\n## Plan\n\n[Comment by Ann: Why?]\n\nText\n\n[Footer: Acme]",
        "[Picture 1]",
    )


def test_drawings_are_read_page_by_page(read: Reader) -> None:
    page = "<draw:page><draw:rect><text:p>{}</text:p></draw:rect></draw:page>"
    document = read.document(opendocument("graphics", page.format("One") * 2))
    assert (document.unit, document.pages) == ("Page", ("One", "One"))


def test_the_field_with_the_title_is_text(read: Reader) -> None:
    body = "<text:p>About: <text:title>Annual Report</text:title>!</text:p>"
    assert read.text(opendocument("text", body)) == "About: Annual Report!"


def test_a_manifest_may_declare_a_document_type_without_entities(read: Reader) -> None:
    manifest = (
        '<!DOCTYPE manifest PUBLIC "-//OpenOffice.org//DTD Manifest 1.0//EN" "Manifest.dtd">'
        f'<manifest xmlns="{ODF}:manifest:1.0"/>'
    )
    parts: Parts = {"META-INF/manifest.xml": manifest}
    assert read.text(opendocument("text", "<text:p>Hello</text:p>", parts)) == "Hello"
