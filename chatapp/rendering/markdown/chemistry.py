r"""Translates mhchem's `\ce` to plain TeX: `2H2 + O2 -> 2H2O`, charges, isotopes, arrows, bonds.

It knows a subset of mhchem's syntax and raises `Unsupported` for the rest.
"""

import re
from collections.abc import Callable

from .unsupported import Unsupported

_STATES = "s|l|g|aq|cr"
_CHARGE = rf"[+-]+(?=[\s)\]}},]|\Z|\((?:{_STATES})\))"
_SCRIPT = r"\{[^{}]*\}|[+-]?\d*[+-]?(?<=[\d+-])|[A-Za-z.*]|\\[A-Za-z]+"
_ARROWS = {  # plain, and with text
    "<=>>": (r"\rightleftharpoons", r"\xrightleftharpoons"),
    "<<=>": (r"\rightleftharpoons", r"\xrightleftharpoons"),
    "<=>": (r"\rightleftharpoons", r"\xrightleftharpoons"),
    "⇌": (r"\rightleftharpoons", r"\xrightleftharpoons"),
    "<-->": (r"\rightleftarrows", r"\xrightleftarrows"),
    "<->": (r"\longleftrightarrow", r"\xleftrightarrow"),
    "->": (r"\longrightarrow", r"\xrightarrow"),
    "→": (r"\longrightarrow", r"\xrightarrow"),
    "<-": (r"\longleftarrow", r"\xleftarrow"),
}
_BONDS = {
    **{"-": "-", "1": "-", "=": "=", "2": "=", "#": r"\equiv", "3": r"\equiv", "~": r"\sim"},
    **{"...": r"\cdots", "....": r"\cdots", "->": r"\rightarrow", "<-": r"\leftarrow"},
}
_GAS_OR_SOLID = {"^": r"\,{\uparrow}", "v": r"\,{\downarrow}"}
_RADICALS = {".": r"\bullet", "*": "*"}
_PLAIN_SCRIPT = re.compile(r"[\d+\-.,/ ]*|[A-Za-z]|\\[A-Za-z]+")
_WORD_SCRIPT = re.compile(r"[A-Za-z0-9+\-.,() ]+")


def chemistry(source: str) -> str:
    """Return the content of `\\ce{…}` as plain TeX; raises `Unsupported`."""
    parts, at = [], 0
    while at < len(source):
        match, write = _next(source, at)
        parts.append(write(match))
        at = match.end()
    return "".join(parts)


def _next(source: str, at: int) -> tuple[re.Match[str], Callable[[re.Match[str]], str]]:
    for pattern, write in _RULES:
        match = pattern.match(source, at)
        if match and match.end() > at:
            return match, write
    raise Unsupported(source[at:])


def _arrow(match: re.Match[str]) -> str:
    plain, with_text = _ARROWS[match["arrow"]]
    above, below = match["above"] or "", match["below"] or ""
    if not above and not below:
        return plain + " "
    option = f"[{chemistry(below)}]" if below else ""
    return f"{with_text}{option}{{{chemistry(above)}}}"


def _amount(match: re.Match[str]) -> str:
    if match["over"]:
        return rf"\tfrac{{{match['amount']}}}{{{match['over']}}}\,"
    return (match["amount"] or match["bracketed"] or match["letter"]) + r"\,"


def _scripts(match: re.Match[str]) -> str:
    # At the start of a word they belong to the next symbol, like the numbers of an isotope.
    base = "{}" if match["leading"] is not None else ""
    scripts = re.findall(rf"([_^])({_SCRIPT})", match[0])
    if len({mark for mark, _ in scripts}) < len(scripts):
        raise Unsupported(match[0])
    return base + "".join(f"{mark}{{{_script(text)}}}" for mark, text in scripts)


def _script(text: str) -> str:
    text = text[1:-1] if text.startswith("{") else text
    if text in _RADICALS:
        return _RADICALS[text]
    if _PLAIN_SCRIPT.fullmatch(text):
        return text
    if _WORD_SCRIPT.fullmatch(text):
        return rf"\mathrm{{{text}}}"
    return chemistry(text)


def _write_symbol(match: re.Match[str]) -> str:
    """Return an element, a word or a closing bracket with its number and charge."""
    name, number, charge = match["name"], match["number"], match["charge"]
    is_variable = len(name) == 1 and name.islower() and not charge
    base = rf"\mathrm{{{name}}}" if name.isalpha() and not is_variable else name
    return base + (f"_{{{number}}}" if number else "") + (f"^{{{charge}}}" if charge else "")


def _bond(match: re.Match[str]) -> str:
    if match[1] not in _BONDS:
        raise Unsupported(match[0])
    return f"{{{_BONDS[match[1]]}}}"


_RULES: list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]] = [
    (re.compile(pattern), write)
    for pattern, write in (
        (
            rf"\s*(?P<arrow>{'|'.join(map(re.escape, _ARROWS))})"
            r"(?:\[(?P<above>[^\[\]]*)\](?:\[(?P<below>[^\[\]]*)\])?)?\s*",
            _arrow,
        ),
        (r"(?:\s+|\A)([+=-])(?:\s+|\Z)", lambda match: f" {match[1]} "),
        (r"\s*\(([\^v])\)|\s+([\^v])(?=\s|\Z)", lambda match: _GAS_OR_SOLID[match[1] or match[2]]),
        (r"\s*\Z|\A\s+", lambda _: ""),
        (rf"\s*\(({_STATES})\)", lambda match: rf"\,\mathrm{{({match[1]})}}"),
        (r"\s+", lambda _: r"\,"),
        (
            r"(?:(?<=[\s(\[.*>\]])|\A)(?:(?P<amount>\d+(?:\.\d+)?)(?:/(?P<over>\d+))?"
            r"|(?P<bracketed>\(\d+/\d+\))|(?P<letter>\d*[a-z](?=\s*[A-Z(\[])))\s*(?=\S)",
            _amount,
        ),
        (rf"(?P<leading>(?:(?<=[\s(\[.*>\]])|\A)(?=[_^]))?(?:[_^](?:{_SCRIPT}))+", _scripts),
        (
            r"(?P<name>[A-Z][a-z]*|[a-z]+|\)|\]|\\\})"
            rf"(?P<number>\d*)(?P<charge>{_CHARGE})?",
            _write_symbol,
        ),
        (r"\\bond\{([^{}]*)\}", _bond),
        (r"\\text\{[^{}\\$]*\}|\\\{|\\[A-Za-z]+(?:\{\}|(?![A-Za-z{]))\s*", lambda match: match[0]),
        (r"\{([^{}\\$]*)\}", lambda match: rf"\text{{{match[1]}}}"),
        (r"\$([^$]+)\$", lambda match: f"{{{match[1]}}}"),
        (r"[.*·]", lambda _: r"\cdot "),
        (r"#", lambda _: r"{\equiv}"),
        (r"[=-]|\+", lambda match: f"{{{match[0]}}}"),
        (r"\d+(?:\.\d+)?|[(\[,/'…]", lambda match: match[0]),
    )
]
