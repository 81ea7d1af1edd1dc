"""Writes numbers of lists and headings in the ways that Office files name."""

from collections.abc import Callable

LATIN = "abcdefghijklmnopqrstuvwxyz"
CYRILLIC = "абвгдежзиклмнопрстуфхцчшщэюя"
ARABIC = "أبتثجحخدذرزسشصضطظعغفقكلمنهوي"
ABJAD = "أبجدهوزحطيكلمنسعفصقرشتثخذضظغ"
AIUEO = (
    "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"
)
IROHA = (
    "イロハニホヘトチリヌルヲワカヨタレソツネナラム"  # in the order of the poem
    "ウヰノオクヤマケフコエテアサキユメミシヱヒモセスン"
)
GANADA = "가나다라마바사아자차카타파하"
ZODIAC = "子丑寅卯辰巳午未申酉戌亥"
HEAVENLY_STEMS = "甲乙丙丁戊己庚辛壬癸"
ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
HEBREW = (
    *((400, "ת"), (300, "ש"), (200, "ר"), (100, "ק"), (90, "צ"), (80, "פ"), (70, "ע"), (60, "ס")),
    *((50, "נ"), (40, "מ"), (30, "ל"), (20, "כ"), (10, "י"), (9, "ט")),
    *((8, "ח"), (7, "ז"), (6, "ו"), (5, "ה"), (4, "ד"), (3, "ג"), (2, "ב"), (1, "א")),
)
CHINESE_DIGITS = "〇一二三四五六七八九"
MAX_NUMBER = 4_000  # beyond it, numbers are decimal


def format_number(number: int, kind: str) -> str:
    """Return a number as `w:numFmt` or `style:num-format` say. Unknown kinds are decimal."""
    if kind in ("decimalZero", "01"):
        return f"{number:02}"
    writer = WRITERS.get(kind)
    return writer(number) if writer and 0 < number <= MAX_NUMBER else str(number)


def _letters(alphabet: str) -> Callable[[int], str]:
    """Return a writer that repeats the letter after the last: z, aa, bb."""

    def write(number: int) -> str:
        times, index = divmod(number - 1, len(alphabet))
        return alphabet[index] * (times + 1)

    return write


def _additive(values: tuple[tuple[int, str], ...]) -> Callable[[int], str]:
    def write(number: int) -> str:
        text = ""
        for value, letters in values:
            text += letters * (number // value)
            number %= value
        return text

    return write


def _hebrew(number: int) -> str:
    """Return a number in letters: 15 and 16 are not written like the name of God."""
    text = _additive(HEBREW)(number)
    return text.replace("יה", "טו").replace("יו", "טז")


def _chinese(number: int) -> str:
    """Return a number as it is spoken, 二十一. From 100 on, languages differ."""
    if number >= 100:
        return str(number)
    tens, units = divmod(number, 10)
    text = f"{CHINESE_DIGITS[tens] if tens > 1 else ''}十" if tens else ""
    return text + (CHINESE_DIGITS[units] if units else "")


def _digits(digits: str) -> Callable[[int], str]:
    return lambda number: "".join(digits[int(digit)] for digit in str(number))


def _circle_number(number: int) -> str:
    return chr(0x2460 + number - 1) if number <= 20 else str(number)


def _ordinal(number: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ends.get(number % 10, 'th')}"


def _upper(write: Callable[[int], str]) -> Callable[[int], str]:
    return lambda number: write(number).upper()


LOWER_LETTER, LOWER_ROMAN = _letters(LATIN), _additive(ROMAN)
WRITERS: dict[str, Callable[[int], str]] = {
    **dict.fromkeys(("lowerLetter", "a"), LOWER_LETTER),
    **dict.fromkeys(("upperLetter", "A"), _upper(LOWER_LETTER)),
    **dict.fromkeys(("lowerRoman", "i"), LOWER_ROMAN),
    **dict.fromkeys(("upperRoman", "I"), _upper(LOWER_ROMAN)),
    "ordinal": _ordinal,
    "russianLower": _letters(CYRILLIC),
    "russianUpper": _upper(_letters(CYRILLIC)),
    **dict.fromkeys(("arabicAlpha", "أ, ب, ت, ..."), _letters(ARABIC)),
    "arabicAbjad": _letters(ABJAD),
    **dict.fromkeys(("hebrew1", "hebrew2", "א, י, ק, ..."), _hebrew),
    **dict.fromkeys(("aiueo", "aiueoFullWidth", "ア, イ, ウ, ..."), _letters(AIUEO)),
    **dict.fromkeys(("iroha", "irohaFullWidth", "イ, ロ, ハ, ..."), _letters(IROHA)),
    **dict.fromkeys(("ganada", "가, 나, 다, ..."), _letters(GANADA)),
    **dict.fromkeys(("decimalEnclosedCircle", "decimalEnclosedCircleChinese"), _circle_number),
    "①, ②, ③, ...": _circle_number,
    **dict.fromkeys(("japaneseCounting", "chineseCounting", "chineseCountingThousand"), _chinese),
    **dict.fromkeys(("taiwaneseCountingThousand", "koreanCounting", "一, 二, 三, ..."), _chinese),
    **dict.fromkeys(("ideographDigital", "japaneseDigitalTenThousand"), _digits(CHINESE_DIGITS)),
    "ideographTraditional": _letters(HEAVENLY_STEMS),
    "ideographZodiac": _letters(ZODIAC),
    "decimalFullWidth": _digits("０１２３４５６７８９"),
    "hindiVowels": _digits("०१२३४५६७८९"),
    "thaiNumbers": _digits("๐๑๒๓๔๕๖๗๘๙"),
}
