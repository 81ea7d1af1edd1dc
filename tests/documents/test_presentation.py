"""Content besides text in PowerPoint slides is read in its place, or named as left out."""

from bench.documents.office_packages import (
    DECLARED,
    element,
    png,
    powerpoint,
    shape,
    slide,
)
from chatapp.documents import LeftOut
from tests.documents.conftest import Reader

SLIDE = "ppt/slides/slide1.xml"
MEDIA = {"ppt/media/one.png": png()}
IMAGE = ("rId1", "image", "../media/one.png")


def picture(description: str = "", inside: str = "", key: str = "rId1") -> str:
    properties = f'<p:cNvPr id="3" name="Picture 3" descr="{description}"/>'
    blip = f'<p:blipFill><a:blip r:embed="{key}"/></p:blipFill>'
    return f"<p:pic><p:nvPicPr>{properties}<p:nvPr>{inside}</p:nvPr></p:nvPicPr>{blip}</p:pic>"


def test_pictures_stand_in_their_place_and_titles_come_first(read: Reader) -> None:
    shapes = picture("A red square") + shape("Below") + shape("Plan", "title")
    package = powerpoint([slide(shapes)], MEDIA, {SLIDE: [IMAGE]})
    document = read.document(package)
    assert document.pages == ("## Plan\n\n[Picture 1: A red square]\n\nBelow",)
    assert len(document.pictures) == 1


def test_a_slide_of_a_picture_only_is_not_empty(read: Reader) -> None:
    background = '<p:bg><p:bgPr><a:blipFill><a:blip r:embed="rId1"/></a:blipFill></p:bgPr></p:bg>'
    content = f"<p:sld {DECLARED}><p:cSld>{background}</p:cSld></p:sld>"
    document = read.document(powerpoint([content], MEDIA, {SLIDE: [IMAGE]}))
    assert (document.pages, len(document.pictures)) == (("[Picture 1]",), 1)


def test_shapes_filled_with_a_picture_keep_their_text(read: Reader) -> None:
    fill = '<p:spPr><a:blipFill><a:blip r:embed="rId1"/></a:blipFill></p:spPr>'
    body = "<p:txBody><a:p><a:r><a:t>Caption</a:t></a:r></a:p></p:txBody>"
    shapes = f"<p:sp><p:nvSpPr><p:nvPr/></p:nvSpPr>{fill}{body}</p:sp>"
    package = powerpoint([slide(shapes)], MEDIA, {SLIDE: [IMAGE]})
    assert read.text(package) == "[Picture 1]\n\nCaption"


def test_videos_are_named_and_counted(read: Reader) -> None:
    shapes = picture(inside='<a:videoFile r:link="rId2"/>')
    relations = {SLIDE: [IMAGE, ("rId2", "video", "../media/tour.mp4")]}
    document = read.document(powerpoint([slide(shapes)], MEDIA, relations))
    assert document.pages == ("[Picture 1]\n\n[Video is left out: tour.mp4]",)
    assert document.left_out == (LeftOut("attachment", 1),)


def test_comments_of_both_kinds_have_authors_and_replies(read: Reader) -> None:
    old = '<p:cm authorId="0"><p:text>Too long</p:text></p:cm>'
    text = "<p188:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p188:txBody>"
    reply = f'<p188:reply authorId="B">{text.format("Done")}</p188:reply>'
    replies = f"<p188:replyLst>{reply}</p188:replyLst>"
    new = f'<p188:cm authorId="A" status="resolved">{replies}{text.format("Cite?")}</p188:cm>'
    parts = {
        "ppt/comments/old.xml": element("p:cmLst", old),
        "ppt/comments/new.xml": element("p188:cmLst", new),
        "ppt/commentAuthors.xml": element("p:cmAuthorLst", '<p:cmAuthor id="0" name="Ann"/>'),
        "ppt/authors.xml": element(
            "p188:authorLst", '<p188:author id="A" name="Bo"/><p188:author id="B" name="Cy"/>'
        ),
    }
    relations = {
        SLIDE: [
            ("c1", "comments", "../comments/old.xml"),
            ("c2", "comments", "../comments/new.xml"),
        ]
    }
    authors = [("a1", "commentAuthors", "commentAuthors.xml"), ("a2", "authors", "authors.xml")]
    package = powerpoint([slide(shape("Text"))], parts, relations, *authors)
    assert read.text(package) == (
        "Text\n\n[Comment by Ann: Too long]\n\n"
        "[Resolved comment by Bo: Cite?]\n\n[Reply by Cy: Done]"
    )


