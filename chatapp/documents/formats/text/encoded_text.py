"""Finds the encoding of a text, and refuses what is no text."""

import codecs
import re
import unicodedata

from chardetng_py import detect

from chatapp.documents import refusals
from chatapp.documents.results import Unreadable

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
OTHERS = (  # noqa: SIM905
    "utf_8 utf_8_sig ascii utf_16 utf_32 iso2022_jp iso2022_jp_1 iso2022_jp_2 iso2022_kr hz gbk"
    " gb2312 iso8859_3 iso8859_4 iso8859_5 iso8859_6 iso8859_7 iso8859_8 iso8859_9 iso8859_10"
    " iso8859_13 iso8859_14 iso8859_16 cp852 cp1361 johab"
).split()
ENCODINGS = (*OTHERS, *WIDE, *LEGACY)
KNOWN = {codecs.lookup(encoding).name for encoding in ENCODINGS}  # imported, which a sandbox can't

# Encodings of western Europe before Windows and the web, which the detector does not know. There,
# the letters of a word are other signs in Windows' encoding.
OLD_WESTERN = ("cp850", "mac_roman")
WESTERN = re.compile("[\x00-\x7fäöüßÄÖÜàâæçèéêëìîïòôœùûÿñáíóúãõåøÅØÆÀÂÇÈÉÊ«»§°]*")
SIGN_IN_WORD = re.compile(
    "[^\\W\\d_][^\\w\\s\x00-\x7f\u2019\xb7\xad][^\\W\\d_]|[a-z][ŠŽŸŒÀ-ÖØ-Þ][a-z]"
)
MAX_WESTERN = 0.35  # of letters that are not ASCII
PUNCTUATION = "\u2013\u2014\u2018\u2019\u201a\u201c\u201d\u201e\u2026\u2022€§°«»\xa0"
# What the detector takes for another language if a text is short: the encoding, its letters, and
# two sets of letters that the text must have.
OTHER_LANGUAGES = (
    ("cp1250", "áéíóöőúüűÁÉÍÓÖŐÚÜŰ", "őűŐŰ", "áéíóúÁÉÍÓÚ"),  # Hungarian
    ("cp1254", "çğıöşüâîûÇĞİÖŞÜÂÎÛ", "ğışĞİŞ", "üçÜÇ"),  # Turkish
)

PARTS = 8  # of a text, whose encodings are guessed apart
SAMPLE_BYTES = 256 * 1024
SAMPLE_CHARACTERS = 4096
MAX_MISSING = 0.02
MAX_WRONG = 0.05
NOT_ASCII = re.compile("[^\x00-\x7f]")
MIN_COMMON = 0.01
COMMON = re.compile("[\n -~\u3000-\u3002]")
SPACES = re.compile("[ \n\u3000-\u3002]")
MAX_CONTROLS = 0.005  # of all characters of a text; terminal logs have some
MAX_NULS = 0.1  # which separate or fill fields in some
CONTROLS = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def decode_text(content: bytes) -> str:
    """Return the text. Raises `Unreadable` if the bytes are no text."""
    for decode in (_by_byte_order_mark, _iso_2022_jp, _utf_8, _wide, _narrow):
        if (text := decode(content)) is not None and _is_text(text):
            return text
    raise refusals.unknown_kind()


# What senders name an encoding, though the text has characters of a larger one.
LARGER = {"gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949", "shift_jis": "cp932"}
ALIASES = {  # which Python does not know
    **dict.fromkeys(("windows-31j", "x-sjis", "ms_kanji"), "cp932"),
    **{"windows-874": "cp874", "iso-8859-8-i": "iso8859_8", "x-gbk": "gbk"},
}
LARGER |= {"iso8859-1": "cp1252", "latin-1": "cp1252", "ascii": "utf_8"}


def decode_as(content: bytes, encoding: str | None) -> str:
    """Return a text whose encoding is declared, which can be wrong."""
    try:
        name = codecs.lookup(ALIASES.get((encoding or "").lower(), encoding or "ascii")).name
        if name in KNOWN:
            return content.decode(LARGER.get(name, name))
    except (LookupError, UnicodeDecodeError):
        pass
    try:
        return decode_text(content) if content else ""
    except Unreadable:
        return content.decode("utf_8", "replace")


def _is_text(text: str) -> bool:
    controls, nuls = len(CONTROLS.findall(text)), text.count("\0")
    return controls <= MAX_CONTROLS * len(text) and nuls <= MAX_NULS * len(text)


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


def _narrow(content: bytes) -> str:
    sample = _sample(content)
    western = sample.decode("cp1252", "replace")
    if len(NOT_ASCII.findall(western)) <= MAX_WESTERN * len(western):
        if SIGN_IN_WORD.search(western):
            for encoding in OLD_WESTERN:
                if WESTERN.fullmatch(sample.decode(encoding)):
                    return content.decode(encoding)
        for encoding, letters, *needed in OTHER_LANGUAGES:
            text = sample.decode(encoding, "replace")
            if not set(NOT_ASCII.findall(text)) - {*letters, *PUNCTUATION} and all(
                any(letter in text for letter in each) for each in needed
            ):
                return content.decode(encoding, "replace")
    guess = codecs.lookup(_guess(sample)).name
    return content.decode(LARGER.get(guess, guess), "replace")


def _guess(sample: bytes) -> str:
    """Return the encoding of most lines: for the detector, one wrong byte rules an encoding out."""
    lines = [line for line in sample.splitlines() if not line.isascii()]
    parts = [b"\n".join(lines[i::PARTS]) for i in range(PARTS)] if len(lines) >= PARTS else [sample]
    guesses: list[str] = [detect(part, allow_utf8=False) for part in parts]
    guess: str = max(guesses, key=guesses.count)
    is_most = guesses.count(guess) > len(guesses) / 2
    return guess if is_most else detect(sample, allow_utf8=False)


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
