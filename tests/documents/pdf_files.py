"""Small PDFs whose objects are written by hand."""

import hashlib
from collections.abc import Iterable, Sequence

from tests.documents import files

FIRST_EXTRA = 4  # the number of the first object that a test adds
PADDING = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
PERMISSIONS = -44
LEFT_COLUMN = [
    "The left column begins here and",
    "goes on with its second line and",
    "a third one, which ends in a mid-",
    "dle of a word, as columns do, and",
    "ends with the fifth of its lines.",
]
RIGHT_COLUMN = [
    "The right column follows the left",
    "one, but never line by line. It is",
    "as narrow, and so it has an effi-",
    "cient hyphen at the end of a line",
    "and a fifth line to end with, too.",
]
COLUMNS = LEFT_COLUMN, RIGHT_COLUMN
IMAGE = (
    b"<< /Type /XObject /Subtype /Image /Width 2 /Height 2 /ColorSpace /DeviceRGB"
    b" /BitsPerComponent 8 /Length 12 >>\nstream\n\xff\x00\x00\x00\xff\x00\x00\x00\xff\xff\xff\x00"
    b"\nendstream"
)


def draw_pdf(
    contents: Iterable[str], page: str = "", extra: Sequence[bytes] = (), catalog: str = ""
) -> bytes:
    """Return a PDF with a page for each content stream. Extra objects are numbered from 4 on."""
    objects = [b"", b"", files.PDF_FONT, *extra]
    kids = []
    for content in contents:
        stream = content.encode("latin-1")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R /F2 4 0 R >> /XObject << /X1 4 0 R >> >> %s >>"
            % (len(objects), page.encode())
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R %s >>" % catalog.encode()
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    return files.build_pdf(objects)


def at(x: float, y: float, text: str, matrix: str = "1 0 0 1") -> str:
    return f"BT /F1 10 Tf {matrix} {x} {y} Tm ({text}) Tj ET\n"


def rows(*columns: Sequence[str], x: float = 60, width: float = 200, top: float = 760) -> str:
    """Columns drawn row by row."""
    height = max(map(len, columns))
    return "".join(
        at(x + width * i, top - 14 * row, column[row])
        for row in range(height)
        for i, column in enumerate(columns)
        if row < len(column) and column[row]
    )


def image_at(x: float, y: float, width: float, height: float) -> str:
    """The image of the object 4."""
    return f"q {width} 0 0 {height} {x} {y} cm /X1 Do Q\n"


ILLUSTRATED = at(60, 800, "Words above a picture") + image_at(100, 300, 200, 100)


def draw_annotated_page(
    content: str, *annotations: str, catalog: str = "", extra: str = ""
) -> bytes:
    """Return a page with annotations, which are the objects from 4 on."""
    numbers = range(FIRST_EXTRA, FIRST_EXTRA + len(annotations))
    references = " ".join(f"{number} 0 R" for number in numbers)
    objects = [f"<< /Type /Annot {each} >>".encode() for each in annotations]
    objects += [extra.encode()] if extra else []
    return draw_pdf([content], f"/Annots [{references}]", objects, catalog)


def form(content: str, *fields: str) -> bytes:
    numbers = range(FIRST_EXTRA, FIRST_EXTRA + len(fields))
    references = " ".join(f"{number} 0 R" for number in numbers)
    catalog = f"/AcroForm << /Fields [{references}] >>"
    widgets = (f"/Subtype /Widget /Rect [300 700 400 720] {field}" for field in fields)
    return draw_annotated_page(content, *widgets, catalog=catalog)


def in_any_script(*lines: str) -> bytes:
    """A page in a font that is not embedded and says which characters its codes are."""
    mapping = b"1 begincodespacerange <0000> <ffff> endcodespacerange\n" + b"".join(
        b"1 beginbfrange <%02x00> <%02xff> <%02x00> endbfrange\n" % (high, high, high)
        for high in range(256)
    )
    fonts = [
        b"<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding /Identity-H /ToUnicode 5 0 R"
        b" /DescendantFonts [<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Any /DW 1000"
        b" /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>] >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(mapping), mapping),
    ]
    stream = "".join(
        f"BT /F2 10 Tf 60 {700 - 14 * row} Td <{line.encode('utf-16-be').hex()}> Tj ET\n"
        for row, line in enumerate(lines)
    )
    return draw_pdf([stream], extra=fonts)


def encrypt_pdf(text: str, password: bytes = b"") -> bytes:
    """Return a PDF encrypted as in 1994, with this password of its reader and one of its owner."""
    identity = b"0123456789abcdef"
    owner_key = hashlib.md5((b"owner" + PADDING)[:32], usedforsecurity=False).digest()[:5]
    padded = (password + PADDING)[:32]
    owner = _rc4(owner_key, padded)
    seed = padded + owner + (PERMISSIONS % 2**32).to_bytes(4, "little") + identity
    key = hashlib.md5(seed, usedforsecurity=False).digest()[:5]
    salted = key + (4).to_bytes(3, "little") + bytes(2)
    stream = _rc4(
        hashlib.md5(salted, usedforsecurity=False).digest()[:10], at(60, 700, text).encode()
    )
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count 1 /Kids [5 0 R] >>",
        files.PDF_FONT,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /Font << /F1 3 0 R >> >> >>",
    ]
    trailer = (
        b"/Encrypt << /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P %d >> /ID [<%s> <%s>]"
        % (
            owner.hex().encode(),
            _rc4(key, PADDING).hex().encode(),
            PERMISSIONS,
            identity.hex().encode(),
            identity.hex().encode(),
        )
    )
    return files.build_pdf(objects, trailer)


def _rc4(key: bytes, data: bytes) -> bytes:
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    answer, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        answer.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(answer)
