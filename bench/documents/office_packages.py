"""Puts small Word, PowerPoint and OpenDocument files together from the XML of their parts."""

import io
import zipfile
from collections.abc import Mapping, Sequence

from PIL import Image

OFFICE = "http://schemas.openxmlformats.org"
PACKAGE = f"{OFFICE}/package/2006"
KIND = f"{OFFICE}/officeDocument/2006/relationships"
ODF = "urn:oasis:names:tc:opendocument:xmlns"
PREFIXES = {
    "w": f"{OFFICE}/wordprocessingml/2006/main",
    "p": f"{OFFICE}/presentationml/2006/main",
    "a": f"{OFFICE}/drawingml/2006/main",
    "c": f"{OFFICE}/drawingml/2006/chart",
    "dgm": f"{OFFICE}/drawingml/2006/diagram",
    "m": f"{OFFICE}/officeDocument/2006/math",
    "mc": f"{OFFICE}/markup-compatibility/2006",
    "pic": f"{OFFICE}/drawingml/2006/picture",
    "r": KIND,
    "wp": f"{OFFICE}/drawingml/2006/wordprocessingDrawing",
    "v": "urn:schemas-microsoft-com:vml",
    "o": "urn:schemas-microsoft-com:office:office",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
    "w14": "http://schemas.microsoft.com/office/word/2010/wordml",
    "w15": "http://schemas.microsoft.com/office/word/2012/wordml",
    "a14": "http://schemas.microsoft.com/office/drawing/2010/main",
    "p188": "http://schemas.microsoft.com/office/powerpoint/2018/8/main",
    "cx": "http://schemas.microsoft.com/office/drawing/2014/chartex",
    "adec": "http://schemas.microsoft.com/office/drawing/2017/decorative",
}
ODF_PREFIXES = {
    **{name: f"{ODF}:{name}:1.0" for name in ("office", "text", "table", "style", "chart", "form")},
    **{"draw": f"{ODF}:drawing:1.0", "presentation": f"{ODF}:presentation:1.0"},
    **{"svg": f"{ODF}:svg-compatible:1.0", "fo": f"{ODF}:xsl-fo-compatible:1.0"},
    **{"xlink": "http://www.w3.org/1999/xlink", "dc": "http://purl.org/dc/elements/1.1/"},
    "loext": "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0",
}
DECLARED = " ".join(f'xmlns:{name}="{url}"' for name, url in PREFIXES.items())
ODF_DECLARED = " ".join(f'xmlns:{name}="{url}"' for name, url in ODF_PREFIXES.items())
Parts = Mapping[str, str | bytes]
# The relationships of a part: id, the last word of the type, and the target.
Relations = Mapping[str, Sequence[tuple[str, str, str]]]
DOCUMENT, PRESENTATION = "word/document.xml", "ppt/presentation.xml"


def word(body: str, parts: Parts | None = None, *relations: tuple[str, str, str]) -> bytes:
    """Return a Word file. Relationships are those of its main part."""
    document = element("w:document", f"<w:body>{body}</w:body>")
    return office(DOCUMENT, {DOCUMENT: document, **(parts or {})}, {DOCUMENT: relations})


def powerpoint(
    slides: Sequence[str],
    parts: Parts | None = None,
    relations: Relations | None = None,
    *own: tuple[str, str, str],
) -> bytes:
    """Return a PowerPoint file of slides, which become `ppt/slides/slide1.xml` and so on."""
    ids = "".join(f'<p:sldId id="{256 + i}" r:id="s{i}"/>' for i in range(1, len(slides) + 1))
    main = element("p:presentation", f"<p:sldIdLst>{ids}</p:sldIdLst>")
    entries = [(f"s{i}", "slide", f"slides/slide{i}.xml") for i in range(1, len(slides) + 1)]
    written = {f"ppt/slides/slide{i}.xml": text for i, text in enumerate(slides, 1)}
    related = {PRESENTATION: [*entries, *own], **(relations or {})}
    return office(PRESENTATION, {PRESENTATION: main, **written, **(parts or {})}, related)


def office(main: str, parts: Parts, relations: Relations) -> bytes:
    """Return an Office Open XML file whose main part has this name."""
    content = {"[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"/>'}
    content["_rels/.rels"] = _relationships([("main", "officeDocument", main)])
    for part, entries in relations.items():
        folder, _, name = part.rpartition("/")
        content[f"{folder}/_rels/{name}.rels"] = _relationships(entries)
    return build_zip({**content, **parts})


def opendocument(
    kind: str, body: str, parts: Parts | None = None, *, styles: str = "", masters: str = ""
) -> bytes:
    """Return an OpenDocument file with automatic styles, and the master pages of its styles.xml."""
    content = f"<office:automatic-styles>{styles}</office:automatic-styles>"
    content += f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    style_part = f"<office:master-styles>{masters}</office:master-styles>"
    return build_zip(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": odf("office:document-content", content),
            "styles.xml": odf("office:document-styles", style_part),
            **(parts or {}),
        }
    )


def element(name: str, content: str) -> str:
    return f"<{name} {DECLARED}>{content}</{name}>"


def odf(name: str, content: str) -> str:
    return f"<{name} {ODF_DECLARED}>{content}</{name}>"


def slide(shapes: str, attributes: str = "") -> str:
    content = f"<p:cSld><p:spTree>{shapes}</p:spTree></p:cSld>"
    return f"<p:sld {DECLARED} {attributes}>{content}</p:sld>"


def shape(text: str, kind: str = "") -> str:
    """Return a shape with a paragraph for each line, as a placeholder if it has a kind."""
    placeholder = f'<p:nvPr><p:ph type="{kind}"/></p:nvPr>' if kind else "<p:nvPr/>"
    lines = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("\n"))
    own = '<p:cNvPr id="2" name="Shape"/>'
    return f"<p:sp><p:nvSpPr>{own}{placeholder}</p:nvSpPr><p:txBody>{lines}</p:txBody></p:sp>"


def paragraph(text: str, properties: str = "") -> str:
    own = f"<w:pPr>{properties}</w:pPr>" if properties else ""
    return f"<w:p>{own}{run(text)}</w:p>"


def run(text: str, properties: str = "") -> str:
    own = f"<w:rPr>{properties}</w:rPr>" if properties else ""
    return f'<w:r>{own}<w:t xml:space="preserve">{text}</w:t></w:r>'


def png(colour: str = "red", side: int = 40) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (side, side), colour).save(file, "PNG")
    return file.getvalue()


def build_zip(parts: Parts) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


def _relationships(entries: Sequence[tuple[str, str, str]]) -> str:
    lines = []
    for key, kind, target in entries:
        mode = ' TargetMode="External"' if ":" in target else ""
        lines.append(f'<Relationship Id="{key}" Type="{KIND}/{kind}" Target="{target}"{mode}/>')
    return f'<Relationships xmlns="{PACKAGE}/relationships">{"".join(lines)}</Relationships>'
