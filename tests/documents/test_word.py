"""Content besides paragraphs in Word files is read in its place, or named as left out."""

import pytest

from bench.documents.office_packages import Parts, element, office, paragraph, png, run, word
from chatapp.documents import LeftOut
from tests.documents.conftest import Reader

IMAGE = ("rId1", "image", "media/one.png")
MEDIA = {"word/media/one.png": png()}


def drawing(inside: str, description: str = "", more: str = "") -> str:
    properties = f'<wp:docPr id="1" name="Picture 3" descr="{description}">{more}</wp:docPr>'
    graphic = f"<a:graphic><a:graphicData>{inside}</a:graphicData></a:graphic>"
    return f"<w:r><w:drawing><wp:inline>{properties}{graphic}</wp:inline></w:drawing></w:r>"


BLIP = '<pic:pic><pic:blipFill><a:blip r:embed="rId1"/></pic:blipFill></pic:pic>'


def test_a_picture_stands_in_its_place_with_its_alternative_text(read: Reader) -> None:
    body = f"<w:p>{run('See ')}{drawing(BLIP, 'A red square')}{run(' here.')}</w:p>"
    document = read.document(word(body, MEDIA, IMAGE))
    assert document.pages == ("See [Picture 1: A red square] here.",)
    (placed,) = document.pictures
    assert placed.offset == len("See [Picture 1: A red square]")


@pytest.mark.parametrize(
    ("description", "more"),
    [
        ("image1.png", ""),
        ("A line", '<a:extLst><a:ext><adec:decorative val="1"/></a:ext></a:extLst>'),
        ("Description automatically generated with low confidence", ""),
    ],
)
def test_descriptions_that_describe_nothing_are_left_out(
    read: Reader, description: str, more: str
) -> None:
    body = f"<w:p>{drawing(BLIP, description, more)}</w:p>"
    assert read.text(word(body, MEDIA, IMAGE)) == "[Picture 1]"


def test_pictures_of_old_programs_are_placed(read: Reader) -> None:
    shape = '<v:shape alt="Our logo"><v:imagedata r:id="rId1"/></v:shape>'
    body = f"<w:p><w:r><w:pict>{shape}</w:pict></w:r></w:p>"
    document = read.document(word(body, MEDIA, IMAGE))
    assert (document.pages, len(document.pictures)) == (("[Picture 1: Our logo]",), 1)


def test_linked_pictures_are_named_and_counted(read: Reader) -> None:
    blip = '<pic:pic><a:blip r:link="rId1"/></pic:pic>'
    body = f"<w:p>{drawing(blip, 'A map')}</w:p>"
    document = read.document(word(body, {}, ("rId1", "image", "http://example.org/a.png")))
    assert document.pages == ("[Picture is left out: it is not in the file: A map]",)
    assert document.left_out == (LeftOut("picture", 1),)


def test_vector_pictures_are_named_with_their_description(read: Reader) -> None:
    parts = {"word/media/one.emf": b"\x01\x00\x00\x00 EMF"}
    body = f"<w:p>{drawing(BLIP, 'A plan')}</w:p>"
    document = read.document(word(body, parts, ("rId1", "image", "media/one.emf")))
    assert document.pages == ("[Picture 1 is left out: it can't be read: A plan]",)
    assert document.left_out == (LeftOut("picture", 1),)


def test_alternatives_count_once_and_the_second_is_read_if_the_first_shows_nothing(
    read: Reader,
) -> None:
    choice = f"<mc:Choice>{drawing(BLIP)}</mc:Choice>"
    fallback = f"<mc:Fallback>{drawing(BLIP)}</mc:Fallback>"
    both = f"<w:p><mc:AlternateContent>{choice}{fallback}</mc:AlternateContent></w:p>"
    assert read.text(word(both, MEDIA, IMAGE)) == "[Picture 1]"
    empty = "<mc:Choice><w:r/></mc:Choice>"
    second = f"<w:p><mc:AlternateContent>{empty}{fallback}</mc:AlternateContent></w:p>"
    assert read.text(word(second, MEDIA, IMAGE)) == "[Picture 1]"


