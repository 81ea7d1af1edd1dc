"""Word, PowerPoint and OpenDocument files with what real ones have besides paragraphs."""

from collections.abc import Iterator

from . import office_packages as make
from .case import Case

WORD, POWERPOINT = "Word", "PowerPoint"
TEXT, SLIDES = "OpenDocument text", "OpenDocument presentation"
SLIDE = "ppt/slides/slide1.xml"


def cases() -> Iterator[Case]:
    yield from _word_notes()
    yield from _word_paragraphs()
    yield from _word_fields_and_tables()
    yield from _word_drawings()
    yield from _word_objects()
    yield from _powerpoint_notes()
    yield from _powerpoint_slides()
    yield from _opendocument()


def _word_notes() -> Iterator[Case]:
    notes = "word/footnotes.xml"
    reference = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    note = f'<w:footnote w:id="2">{make.paragraph("Siehe Anlage B.")}</w:footnote>'
    yield Case(
        WORD,
        "footnotes",
        make.word(
            f"<w:p>{make.run('Der Vertrag gilt')}{reference}</w:p>",
            {notes: make.element("w:footnotes", note)},
            ("n", "footnotes", "footnotes.xml"),
        ),
        "Der Vertrag gilt Siehe Anlage B.",
    )
    remark = make.paragraph("Bitte prüfen")
    comment = f'<w:comment w:id="0" w:author="Änne">{remark}</w:comment>'
    mark = '<w:r><w:commentReference w:id="0"/></w:r>'
    yield Case(
        WORD,
        "comments",
        make.word(
            f"<w:p>{make.run('Die Miete beträgt 900 €')}{mark}</w:p>",
            {"word/comments.xml": make.element("w:comments", comment)},
            ("c", "comments", "comments.xml"),
        ),
        "Die Miete beträgt 900 € Änne Bitte prüfen",
    )
    references = '<w:headerReference w:type="default" r:id="h"/>'
    references += '<w:footerReference w:type="default" r:id="f"/>'
    yield Case(
        WORD,
        "headers and footers",
        make.word(
            f"{make.paragraph('Body')}<w:sectPr>{references}</w:sectPr>",
            {
                "word/h.xml": make.element("w:hdr", make.paragraph("Confidential draft")),
                "word/f.xml": make.element("w:ftr", make.paragraph("Acme Ltd")),
            },
            ("h", "header", "h.xml"),
            ("f", "footer", "f.xml"),
        ),
        "Confidential draft Body Acme Ltd",
    )


def _word_paragraphs() -> Iterator[Case]:
    level = '<w:lvl w:ilvl="{}"><w:numFmt w:val="{}"/><w:lvlText w:val="{}"/></w:lvl>'
    levels = level.format(0, "decimal", "§ %1") + level.format(1, "lowerLetter", "(%2)")
    numbering = f'<w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>'
    numbering += '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    own = '<w:numPr><w:ilvl w:val="{}"/><w:numId w:val="1"/></w:numPr>'
    clauses = (("Geltung", 0), ("Waren", 1), ("Dienste", 1), ("Preise", 0))
    yield Case(
        WORD,
        "numbered clauses",
        make.word(
            "".join(make.paragraph(text, own.format(depth)) for text, depth in clauses),
            {"word/numbering.xml": make.element("w:numbering", numbering)},
            ("n", "numbering", "numbering.xml"),
        ),
        "§ 1 Geltung (a) Waren (b) Dienste § 2 Preise",
    )
    deleted = "<w:del><w:r><w:delText>dreißig</w:delText></w:r></w:del>"
    inserted = f"<w:ins>{make.run('vierzehn')}</w:ins>"
    yield Case(
        WORD,
        "tracked changes",
        make.word(f"<w:p>{make.run('binnen ')}{deleted}{inserted}{make.run(' Tagen')}</w:p>"),
        "binnen vierzehn Tagen 1 tracked deletion",
    )
    above, base = (
        f"<w:rt>{make.run('きょう')}</w:rt>",
        f"<w:rubyBase>{make.run('今日')}</w:rubyBase>",
    )
    yield Case(
        WORD,
        "ruby",
        make.word(
            f"<w:p><w:r><w:ruby>{above}{base}</w:ruby></w:r>{make.run('は晴れです。')}</w:p>"
        ),
        "今日 きょう は晴れです",
    )