def test_footers_come_once_and_numbers_of_slides_never(read: Reader) -> None:
    shapes = shape("Text") + shape("Acme", "ftr") + shape("7", "sldNum")
    pages = read.document(powerpoint([slide(shapes), slide(shapes)])).pages
    assert pages == ("Text\n\n[Footer: Acme]", "Text")


def test_hidden_slides_and_shapes_are_marked(read: Reader) -> None:
    hidden = shape("Draft").replace('name="Shape"', 'name="Shape" hidden="1"')
    package = powerpoint([slide(shape("Text") + hidden, 'show="0"')])
    assert read.text(package) == "(hidden slide)\n\nText\n\n[Hidden: Draft]"


def text_shape(*paragraphs: str) -> str:
    return f"<p:sp><p:nvSpPr><p:nvPr/></p:nvSpPr><p:txBody>{''.join(paragraphs)}</p:txBody></p:sp>"


def line(text: str, properties: str = "", run_properties: str = "") -> str:
    return f"<a:p>{properties}<a:r>{run_properties}<a:t>{text}</a:t></a:r></a:p>"


def test_numbered_items_are_counted(read: Reader) -> None:
    numbers = '<a:pPr><a:buAutoNum type="arabicPeriod" startAt="3"/></a:pPr>'
    letters = '<a:pPr lvl="1"><a:buAutoNum type="alphaLcParenR"/></a:pPr>'
    lines = [line("a", numbers), line("b", letters), line("c", letters), line("d", numbers)]
    bullet = '<a:pPr><a:buChar char="•"/></a:pPr>'
    package = powerpoint([slide(text_shape(*lines, line("e", bullet), line("f")))])
    assert read.text(package) == "3. a\n   a) b\n   b) c\n4. d\n- e\nf"


def test_runs_keep_links_symbols_and_superscripts(read: Reader) -> None:
    link = '<a:rPr><a:hlinkClick r:id="rId9"/></a:rPr>'
    arrow = '<a:rPr><a:sym typeface="Wingdings"/></a:rPr>'
    raised = '<a:rPr baseline="30000"/>'
    struck = '<a:rPr strike="sngStrike"/>'
    lines = [
        line("site", run_properties=link),
        line("à", run_properties=arrow),
        line("2", run_properties=raised),
        line("old", run_properties=struck),
    ]
    relations = {SLIDE: [("rId9", "hyperlink", "https://example.org/")]}
    package = powerpoint([slide(text_shape(*lines))], {}, relations)
    assert read.text(package) == "[site](https://example.org/)\n→\n²\n~~old~~"


def frame(inside: str, description: str = "") -> str:
    properties = f'<p:nvGraphicFramePr><p:cNvPr id="4" descr="{description}"/></p:nvGraphicFramePr>'
    data = f"<a:graphic><a:graphicData>{inside}</a:graphicData></a:graphic>"
    return f"<p:graphicFrame>{properties}{data}</p:graphicFrame>"


def test_merged_cells_have_their_text_in_each_row(read: Reader) -> None:
    def cell(text: str, attributes: str = "") -> str:
        return f"<a:tc {attributes}><a:txBody>{line(text)}</a:txBody></a:tc>"

    rows = (
        cell("Both", 'gridSpan="2"') + cell("", 'hMerge="1"'),
        cell("North", 'rowSpan="2"') + cell("1"),
        cell("", 'vMerge="1"') + cell("2"),
    )
    table = "".join(f"<a:tr>{row}</a:tr>" for row in rows)
    package = powerpoint([slide(frame(f"<a:tbl>{table}</a:tbl>"))])
    assert read.text(package) == "| Both |  |\n| --- | --- |\n| North | 1 |\n| North | 2 |"


