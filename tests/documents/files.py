"""Makes small files of each kind."""

import base64
import datetime
import io
import zipfile
from collections.abc import Mapping, Sequence
from functools import cache

import docx
import openpyxl
import pptx
from PIL import Image

PDF_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
ODF = "urn:oasis:names:tc:opendocument:xmlns"
ODF_NAMESPACES = (
    f'xmlns:office="{ODF}:office:1.0" xmlns:text="{ODF}:text:1.0" xmlns:table="{ODF}:table:1.0"'
    f' xmlns:draw="{ODF}:drawing:1.0" xmlns:presentation="{ODF}:presentation:1.0"'
    ' xmlns:xlink="http://www.w3.org/1999/xlink"'
)


def pdf(pages: Sequence[str]) -> bytes:
    """A PDF with a page for each text; an empty text is a page that shows a line only."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", PDF_FONT]
    kids = []
    for text in pages:
        lines = " ".join(f"({line}) Tj T*" for line in text.splitlines())
        stream = f"BT /F1 10 Tf 50 800 Td 12 TL {lines} ET" if text else "0 0 m 500 500 l S"
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream.encode()))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    return build_pdf(objects)


def build_pdf(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    content, offsets = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        offsets.append(b"%010d 00000 n \n" % len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    size = len(objects) + 1
    content_end = b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, b"".join(offsets))
    content_end += b"trailer << /Size %d /Root 1 0 R %s >>\n" % (size, trailer)
    return content + content_end + b"startxref\n%d\n%%%%EOF\n" % len(content)


def image(
    format_: str, size: tuple[int, int] = (40, 30), mode: str = "RGB", **options: object
) -> bytes:
    file = io.BytesIO()
    Image.new(mode, size, "red").save(file, format_, **options)
    return file.getvalue()


def open_image(content: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(content))
    picture.load()
    return picture


@cache
def word() -> bytes:
    document = docx.Document()
    document.add_heading("Report", 0)
    document.add_heading("Findings", 2)
    document.add_paragraph("Plain\ttext")
    document.add_paragraph("first", style="List Bullet")
    document.add_paragraph("nested", style="List Bullet 2")
    document.add_paragraph("second", style="List Number")
    table = document.add_table(2, 2)
    for i, text in enumerate(("Name", "a|b", "x", "two\nlines")):
        table.cell(i // 2, i % 2).text = text
    document.add_page_break()  # type: ignore[no-untyped-call]
    document.add_paragraph("On page two")
    return save_document(document)


@cache
def powerpoint() -> bytes:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Plan"
    slide.placeholders[1].text = "one\ntwo"
    slide.notes_slide.notes_text_frame.text = "Say hello"
    table = slide.shapes.add_table(1, 2, 0, 0, 9144, 9144).table
    table.cell(0, 0).text, table.cell(0, 1).text = "Year", "2026"
    presentation.slides.add_slide(presentation.slide_layouts[6])
    return save_document(presentation)


@cache
def excel() -> bytes:
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet.title = "Sales"
    sheet.append(["Item", "Price", "Day", "Sold"])
    sheet.append(["a|b", 0.1 + 0.2, datetime.datetime(2026, 1, 2), True])
    sheet.append(["=cmd|' /C calc'!A0", 3, datetime.datetime(2026, 1, 2, 3, 4), "=1+1"])
    sheet["A900000"].number_format = "0.00"  # used by its format only
    workbook.create_sheet("Secret").sheet_state = "hidden"
    return save_document(workbook)


def save_document(document: object) -> bytes:
    file = io.BytesIO()
    document.save(file)  # type: ignore[attr-defined]
    return file.getvalue()


def opendocument(kind: str, body: str, **parts: str) -> bytes:
    media_type = f"application/vnd.oasis.opendocument.{kind}"
    content = f"<office:document-content {ODF_NAMESPACES}><office:body><office:{kind}>{body}"
    content += f"</office:{kind}></office:body></office:document-content>"
    manifest = '<manifest xmlns="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"></manifest>'
    written = {"mimetype": media_type, "content.xml": content, "META-INF/manifest.xml": manifest}
    return build_zip(written | parts)


def build_zip(parts: Mapping[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def with_part(package: bytes, name: str, content: str | bytes) -> bytes:
    """The Office file with one part replaced."""
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        parts = {each: archive.read(each) for each in archive.namelist()}
    return build_zip({**parts, name: content})


def part(package: bytes, name: str) -> str:
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        return archive.read(name).decode()


# 64 × 32 pixels, white with a red square at the top left, which Pillow cannot encode.
HEIC = base64.b64decode(
    "AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAX1tZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAA"
    "AAAAACJpbG9jAAAAAERAAAEAAQAAAAABoQABAAAAAAAAAC8AAAAjaWluZgAAAAAAAQAAABVpbmZlAgAAAAABAABodmMxAAAA"
    "AA5waXRtAAAAAAABAAAA/WlwcnAAAADdaXBjbwAAAHZodmNDAQNwAAAAkAAAAAAAHvAA/P34+AAADwNgAAEAGEABDAH//wNw"
    "AAADAJAAAAMAAAMAHroCQGEAAQAqQgEBA3AAAAMAkAAAAwAAAwAeoCCBBZbq5Ka5uAhoMCAAAAMDIAAAAwAhYgABAAZEAcFz"
    "wIkAAAATY29scm5jbHgAAQANAAaAAAAAFGlzcGUAAAAAAAAAQAAAAEAAAAAoY2xhcAAAAEAAAAABAAAAIAAAAAEAAAAAAAAA"
    "Av///+AAAAACAAAAEHBpeGkAAAAAAwgICAAAABhpcG1hAAAAAAAAAAEAAQWBAgMFhAAAADdtZGF0AAAAKygBrxmA94SFN//i"
    "Mr/mIF/ron5Z9tYmurWv9kuscfEYhjAh78o5uy0CSuA="
)


def animation(format_: str, colours: Sequence[str]) -> bytes:
    file = io.BytesIO()
    first, *others = [Image.new("RGB", (40, 30), colour) for colour in colours]
    first.save(file, format_, save_all=True, append_images=others)
    return file.getvalue()


def data_page(picture: bytes, *descriptions: str) -> str:
    """A web page that has a picture in it, once for each description."""
    data = base64.b64encode(picture).decode()
    pictures = (f'<img src="data:image/png;base64,{data}" alt="{each}">' for each in descriptions)
    return f"<!doctype html><p>{' '.join(pictures)}</p>"


EPUB_CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/content.opf"/></rootfiles></container>'
)


def book(chapters: dict[str, str], **parts: str | bytes) -> bytes:
    """A book, whose chapters are read in the opposite order."""
    items = "".join(
        f'<item id="i{i}" href="text/{name.replace(" ", "%20")}"'
        ' media-type="application/xhtml+xml"/>'
        for i, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="i{i}"/>' for i in reversed(range(len(chapters))))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Das Buch</dc:title>'
        "<dc:creator>Ana</dc:creator><dc:creator>Ben</dc:creator></metadata>"
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    written: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": EPUB_CONTAINER,
        "OEBPS/content.opf": package,
        "OEBPS/img/red.png": image("PNG", (60, 40)),
    }
    pages = {f"OEBPS/text/{name}": text for name, text in chapters.items()}
    return build_zip(written | pages | parts)