def _word_fields_and_tables() -> Iterator[Case]:
    box = "<w:ffData><w:checkBox><w:checked/></w:checkBox></w:ffData>"
    field = f'<w:r><w:fldChar w:fldCharType="begin">{box}</w:fldChar></w:r>'
    field += '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    control = f"<w:sdt><w:sdtPr/><w:sdtContent>{make.run('Haifa')}</w:sdtContent></w:sdt>"
    yield Case(
        WORD,
        "form fields",
        make.word(f"<w:p>{field}{make.run(' עיר: ')}{control}</w:p>"),
        "☒ עיר Haifa",
    )
    cell = "<w:tc><w:tcPr>{}</w:tcPr>{}</w:tc>"
    first = cell.format('<w:vMerge w:val="restart"/>', make.paragraph("الشمال"))
    rows = first + cell.format("", make.paragraph("١٢"))
    following = cell.format("<w:vMerge/>", "<w:p/>") + cell.format("", make.paragraph("١٣"))
    yield Case(
        WORD,
        "merged cells",
        make.word(f"<w:tbl><w:tr>{rows}</w:tr><w:tr>{following}</w:tr></w:tbl>"),
        "الشمال ١٢ الشمال ١٣",
    )


def _word_drawings() -> Iterator[Case]:
    box = f"<w:txbxContent>{make.paragraph('Wichtig: vor Gebrauch lesen')}</w:txbxContent>"
    drawing = f"<w:r><w:drawing><wps:wsp>{box}</wps:wsp></w:drawing></w:r>"
    choice = f"<mc:Choice>{drawing}</mc:Choice><mc:Fallback>{drawing}</mc:Fallback>"
    yield Case(
        WORD,
        "text boxes",
        make.word(f"<w:p><mc:AlternateContent>{choice}</mc:AlternateContent></w:p>"),
        "Wichtig: vor Gebrauch lesen",
    )
    described = '<wp:docPr id="1" name="Picture 1" descr="Plan of the second floor"/>'
    blip = f'<w:drawing><wp:inline>{described}<a:blip r:embed="i"/></wp:inline></w:drawing>'
    yield Case(
        WORD,
        "pictures with descriptions",
        make.word(
            f"<w:p>{make.run('See ')}<w:r>{blip}</w:r></w:p>",
            {"word/media/plan.png": make.png()},
            ("i", "image", "media/plan.png"),
        ),
        "See Picture 1 Plan of the second floor",
    )
    run = "<m:r><m:t>{}</m:t></m:r>"
    fraction = f"<m:f><m:num>{run.format('a')}</m:num><m:den>{run.format('b')}</m:den></m:f>"
    yield Case(
        WORD,
        "equations",
        make.word(
            f"<w:p>{make.run('Quote: ')}<m:oMath>{run.format('q=')}{fraction}</m:oMath></w:p>"
        ),
        "Quote: q= frac a b",
    )


def _word_objects() -> Iterator[Case]:
    yield Case(
        WORD,
        "charts",
        make.word(
            '<w:p><w:r><w:drawing><c:chart r:id="k"/></w:drawing></w:r></w:p>',
            {"word/charts/chart1.xml": _chart()},
            ("k", "chart", "charts/chart1.xml"),
        ),
        "Umsatz Süd 2025 12 2026 15",
    )
    sheet = '<w:object><o:OLEObject ProgID="Excel.Sheet.12" r:id="e"/></w:object>'
    yield Case(
        WORD,
        "embedded files",
        make.word(
            f"<w:p><w:r>{sheet}</w:r></w:p>",
            {"word/embeddings/budget.xlsx": b"PK"},
            ("e", "package", "embeddings/budget.xlsx"),
        ),
        "Embedded file budget.xlsx",
    )


