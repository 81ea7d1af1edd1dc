"""Finds the encoding of a text, and refuses what is no text."""

import codecs
import re
import unicodedata
from importlib import import_module

from charset_normalizer import from_bytes

from chatapp.documents import refusals

BYTE_ORDER_MARKS = {  # the longer first
    codecs.BOM_UTF8: "utf_8_sig",
    codecs.BOM_UTF32_LE: "utf_32",
    codecs.BOM_UTF32_BE: "utf_32",
    codecs.BOM_UTF16_LE: "utf_16",
    codecs.BOM_UTF16_BE: "utf_16",
}
WIDE = ("utf_32_le", "utf_32_be", "utf_16_le", "utf_16_be")
# What people's files are in. UTF-7 and EBCDIC are left out: nearly all bytes pass as them.
LEGACY = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258"),
    *(
        "latin_1",
        "iso8859_2",
        "iso8859_15",
        "koi8_r",
        "koi8_u",
        "cp437",
        "cp850",
        "cp866",
        "mac_roman",
    ),
    *(
        "cp932",
        "shift_jis",
        "euc_jp",
        "iso2022_jp",
        "gb18030",
        "big5",
        "big5hkscs",
        "cp949",
        "euc_kr",
    ),
    *("cp874", "tis_620"),
)
for _encoding in ("utf_8", "utf_8_sig", "ascii", "utf_16", "utf_32", *WIDE, *LEGACY):
    import_module(f"encodings.{_encoding}")  # not possible in the sandbox
    codecs.lookup(_encoding)

SAMPLE_BYTES = 256 * 1024
SAMPLE_CHARACTERS = 4096
MAX_MISSING = 0.02
ASCII = re.compile("[\t\n\r -~]")
MAX_CONTROLS = 0.005  # of all characters of a text; terminal logs have some
CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def decoded(content: bytes) -> str:
    """Return the text. Raises `Unreadable` if the bytes are no text."""
    text = _by_byte_order_mark(content)
    if text is None:
        text = _wide(content) if b"\0" in content else _narrow(content)
    if text is None or len(CONTROLS.findall(text)) > MAX_CONTROLS * len(text):
        raise refusals.unknown_kind()
    return text


def _by_byte_order_mark(content: bytes) -> str | None:
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if content.startswith(mark):
            return content.decode(encoding, "replace")
    return None


def _wide(content: bytes) -> str | None:
    """Decode UTF-16 and UTF-32 without a byte order mark, which have NUL in them.

    The right byte order is the one with more ASCII: any language has spaces and line ends.
    """
    texts = [text for each in WIDE if (text := _strict(content, each)) is not None]
    best = max(texts, key=lambda text: len(ASCII.findall(text)), default=None)
    return best if best and _is_assigned(best[:SAMPLE_CHARACTERS]) else None


def _strict(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return None


def _is_assigned(sample: str) -> bool:
    """Return whether almost all characters exist, unlike in binary data."""
    missing = sum(unicodedata.category(each) in ("Cn", "Co", "Cs") for each in sample)
    return missing <= MAX_MISSING * len(sample)


def _narrow(content: bytes) -> str | None:
    if (text := _strict(content, "utf_8")) is not None:
        return text
    best = from_bytes(content[:SAMPLE_BYTES], cp_isolation=list(LEGACY)).best()
    return content.decode(best.encoding, "replace") if best else None