def test_diagrams_are_nested_lists(read: Reader) -> None:
    def point(key: str, text: str = "", kind: str = "node") -> str:
        words = f"<dgm:t>{line(text)}</dgm:t>" if text else ""
        return f'<dgm:pt modelId="{key}" type="{kind}">{words}</dgm:pt>'

    def connection(parent: str, below: str, order: int) -> str:
        return f'<dgm:cxn srcId="{parent}" destId="{below}" srcOrd="{order}"/>'

    points = point("0", kind="doc") + point("2", "Sales") + point("1", "Chair") + point("3", "Ann")
    lines = connection("0", "1", 0) + connection("1", "2", 0) + connection("2", "3", 0)
    cycle = connection("3", "1", 0)
    content = f"<dgm:ptLst>{points}</dgm:ptLst><dgm:cxnLst>{lines}{cycle}</dgm:cxnLst>"
    parts = {"ppt/diagrams/data1.xml": element("dgm:dataModel", content)}
    relations = {SLIDE: [("rId5", "diagramData", "../diagrams/data1.xml")]}
    package = powerpoint([slide(frame('<dgm:relIds r:dm="rId5"/>'))], parts, relations)
    assert read.text(package) == "[Diagram]\n\n- Chair\n  - Sales\n    - Ann"


def test_embedded_files_are_named(read: Reader) -> None:
    inside = '<p:oleObj name="Budget" r:id="rId6" progId="Excel.Sheet.12"/>'
    inside = f"<mc:AlternateContent><mc:Choice>{inside}</mc:Choice></mc:AlternateContent>"
    relations = {SLIDE: [("rId6", "package", "../embeddings/a.xlsx")]}
    document = read.document(powerpoint([slide(frame(inside))], {}, relations))
    assert document.pages == ("[Embedded file: Budget (Excel.Sheet.12)]",)
    assert document.left_out == (LeftOut("attachment", 1),)


def test_the_picture_of_an_embedded_file_is_shown(read: Reader) -> None:
    own = '<p:oleObj name="Photo" r:id="rId6"{}</p:oleObj>'
    choice = f"<mc:Choice>{own.format('>')}</mc:Choice>"
    fallback = f"<mc:Fallback>{own.format('>' + picture())}</mc:Fallback>"
    both = f"<mc:AlternateContent>{choice}{fallback}</mc:AlternateContent>"
    relations = {SLIDE: [IMAGE, ("rId6", "oleObject", "../embeddings/a.bin")]}
    document = read.document(powerpoint([slide(frame(both))], MEDIA, relations))
    assert document.pages == ("[Embedded file: Photo]\n\n[Picture 1]",)
    assert document.left_out == (LeftOut("attachment", 1),)


def test_notes_that_are_only_a_footer_are_no_notes(read: Reader) -> None:
    content = f"<p:cSld><p:spTree>{shape('2026', 'dt')}</p:spTree></p:cSld>"
    relations = {SLIDE: [("n", "notesSlide", "../notes.xml")]}
    parts = {"ppt/notes.xml": element("p:notes", content)}
    package = powerpoint([slide(shape("Text"))], parts, relations)
    assert read.text(package) == "Text\n\n[Footer: 2026]"


def test_equations_of_the_first_alternative_are_read(read: Reader) -> None:
    math = (
        "<m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>"
    )
    equation = f"<a:p><a14:m><m:oMathPara><m:oMath>{math}</m:oMath></m:oMathPara></a14:m></a:p>"
    choice = f'<mc:Choice Requires="a14">{text_shape(equation)}</mc:Choice>'
    fallback = f"<mc:Fallback>{shape('picture')}</mc:Fallback>"
    both = f"<mc:AlternateContent>{choice}{fallback}</mc:AlternateContent>"
    assert read.text(powerpoint([slide(both)])) == "$x^2$"
