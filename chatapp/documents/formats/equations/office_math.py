"""Equations of Word and PowerPoint (ECMA-376, Office Math) as LaTeX."""

from xml.etree.ElementTree import Element

from chatapp.documents.formats.office.xml import attribute, child, children, local

from . import latex

PROPERTIES_END = "Pr"  # elements such as `m:fPr` hold properties
OFF = {"0", "off", "false"}


def to_latex(element: Element) -> str:
    """Return the equation in `m:oMath` or `m:oMathPara`, within dollar signs."""
    if local(element) == "oMathPara":
        return "\n".join(filter(None, map(to_latex, children(element, "oMath"))))
    return latex.inline(_write_children(element))


def _write_children(element: Element | None) -> str:
    return "".join(map(_write_element, element)) if element is not None else ""


def _write_element(element: Element) -> str:
    if writer := WRITERS.get(local(element)):
        return writer(element)
    return "" if local(element).endswith(PROPERTIES_END) else _write_children(element)


def _part(element: Element, name: str) -> str:
    return _write_children(child(element, name))


def _property(element: Element, name: str) -> str | None:
    """Return the value of a property; an empty string if it has none, and None if it is not set."""
    properties = child(element, f"{local(element)}Pr", name)
    return attribute(properties, "val") if properties is not None else None


def _write_run(element: Element) -> str:
    text = "".join(each.text or "" for each in element if local(each) == "t")
    normal = child(element, "rPr", "nor")
    if normal is not None and attribute(normal, "val") not in OFF:
        return latex.words(text)
    return latex.characters(text)


def _fraction(element: Element) -> str:
    above, below = _part(element, "num"), _part(element, "den")
    kind = _property(element, "type")
    if kind == "lin":
        return f"{latex.group(above)}/{latex.group(below)}"
    return latex.fraction(above, below, has_line=kind != "noBar")


def _root(element: Element) -> str:
    return latex.root(_part(element, "e"), _part(element, "deg"))


def _scripts(element: Element) -> str:
    return latex.scripts(_part(element, "e"), _part(element, "sub"), _part(element, "sup"))


def _scripts_before(element: Element) -> str:
    before = latex.scripts("{}", _part(element, "sub"), _part(element, "sup"))
    return before + _part(element, "e")


def _operator(element: Element) -> str:
    character = _property(element, "chr")
    sign = "∫" if character is None else character
    text = latex.scripts(sign, _part(element, "sub"), _part(element, "sup"))
    return f"{text} {_part(element, 'e')}"


def _function(element: Element) -> str:
    name, argument = _part(element, "fName"), _part(element, "e")
    bare = latex.function(name)
    return f"{bare}{argument}" if bare != name or name.endswith("}") else f"{name} {argument}"


def _limit(element: Element) -> str:
    base, limit = latex.function(_part(element, "e")).strip(), _part(element, "lim")
    is_below = local(element) == "limLow"
    return latex.scripts(base, limit if is_below else "", "" if is_below else limit)


def _write_delimiters(element: Element) -> str:
    begin, separator, end = (_property(element, each) for each in ("begChr", "sepChr", "endChr"))
    parts = list(map(_write_children, children(element, "e")))
    return latex.fence_parts(
        "(" if begin is None else begin,
        parts,
        "|" if separator is None else separator,
        ")" if end is None else end,
    )


def _accent(element: Element) -> str:
    character = _property(element, "chr")
    return latex.accent(_part(element, "e"), "̂" if character is None else character)


def _bar(element: Element) -> str:
    command = "\\overline" if _property(element, "pos") == "top" else "\\underline"
    return f"{command}{{{_part(element, 'e')}}}"


def _group_character(element: Element) -> str:
    character = _property(element, "chr") or "⏟"
    return latex.accent(_part(element, "e"), character)


def _matrix(element: Element) -> str:
    return latex.matrix(
        [list(map(_write_children, children(row, "e"))) for row in children(element, "mr")]
    )


def _equations(element: Element) -> str:
    equations = list(map(_write_children, children(element, "e")))
    return equations[0] if len(equations) == 1 else latex.matrix([[each] for each in equations])


WRITERS = {
    "r": _write_run,
    "f": _fraction,
    "rad": _root,
    **dict.fromkeys(("sSub", "sSup", "sSubSup"), _scripts),
    "sPre": _scripts_before,
    "nary": _operator,
    "func": _function,
    **dict.fromkeys(("limLow", "limUpp"), _limit),
    "d": _write_delimiters,
    "acc": _accent,
    "bar": _bar,
    "groupChr": _group_character,
    "m": _matrix,
    "eqArr": _equations,
}
