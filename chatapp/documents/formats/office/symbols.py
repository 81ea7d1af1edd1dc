"""Characters of symbol fonts, which Office files keep by their place in the font."""

PRIVATE_USE = range(0xF000, 0xF100)  # where those fonts have their characters
SPACE = "\uf020"
FIRST_CHARACTER = 0x21
SYMBOL = (
    "!∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
)
SYMBOL_FROM_A0 = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪"
SYMBOL_FROM_F1 = "〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"
WINGDINGS = {
    **{0x21: "✏", 0x22: "✂", 0x28: "☎", 0x2A: "✉", 0x36: "⌛", 0x3F: "✍", 0x41: "✌", 0x43: "👍"},
    **{0x44: "👎", 0x45: "☜", 0x46: "☞", 0x47: "☝", 0x48: "☟", 0x4A: "☺", 0x4B: "😐", 0x4C: "☹"},
    **{0x4D: "💣", 0x4E: "☠", 0x52: "☼", 0x54: "❄", 0x58: "✠", 0x59: "✡", 0x5A: "☪", 0x5B: "☯"},
    **{0x6C: "●", 0x6D: "❍", 0x6E: "■", 0x6F: "□", 0x70: "◻", 0x71: "❑", 0x72: "❒", 0x73: "⬧"},
    **{0x74: "⧫", 0x75: "◆", 0x76: "❖", 0x77: "⬥", 0x78: "☒", 0x7B: "❀", 0x7D: "❝", 0x7E: "❞"},
    **{0x80 + i: character for i, character in enumerate("⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿")},
    **{0x9E: "·", 0x9F: "•", 0xA0: "▪", 0xA1: "○", 0xA4: "◉", 0xA5: "◎", 0xA7: "▪", 0xA8: "☐"},
    **{0xAA: "✦", 0xAB: "★", 0xAC: "✶", 0xAE: "✹", 0xB2: "⟡", 0xB5: "✪", 0xB6: "☆", 0xD8: "➢"},
    **{0xDB: "←", 0xDC: "→", 0xDD: "↑", 0xDE: "↓", 0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓"},
    **{0xE3: "↖", 0xE4: "↗", 0xE5: "↙", 0xE6: "↘", 0xE7: "←", 0xE8: "➔", 0xE9: "↑", 0xEA: "↓"},
    **{0xEF: "⇦", 0xF0: "⇨", 0xF1: "⇧", 0xF2: "⇩", 0xF3: "⇔", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒"},
    **{0xFE: "☑"},
}
WINGDINGS_2 = {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0xA3: "☐"}
WEBDINGS = {0x61: "✓", 0x63: "□", 0x67: "■", 0x6E: "●", 0x72: "✗"}
FONTS = {
    "symbol": {
        **{FIRST_CHARACTER + i: character for i, character in enumerate(SYMBOL)},
        **{0xA0 + i: character for i, character in enumerate(SYMBOL_FROM_A0)},
        **{0xF1 + i: character for i, character in enumerate(SYMBOL_FROM_F1)},
    },
    "wingdings": WINGDINGS,
    "wingdings 2": WINGDINGS_2,
    "webdings": WEBDINGS,
}


def is_symbol_font(font: str) -> bool:
    return font.lower() in FONTS


def symbol(font: str, code: int) -> str:
    """Return the character at a place of a font, or a mark if it is not known."""
    characters = FONTS.get(font.lower())
    place = code - PRIVATE_USE.start if code in PRIVATE_USE else code
    if characters is not None and place in characters:
        return characters[place]
    if code < 0x20 or (code not in PRIVATE_USE and characters is None and code < 0xD800):
        return chr(code) if code >= 0x20 else ""
    return f"[Symbol {code:X} of {' '.join(font.split())[:40] or 'an unknown font'}]"


def translate(text: str, font: str = "") -> str:
    """Return text in which characters of a symbol font, where they are private, are replaced."""
    if not any(ord(character) in PRIVATE_USE for character in text):
        return text
    font = font if is_symbol_font(font) else "Symbol"
    return "".join(
        _replace(character, font) if ord(character) in PRIVATE_USE else character
        for character in text
    )


def _replace(character: str, font: str) -> str:
    return " " if character == SPACE else symbol(font, ord(character))
