"""Equations of OpenDocument (MathML) as LaTeX."""

from xml.etree.ElementTree import Element

from chatapp.documents.formats.office.xml import attribute, child, children, local

from . import latex

PRESENTED_TWICE = {"annotation", "annotation-xml"}
WORDS = {"mtext", "ms"}


def to_latex(root: Element) -> str:
    """Return the equation in `math`, within dollar signs.

    If it has no MathML that shows something, its annotation is returned, which is how it was typed.
    """
    return latex.inline(_write_children(root)) or latex.inline(latex.characters(_annotation(root)))


def _annotation(root: Element) -> str:
    annotation = child(root, "semantics", "annotation")
    return (annotation.text or "") if annotation is not None else ""


def _write_children(element: Element) -> str:
    return "".join(map(_write_element, element))


def _write_element(element: Element) -> str:
    name = local(element)
    if name in PRESENTED_TWICE:
        return ""
    if name in WORDS:
        return latex.words(element.text or "")
    if name in ("mi", "mn", "mo"):
        text = (element.text or "").strip()
        return latex.function(text) if name == "mi" and len(text) > 1 else latex.characters(text)
    if writer := WRITERS.get(name):
        return writer(element, list(map(_write_element, element)))
    return _write_children(element)


def _argument(parts: list[str], index: int) -> str:
    return parts[index] if index < len(parts) else ""


def _fraction(element: Element, parts: list[str]) -> str:
    has_line = attribute(element, "linethickness") not in ("0", "0pt")
    return latex.fraction(_argument(parts, 0), _argument(parts, 1), has_line=has_line)


def _square_root(_element: Element, parts: list[str]) -> str:
    return latex.root("".join(parts))


def _root(_element: Element, parts: list[str]) -> str:
    return latex.root(_argument(parts, 0), _argument(parts, 1))


def _below(element: Element, parts: list[str]) -> str:
    if local(element) == "munder" and _argument(parts, 1).strip() == "_":
        return f"\\underline{{{_argument(parts, 0)}}}"
    return latex.scripts(_argument(parts, 0).strip(), _argument(parts, 1))


def _above(element: Element, parts: list[str]) -> str:
    above = _argument(parts, 1).strip()
    if local(element) == "mover" and above in latex.ACCENTS:
        return latex.accent(_argument(parts, 0), above)
    return latex.scripts(_argument(parts, 0).strip(), "", above)


def _both(_element: Element, parts: list[str]) -> str:
    return latex.scripts(_argument(parts, 0).strip(), _argument(parts, 1), _argument(parts, 2))


def _table(element: Element, _parts: list[str]) -> str:
    return latex.matrix(
        [
            [_write_children(cell) for cell in children(row, "mtd")]
            for row in children(element, "mtr")
        ]
    )


def _write_fence(element: Element, parts: list[str]) -> str:
    begin, end = element.get("open", "("), element.get("close", ")")
    return latex.fence_parts(begin, parts, element.get("separators", ","), end)


WRITERS = {
    "mfrac": _fraction,
    "msqrt": _square_root,
    "mroot": _root,
    **dict.fromkeys(("msub", "munder"), _below),
    **dict.fromkeys(("msup", "mover"), _above),
    **dict.fromkeys(("msubsup", "munderover"), _both),
    "mtable": _table,
    "mfenced": _write_fence,
}