def _chart() -> str:
    def points(*values: object) -> str:
        return "".join(f'<c:pt idx="{i}"><c:v>{each}</c:v></c:pt>' for i, each in enumerate(values))

    title = (
        "<c:title><c:tx><c:rich><a:p><a:r><a:t>Umsatz</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    )
    names = f"<c:tx>{points('Süd')}</c:tx><c:cat>{points('2025', '2026')}</c:cat>"
    series = f"<c:ser>{names}<c:val>{points(12, 15)}</c:val></c:ser>"
    plot = f"<c:plotArea><c:barChart>{series}</c:barChart></c:plotArea>"
    return make.element("c:chartSpace", f"<c:chart>{title}{plot}</c:chart>")


def _powerpoint_notes() -> Iterator[Case]:
    notes = f"<p:cSld><p:spTree>{make.shape('Сказать спасибо', 'body')}</p:spTree></p:cSld>"
    yield Case(
        POWERPOINT,
        "notes",
        make.powerpoint(
            [make.slide(make.shape("Итоги года", "title"))],
            {"ppt/notesSlides/n1.xml": make.element("p:notes", notes)},
            {SLIDE: [("n", "notesSlide", "../notesSlides/n1.xml")]},
        ),
        "Итоги года Notes: Сказать спасибо",
    )
    comment = '<p:cm authorId="3"><p:text>Source?</p:text></p:cm>'
    yield Case(
        POWERPOINT,
        "comments",
        make.powerpoint(
            [make.slide(make.shape("Sales doubled"))],
            {
                "ppt/comments/c1.xml": make.element("p:cmLst", comment),
                "ppt/commentAuthors.xml": make.element(
                    "p:cmAuthorLst", '<p:cmAuthor id="3" name="Zoë"/>'
                ),
            },
            {SLIDE: [("c", "comments", "../comments/c1.xml")]},
            ("a", "commentAuthors", "commentAuthors.xml"),
        ),
        "Sales doubled Comment by Zoë Source?",
    )


def _powerpoint_slides() -> Iterator[Case]:
    text = "<dgm:t><a:p><a:r><a:t>{}</a:t></a:r></a:p></dgm:t>"
    points = "".join(
        f'<dgm:pt modelId="{i}">{text.format(word)}</dgm:pt>'
        for i, word in enumerate(("計画", "実行", "評価"))
    )
    data = make.element("dgm:dataModel", f"<dgm:ptLst>{points}</dgm:ptLst>")
    graphic = '<a:graphic><a:graphicData><dgm:relIds r:dm="d"/></a:graphicData></a:graphic>'
    yield Case(
        POWERPOINT,
        "diagrams",
        make.powerpoint(
            [make.slide(f"<p:graphicFrame>{graphic}</p:graphicFrame>")],
            {"ppt/diagrams/data1.xml": data},
            {SLIDE: [("d", "diagramData", "../diagrams/data1.xml")]},
        ),
        "計画 実行 評価",
    )
    chart = '<a:graphic><a:graphicData><c:chart r:id="k"/></a:graphicData></a:graphic>'
    yield Case(
        POWERPOINT,
        "charts",
        make.powerpoint(
            [make.slide(f"<p:graphicFrame>{chart}</p:graphicFrame>")],
            {"ppt/charts/chart1.xml": _chart()},
            {SLIDE: [("k", "chart", "../charts/chart1.xml")]},
        ),
        "Umsatz Süd 2025 12 2026 15",
    )
    hidden = make.slide(make.shape("Reserve") + make.shape("Acme", "ftr"), 'show="0"')
    yield Case(POWERPOINT, "hidden slides", make.powerpoint([hidden]), "hidden slide Reserve Acme")


def _opendocument() -> Iterator[Case]:
    comment = "<office:annotation><dc:creator>Ana</dc:creator><text:p>¿Cuánto?</text:p>"
    note = "<text:note><text:note-body><text:p>Sin IVA</text:p></text:note-body></text:note>"
    body = f"<text:p>El precio{comment}</office:annotation> final{note}</text:p>"
    words = "El precio Comment by Ana ¿Cuánto? final Sin IVA"
    yield Case(TEXT, "comments and notes", make.opendocument("text", body), words)
    header = "<style:header><text:p>دليل المستخدم</text:p></style:header>"
    master = f'<style:master-page style:name="Standard">{header}</style:master-page>'
    package = make.opendocument("text", "<text:p>مرحبا بالعالم</text:p>", masters=master)
    yield Case(TEXT, "headers", package, "دليل المستخدم مرحبا بالعالم")
    level = '<text:list-level-style-number text:level="1" style:num-format="1"/>'
    style = f'<text:list-style style:name="L">{level}</text:list-style>'
    items = "".join(
        f"<text:list-item><text:p>{word}</text:p></text:list-item>" for word in ("하나", "둘")
    )
    body = f'<text:list text:style-name="L">{items}</text:list>'
    package = make.opendocument("text", body, styles=style)
    yield Case(TEXT, "numbered lists", package, "1 하나 2 둘")
    math = "<math><msup><mi>x</mi><mn>2</mn></msup></math>"
    frame = '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'
    package = make.opendocument(
        "text", f"<text:p>Fläche {frame}</text:p>", {"Object 1/content.xml": math}
    )
    yield Case(TEXT, "equations", package, "Fläche x 2")
    box = "<draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
    notes = f"<presentation:notes>{box.format('Pausa')}</presentation:notes>"
    body = f"<draw:page>{box.format('Introducción')}{notes}</draw:page>"
    yield Case(
        SLIDES, "notes", make.opendocument("presentation", body), "Introducción Notes: Pausa"
    )
    picture = '<draw:frame><draw:image xlink:href="Pictures/a.png"/><svg:desc>Torre</svg:desc>'
    package = make.opendocument(
        "presentation",
        f"<draw:page>{picture}</draw:frame></draw:page>",
        {"Pictures/a.png": make.png()},
    )
    yield Case(SLIDES, "pictures with descriptions", package, "Picture 1 Torre")
