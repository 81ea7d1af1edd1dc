"""Puts equations together as LaTeX. Letters and operators stay the characters that people see."""

import unicodedata

OPERATORS = {"∑": "\\sum", "∏": "\\prod", "∐": "\\coprod", "∫": "\\int", "∬": "\\iint"} | {
    **{"∭": "\\iiint", "∮": "\\oint", "⋃": "\\bigcup", "⋂": "\\bigcap", "⋁": "\\bigvee"},
    **{"⋀": "\\bigwedge"},
}
FUNCTIONS = {
    *("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "arcsin", "arccos"),
    *("arctan", "log", "ln", "lg", "exp", "lim", "max", "min", "sup", "inf", "det", "dim", "ker"),
    *("gcd", "arg", "deg", "Pr"),
}
ACCENTS = {"̂": "\\hat", "^": "\\hat", "̃": "\\tilde", "~": "\\tilde", "˜": "\\tilde"} | {
    **{"̅": "\\overline", "¯": "\\overline", "‾": "\\overline", "_": "\\overline"},
    **{"̇": "\\dot", "˙": "\\dot", "̈": "\\ddot", "¨": "\\ddot", "⃗": "\\vec", "→": "\\vec"},
    **{"̌": "\\check", "ˇ": "\\check", "̆": "\\breve", "˘": "\\breve"},
    **{"⏞": "\\overbrace", "⏟": "\\underbrace"},
}
ESCAPED = {"{": "\\{", "}": "\\}", "$": "\\$", "%": "\\%", "#": "\\#"}
MATHEMATICAL_LETTERS = range(0x1D400, 0x1D800)
INVISIBLE = {0x2061: None, 0x2062: None, 0x2063: None, 0x2064: None, 0x200B: None}


def inline(equation: str) -> str:
    equation = " ".join(equation.split())
    return f"${equation}$" if equation else ""


def characters(text: str) -> str:
    """Return characters of an equation: plain letters for the mathematical ones of Unicode."""
    return "".join(map(_character, text.translate(INVISIBLE)))


def _character(character: str) -> str:
    if ord(character) in MATHEMATICAL_LETTERS or character == "ℎ":
        return unicodedata.normalize("NFKC", character)
    return ESCAPED.get(character, character)


def words(text: str) -> str:
    return f"\\text{{{text}}}" if text.strip() else text


def function(name: str) -> str:
    return f"\\{name} " if name.strip() in FUNCTIONS else name


def group(text: str) -> str:
    text = text.strip()
    return text if len(text) == 1 else f"{{{text}}}"


def fraction(above: str, below: str, *, has_line: bool = True) -> str:
    if has_line:
        return f"\\frac{{{above.strip()}}}{{{below.strip()}}}"
    return f"{{{above.strip()} \\atop {below.strip()}}}"


def root(content: str, degree: str = "") -> str:
    order = f"[{degree.strip()}]" if degree.strip() else ""
    return f"\\sqrt{order}{{{content.strip()}}}"


def scripts(base: str, below: str = "", above: str = "") -> str:
    text = OPERATORS.get(base.strip(), base)
    text += f"_{group(below)}" if below.strip() else ""
    return text + (f"^{group(above)}" if above.strip() else "")


def accent(base: str, character: str) -> str:
    command = ACCENTS.get(character.strip())
    return f"{command}{{{base}}}" if command else scripts(base, "", character)


def matrix(rows: list[list[str]]) -> str:
    lines = " \\\\ ".join(" & ".join(cell.strip() for cell in row) for row in rows)
    return f"\\begin{{matrix}}{lines}\\end{{matrix}}"


def fence_parts(begin: str, parts: list[str], separator: str, end: str) -> str:
    text = characters(separator).join(parts)
    if not begin or not end:  # such as a brace before cases
        return f"\\left{characters(begin) or '.'}{text}\\right{characters(end) or '.'}"
    return f"{characters(begin)}{text}{characters(end)}"