def test_text_boxes_follow_their_paragraph(read: Reader) -> None:
    content = f"<w:txbxContent>{paragraph('Beware')}</w:txbxContent>"
    box = f"<wps:wsp><wps:txbx>{content}</wps:txbx></wps:wsp>"
    body = f"<w:p>{run('Before')}{drawing(box)}{run(' after.')}</w:p>"
    assert read.text(word(body)) == "Before after.\n\n[Text box: Beware]"


def test_headers_and_footers_come_once_and_only_if_they_are_shown(read: Reader) -> None:
    page = (
        '<w:r><w:fldChar w:fldCharType="begin"/><w:instrText> PAGE </w:instrText>'
        f'<w:fldChar w:fldCharType="separate"/></w:r>{run("7")}'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )
    parts = {
        "word/header1.xml": element("w:hdr", paragraph("Draft") + paragraph("Acme")),
        "word/header2.xml": element("w:hdr", paragraph("Only on a first page")),
        "word/footer1.xml": element("w:ftr", f"<w:p>{run('Page ')}{page}</w:p>"),
    }
    references = (
        '<w:headerReference w:type="default" r:id="h1"/>'
        '<w:headerReference w:type="first" r:id="h2"/>'
        '<w:footerReference w:type="default" r:id="f1"/>'
    )
    first = paragraph("One", f"<w:sectPr>{references}</w:sectPr>")
    body = f"{first}{paragraph('Two')}<w:sectPr>{references}</w:sectPr>"
    relations = [("h1", "header", "header1.xml"), ("h2", "header", "header2.xml")]
    package = word(body, parts, *relations, ("f1", "footer", "footer1.xml"))
    assert read.document(package).pages == (
        "[Header: Draft Acme]\n\nOne",
        "Two\n\n[Footer: Page #]",
    )


def comments(*texts: tuple[str, str]) -> str:
    return element(
        "w:comments",
        "".join(
            f'<w:comment w:id="{i}" w:author="{author}"><w:p w14:paraId="P{i}">{run(text)}</w:p>'
            "</w:comment>"
            for i, (author, text) in enumerate(texts)
        ),
    )


def test_comments_stand_behind_what_they_are_on(read: Reader) -> None:
    parts = {
        "word/comments.xml": comments(("Ann", "Too high?"), ("Bob", "Agreed"), ("", "No place")),
        "word/commentsExtended.xml": element(
            "w15:commentsEx", '<w15:commentEx w15:paraId="P1" w15:done="1"/>'
        ),
    }
    references = (
        '<w:r><w:commentReference w:id="0"/></w:r><w:r><w:commentReference w:id="1"/></w:r>'
    )
    body = f"<w:p>{run('5 %')}{references}{references}{run(' a year')}</w:p>"
    relations = [
        ("c", "comments", "comments.xml"),
        ("e", "commentsExtended", "commentsExtended.xml"),
    ]
    assert read.text(word(body, parts, *relations)) == (
        "5 % [Comment by Ann: Too high?] [Resolved comment by Bob: Agreed] a year"
        "\n\n[Comment: No place]"
    )


def test_tracked_changes_are_read_as_accepted_and_counted(read: Reader) -> None:
    deleted = "<w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
    moved = f"<w:moveFrom>{run('moved')}</w:moveFrom>"
    body = f"<w:p>{deleted}<w:ins>{run('new')}</w:ins>{moved}{deleted}</w:p>"
    document = read.document(word(body))
    assert document.pages == ("new\n\n[2 tracked deletions are left out]",)
    assert document.left_out == (LeftOut("tracked deletion", 2),)


def test_hidden_struck_and_raised_text_is_marked(read: Reader) -> None:
    hidden = (
        run("sec", "<w:vanish/>") + run("ret", "<w:vanish/>") + run("!", '<w:vanish w:val="0"/>')
    )
    raised = run("10") + run("6", '<w:vertAlign w:val="superscript"/>')
    body = f"<w:p>{hidden}{run(' old ', '<w:strike/>')}{raised}</w:p>"
    assert read.text(word(body)) == "[Hidden: secret]! ~~old~~ 10⁶"


