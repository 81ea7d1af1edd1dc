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
JAPANESE_ESCAPE = re.compile(rb"\x1b\$[@B]")  # ISO-2022-JP is ASCII otherwise
WIDE = ("utf_32_le", "utf_32_be", "utf_16_le", "utf_16_be")
# What people's files are in. UTF-7 and EBCDIC are left out: nearly all bytes pass as them.
LEGACY = (  # noqa: SIM905 - a list would take a line for each
    "cp1252 cp1250 cp1251 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 latin_1 iso8859_2 iso8859_15"
    " koi8_r koi8_u cp437 cp850 cp866 mac_roman cp932 shift_jis euc_jp gb18030 big5 big5hkscs cp949"
    " euc_kr cp874 tis_620"
).split()
for _encoding in ("utf_8", "utf_8_sig", "ascii", "utf_16", "utf_32", "iso2022_jp", *WIDE, *LEGACY):
    import_module(f"encodings.{_encoding}")  # not possible in the sandbox
    codecs.lookup(_encoding)

# Among encodings of Latin letters, short texts are guesses. The first whose text has only the
# letters and punctuation of its languages is right most often.
LATIN = ("cp1250", "cp1254", "cp1257", "cp1258", "latin_1", "iso8859_2", "iso8859_15", "mac_roman")
PUNCTUATION = "\x00-\x7f\xa0\u2018-\u201e\u2013\u2014\u2026\u2022€£§°©«»¡¿"
EXPECTED = {
    "cp1252": re.compile(f"[{PUNCTUATION}àáâãäåæçèéêëìíîïñòóôõöøùúûüýÿßœÀ-ÖØ-ÜŒ]*"),
    "cp1254": re.compile(f"[{PUNCTUATION}çğıöşüâîûÇĞİÖŞÜÂÎÛ]*"),
}

SAMPLE_BYTES = 256 * 1024
SAMPLE_CHARACTERS = 4096
MAX_MISSING = 0.02
MAX_WRONG = 0.05
NOT_ASCII = re.compile("[^\x00-\x7f]")
MIN_COMMON = 0.01
COMMON = re.compile("[\n -~\u3000-\u3002]")
SPACES = re.compile("[ \n\u3000-\u3002]")
MAX_CONTROLS = 0.005  # of all characters of a text; terminal logs have some
CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def decoded(content: bytes) -> str:
    """Return the text. Raises `Unreadable` if the bytes are no text."""
    for decode in (_by_byte_order_mark, _iso_2022_jp, _utf_8, _wide, _narrow):
        if (text := decode(content)) is not None and _controls(text) <= MAX_CONTROLS * len(text):
            return text
    raise refusals.unknown_kind()


def _controls(text: str) -> int:
    return len(CONTROLS.findall(text))


def _by_byte_order_mark(content: bytes) -> str | None:
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if content.startswith(mark):
            return content.decode(encoding, "replace")
    return None


def _utf_8(content: bytes) -> str | None:
    """Decode UTF-8, also if a few bytes in it are wrong; another encoding is wrong everywhere."""
    if (text := _strict(content, "utf_8")) is not None:
        return text
    text = content.decode("utf_8", "replace")
    return text if text.count("\ufffd") < MAX_WRONG * len(NOT_ASCII.findall(text)) else None


def _iso_2022_jp(content: bytes) -> str | None:
    return _strict(content, "iso2022_jp") if JAPANESE_ESCAPE.search(content) else None


def _wide(content: bytes) -> str | None:
    """Decode UTF-16 and UTF-32 without a byte order mark, which have NUL in them.

    The right byte order is the one with more spaces and line ends, which any language has.
    """
    texts = (_strict(content, encoding) for encoding in WIDE if b"\0" in content)
    possible = [text for text in texts if text and _is_likely(text[:SAMPLE_CHARACTERS])]
    return max(possible, key=lambda text: len(SPACES.findall(text)), default=None)


def _is_likely(sample: str) -> bool:
    """Return whether almost all characters exist and some are common, unlike in binary data."""
    missing = sum(unicodedata.category(each) in ("Cn", "Co", "Cs") for each in sample)
    common = len(COMMON.findall(sample))
    return missing <= MAX_MISSING * len(sample) and common >= MIN_COMMON * len(sample)


def _narrow(content: bytes) -> str | None:
    best = from_bytes(_sample(content), cp_isolation=LEGACY).best()
    return content.decode(_plausible(content, best.encoding), "replace") if best else None


def _strict(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return None


def _sample(content: bytes) -> bytes:
    """Return whole lines, because half a character would rule out its encoding."""
    if len(content) <= SAMPLE_BYTES:
        return content
    return content[: content.rfind(b"\n", 0, SAMPLE_BYTES) + 1] or content[:SAMPLE_BYTES]


def _plausible(content: bytes, guess: str) -> str:
    """Return the guess, or a more likely encoding of Latin letters."""
    for encoding, expected in EXPECTED.items() if guess in LATIN else ():
        text = _strict(content, encoding)
        if text is not None and expected.fullmatch(text):
            return encoding
    return guess