def test_form_fields_show_their_values(read: Reader) -> None:
    box = '<w:ffData><w:checkBox><w:default w:val="0"/><w:checked{}/></w:checkBox></w:ffData>'
    entries = '<w:listEntry w:val="red"/><w:listEntry w:val="blue"/>'
    choice = f'<w:ffData><w:ddList><w:result w:val="1"/>{entries}</w:ddList></w:ffData>'
    body = "".join(
        f'<w:p>{run(label)}<w:r><w:fldChar w:fldCharType="begin">{data}</w:fldChar>'
        '<w:instrText> FORM </w:instrText><w:fldChar w:fldCharType="end"/></w:r></w:p>'
        for label, data in (
            ("Yes ", box.format("")),
            ("No ", box.format(' w:val="0"')),
            ("Colour ", choice),
        )
    )
    placeholder = (
        "<w:p><w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>"
        f"{run('Click here')}</w:sdtContent></w:sdt></w:p>"
    )
    assert read.text(word(body + placeholder)) == (
        "Yes ☒\n\nNo ☐\n\nColour blue\n\n[Placeholder: Click here]"
    )


def test_links_made_by_fields_keep_their_address(read: Reader) -> None:
    field = (
        '<w:r><w:fldChar w:fldCharType="begin"/><w:instrText> HYPERLINK '
        '"https://example.org/a"</w:instrText><w:fldChar w:fldCharType="separate"/></w:r>'
        f'{run("our ")}{run("site")}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )
    assert read.text(word(f"<w:p>{field}</w:p>")) == "[our site](https://example.org/a)"


def test_ruby_symbols_and_soft_hyphens_are_readable(read: Reader) -> None:
    above, base = f"<w:rt>{run('かんじ')}</w:rt>", f"<w:rubyBase>{run('漢字')}</w:rubyBase>"
    ruby = f"<w:r><w:ruby>{above}{base}</w:ruby></w:r>"
    symbols = (
        '<w:r><w:sym w:font="Wingdings" w:char="F0FC"/><w:sym w:font="Symbol" w:char="F061"/>'
        '<w:sym w:font="Odd" w:char="F041"/><w:t>Donau</w:t><w:softHyphen/>'
        "<w:t>dampf\xad schiff</w:t>"
        "</w:r>"
    )
    assert read.text(word(f"<w:p>{ruby}{symbols}</w:p>")) == (
        "漢字(かんじ)✓\u03b1[Symbol F041 of Odd]Donaudampf schiff"
    )


NUMBERING = """
<w:abstractNum w:abstractNumId="0">
 <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
 <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl>
 <w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%3)"/>
 </w:lvl>
</w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="0"/>
 <w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride></w:num>
"""


def number_paragraph(text: str, level: int, numbering: int = 1, more: str = "") -> str:
    place = f'<w:ilvl w:val="{level}"/><w:numId w:val="{numbering}"/>'
    return paragraph(text, f"<w:numPr>{place}</w:numPr>{more}")


def test_numbers_of_clauses_are_those_that_word_shows(read: Reader) -> None:
    body = (
        number_paragraph("Scope", 0, more='<w:outlineLvl w:val="0"/>')
        + number_paragraph("Goods", 1)
        + number_paragraph("Services", 1)
        + number_paragraph("advice", 2)
        + number_paragraph("repair", 2)
        + number_paragraph("Price", 0)
        + number_paragraph("Net", 1)
        + number_paragraph("Term", 0, numbering=2)
    )
    parts = {"word/numbering.xml": element("w:numbering", NUMBERING)}
    assert read.text(word(body, parts, ("n", "numbering", "numbering.xml"))) == (
        "# 1. Scope\n\n1.1 Goods\n\n1.2 Services\n\n(a) advice\n(b) repair\n2. Price\n\n"
        "2.1 Net\n\n7. Term"
    )


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{text}</w:tc>"


def row(*cells: str, properties: str = "") -> str:
    return f"<w:tr><w:trPr>{properties}</w:trPr>{''.join(cells)}</w:tr>"


def test_cells_merged_downwards_repeat_their_text(read: Reader) -> None:
    table = row(cell(paragraph("Both"), '<w:gridSpan w:val="2"/>'))
    table += row(cell(paragraph("North"), '<w:vMerge w:val="restart"/>'), cell(paragraph("1")))
    table += row(cell("<w:p/>", "<w:vMerge/>"), cell(paragraph("2")))
    assert read.text(word(f"<w:tbl>{table}</w:tbl>")) == (
        "| Both |  |\n| --- | --- |\n| North | 1 |\n| North | 2 |"
    )


def test_tables_in_tables_stay_in_their_cell_and_frames_are_no_tables(read: Reader) -> None:
    inner = f"<w:tbl>{row(cell(paragraph('a|b')), cell(paragraph('c')))}</w:tbl>"
    table = f"<w:tbl>{row(cell(paragraph('x') + inner), cell(paragraph('y')))}</w:tbl>"
    assert read.text(word(table)) == "| x (a\\|b · c) | y |\n| --- | --- |"
    frame = f"<w:tbl>{row(cell(paragraph('One') + paragraph('Two')))}</w:tbl>"
    assert read.text(word(frame)) == "One\n\nTwo"


def test_a_table_ends_with_its_page_and_repeats_its_head(read: Reader) -> None:
    head = row(cell(paragraph("Item")), cell(paragraph("Price")), properties="<w:tblHeader/>")
    break_ = "<w:p><w:r><w:lastRenderedPageBreak/><w:t>b</w:t></w:r></w:p>"
    table = head + row(cell(paragraph("a")), cell(paragraph("1")))
    table += row(cell(break_), cell(paragraph("2")))
    assert read.document(word(f"<w:tbl>{table}</w:tbl>")).pages == (
        "| Item | Price |\n| --- | --- |\n| a | 1 |",
        "| Item | Price |\n| --- | --- |\n| b | 2 |",
    )


def test_pages_end_with_sections_and_within_items(read: Reader) -> None:
    continuous = '<w:sectPr><w:type w:val="continuous"/></w:sectPr>'
    body = paragraph("One", "<w:sectPr/>") + paragraph("Two", "<w:sectPr/>") + paragraph("three")
    assert read.document(word(body + continuous)).pages == ("One", "Two\n\nthree")


def test_embedded_files_are_named_and_counted(read: Reader) -> None:
    sheet = '<o:OLEObject ProgID="Excel.Sheet.12" r:id="rId7"/>'
    body = f"<w:p>{run('Sums: ')}<w:r><w:object>{sheet}</w:object></w:r></w:p>"
    parts = {"word/embeddings/sums.xlsx": b"PK"}
    document = read.document(word(body, parts, ("rId7", "package", "embeddings/sums.xlsx")))
    assert document.pages == ("Sums: [Embedded file: sums.xlsx (Excel.Sheet.12)]",)
    assert document.left_out == (LeftOut("attachment", 1),)


def test_equations_of_older_programs_are_named_without_their_picture(read: Reader) -> None:
    shape = '<v:shape><v:imagedata r:id="rId1"/></v:shape>'
    equation = '<o:OLEObject ProgID="Equation.3" r:id="rId7"/>'
    body = f"<w:p><w:r><w:object>{shape}{equation}</w:object></w:r></w:p>"
    parts = {"word/media/one.wmf": b"\xd7\xcd\xc6\x9a"}
    document = read.document(word(body, parts, ("rId1", "image", "media/one.wmf")))
    assert document.pages == ("[Equation is left out: an older program made it (Equation.3)]",)
    assert document.left_out == (LeftOut("equation", 1),)


def test_imported_parts_are_read_if_they_are_web_pages(read: Reader) -> None:
    body = paragraph("Before") + '<w:altChunk r:id="rId1"/><w:altChunk r:id="rId2"/>'
    parts: Parts = {
        "word/a.html": "<html><h2>Terms</h2><p>Net 30</p></html>",
        "word/b.docx": b"PK\0\0",
    }
    relations = [("rId1", "aFChunk", "a.html"), ("rId2", "aFChunk", "b.docx")]
    assert read.text(word(body, parts, *relations)) == (
        "Before\n\n## Terms\n\nNet 30\n\n[Embedded file: b.docx]"
    )


def test_a_drop_cap_belongs_to_its_word(read: Reader) -> None:
    body = paragraph("O", '<w:framePr w:dropCap="drop"/>') + paragraph("nce upon a time")
    assert read.text(word(body)) == "Once upon a time"


def test_strict_files_and_other_folders_are_read(read: Reader) -> None:
    body = element("w:document", f"<w:body>{paragraph('Elsewhere')}</w:body>").replace(
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    )
    assert read.text(office("Documents/1.xml", {"Documents/1.xml": body}, {})) == "Elsewhere"
