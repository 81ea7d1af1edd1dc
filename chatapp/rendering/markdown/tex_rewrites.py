r"""Rewrites the TeX that models write into TeX that math-core supports.

math-core knows most of LaTeX's mathematics. Missing commands with an equivalent are replaced by it,
commands without a meaning in a single formula (labels, font sizes, colours) are removed, and
commands that define other commands are rejected.
"""

import re
from collections.abc import Callable

from . import units
from .chemistry import chemistry
from .unsupported import Unsupported


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


# A definition can expand a short formula to any length and depth. Our CSS can't draw `\phase`.
_FORBIDDEN_COMMANDS = _names(
    "newcommand renewcommand providecommand def gdef edef xdef let DeclareMathOperator"
    " newenvironment definecolor phase"
)
# Text sizes, hints for line breaks, and equation numbers of a document.
_IGNORED_COMMANDS = _names(
    "tiny scriptsize footnotesize small normalsize large Large LARGE huge Huge displaylimits"
    " allowbreak nobreak centering relax notag nonumber noindent"
)
# Commands that math-core has under another name.
_EQUALS = {
    "cr": r"\\",  # not a macro, since it may end a row
    "newline": r"\\",
    "hfill": r"\quad",
    "hspace*": r"\hspace",
    "ca": r"\sim",
    "sout": r"\cancel",
}
# Macros for math-core. None takes an argument, so the depth that each adds is known.
MACROS = {
    "AA": r"\text{Å}",
    "O": r"\text{Ø}",
    "LaTeX": r"\text{LaTeX}",
    "TeX": r"\text{TeX}",
    "centerdot": r"\cdot",
    "dd": r"\mathrm{d}",
    "empty": r"\emptyset",
    "lparen": "(",
    "rparen": ")",
    "sgn": r"\operatorname{sgn}",
    "shortmid": r"\mid",
    "shortparallel": r"\parallel",
    "smallsetminus": r"\setminus",
    "thickapprox": r"\approx",
    "thicksim": r"\sim",
}
# Environments that math-core lacks or would number, and equivalents without numbers.
_ENVIRONMENTS = {
    "alignat": "align*",
    "alignat*": "align*",
    "alignedat": "aligned",
    "align": "align*",
    "equation": "equation*",
    "flalign": "align*",
    "flalign*": "align*",
    "gather": "gather*",
    "multline": "gather*",
    "multline*": "gather*",
    "smallmatrix": "matrix",
    "split": "aligned",
    **{f"{kind}matrix*": f"{kind}matrix" for kind in ("", "p", "b", "B", "v", "V")},
}
# Environments as wide as the page, with room for a number at its edge, and narrow ones.
_NARROW = {
    r"\begin{align*}": r"\begin{aligned}",
    r"\end{align*}": r"\end{aligned}",
    r"\begin{gather*}": r"\begin{gathered}",
    r"\end{gather*}": r"\end{gathered}",
    r"\begin{equation*}": "",
    r"\end{equation*}": "",
}

_COMMAND = re.compile(r"\\([A-Za-z]+\*?|[\s\S])")
_TOKEN = re.compile(r"\\(?:[A-Za-z]+|[\s\S])|[^\\]")
_BRACES = re.compile(r"\\[\s\S]|[{}]")
_OPTION = re.compile(r"\s*\[[^\]]*\]")
_ENVIRONMENT = re.compile(
    r"\\(begin|end)\{([A-Za-z]+\*?)\}"
    r"(?:(?:(?<=at\})|(?<=at\*\}))\s*\{\d+\}|(?<=matrix\*\})\s*\[[lrc]\])?"
)
_WIDE = re.compile(r"\s*\\begin\{(align|gather)\*\}[\s\S]*\\end\{\1\*\}\s*")
_TAG = re.compile(r"\\tag(\*?)\s*\{((?:[^{}\\]|\\[\s\S])*)\}")
_NESTING = re.compile(r"\\(?:begin|end)(?![A-Za-z])|\\[\s\S]|[{}&]")
_FORMULA_IN_TEXT = re.compile(r"(?<!\\)\$([\s\S]*?)(?<!\\)\$|\\\(([\s\S]*?)\\\)")
_SPECIAL_IN_TEXT = re.compile(r"(?<!\\)[_&#]")
_PERCENT = re.compile(r"(?<=\d)%")
_NO_DELIMITER = re.compile(r"\\[bB]igg?[lrm]?\s*\.")
_NAMED_WITH_LIMITS = re.compile(
    r"\\(?:mathop|operatorname\*?)\s*\{(?:\\(?:rm|mathrm|text)\b)?\s*\{?([A-Za-z][A-Za-z ]*)\}?\}"
    r"\s*\\limits(?![A-Za-z])"
)
_LIMITS = re.compile(r"(?:\\([A-Za-z]+)\s*)?\\limits(?![A-Za-z])")
_WITH_LIMITS = _names(
    "int iint iiint oint sum prod coprod bigcup bigcap bigsqcup biguplus bigoplus bigotimes bigodot"
    " bigvee bigwedge lim limsup liminf max min sup inf argmax argmin"
)


def rewrite_tex(tex: str, *, display: bool) -> str:
    """Return the formula as TeX for math-core; raises `Unsupported`."""
    tex = _PERCENT.sub(r"\\%", tex)  # otherwise the rest of the line would be a comment
    tex = _NO_DELIMITER.sub("", tex)
    tex = _NAMED_WITH_LIMITS.sub(r"\\operatorname*{\1}", tex)
    tex = _LIMITS.sub(_limits, _commands(tex))
    tex = _in_one_environment(_ENVIRONMENT.sub(_environment, tex), display)
    # Last, since removing a command may join two parts of a name.
    for name in _COMMAND.findall(tex):
        if name.rstrip("*") in _FORBIDDEN_COMMANDS:
            raise Unsupported(name)
    return tex


def _limits(match: re.Match[str]) -> str:
    return match[0] if match[1] in _WITH_LIMITS else match[0].removesuffix(r"\limits")


def _commands(tex: str) -> str:
    parts, at = [], 0
    while match := _COMMAND.search(tex, at):
        parts.append(tex[at : match.start()])
        replacement, at = _command(match, tex)
        parts.append(replacement)
    parts.append(tex[at:])
    return "".join(parts)


def _command(match: re.Match[str], tex: str) -> tuple[str, int]:
    """Return the replacement of a command and its arguments, and where they end."""
    name, at = match[1], match.end()
    if name in _IGNORED_COMMANDS:
        return " ", at
    if name in _EQUALS:
        return _EQUALS[name] + " ", at
    if name not in _RULES:
        return match[0], at
    count, write = _RULES[name]
    if option := _OPTION.match(tex, at):
        at = option.end()
    arguments = []
    for _ in range(count):
        argument, at = _argument(tex, at)
        arguments.append(argument)
    return write(*arguments), at


def _argument(tex: str, at: int) -> tuple[str, int]:
    """Return the content of a group or a single token, and where it ends."""
    while tex[at : at + 1].isspace():
        at += 1
    if not tex.startswith("{", at):
        if (token := _TOKEN.match(tex, at)) is None:
            raise Unsupported("an argument is missing")
        return token[0], token.end()
    depth = 0
    for brace in _BRACES.finditer(tex, at):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return tex[at + 1 : brace.start()], brace.end()
    raise Unsupported("a brace is not closed")


def _group(tex: str) -> str:
    return f"{{{_commands(tex)}}}"


def _text(text: str, command: str = "text") -> str:
    r"""Return `\text{…}` with formulas moved out and `_` escaped, as math-core requires."""
    parts, at = [], 0
    for match in _FORMULA_IN_TEXT.finditer(text):
        parts += [_words(text[at : match.start()], command), _group(match[1] or match[2] or "")]
        at = match.end()
    parts.append(_words(text[at:], command))
    return "".join(parts) if len(parts) == 1 else f"{{{''.join(parts)}}}"


def _words(text: str, command: str) -> str:
    return f"\\{command}{{{_SPECIAL_IN_TEXT.sub(_escape_special, text)}}}"


def _escape_special(match: re.Match[str]) -> str:
    return "\\" + match[0]


def _circle_number(text: str) -> str:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 20:
        raise Unsupported(text)
    return rf"\text{{{chr(ord('①') + int(text) - 1)}}}"


def _wrap_environment(opening: str, content: str) -> str:
    name = opening.partition("}")[0]
    return rf"\begin{{{opening}}}{_commands(content)}\end{{{name}}}"


def _derivative(sign: str) -> Callable[[str, str], str]:
    return lambda above, below: rf"\frac{{{sign} {_commands(above)}}}{{{sign} {_commands(below)}}}"


# Commands with arguments: how many, and the function that writes the replacement.
_RULES: dict[str, tuple[int, Callable[..., str]]] = {
    "SI": (2, units.quantity),
    "qty": (2, units.quantity),
    "si": (1, units.unit),
    "unit": (1, units.unit),
    "num": (1, units.number),
    "ang": (1, units.angle),
    "pu": (1, units.physical_unit),
    # Rewritten again, since chemistry may contain formulas between dollars.
    "ce": (1, lambda formula: _group(chemistry(formula))),
    # In text, math-core supports no formulas and no unescaped special characters.
    "text": (1, _text),
    "textrm": (1, _text),
    "textnormal": (1, _text),
    "mbox": (1, _text),
    "hbox": (1, _text),
    "textbf": (1, lambda text: _text(text, "textbf")),
    "textit": (1, lambda text: _text(text, "textit")),
    "textcircled": (1, _circle_number),
    # Links and references to other formulas become text.
    "href": (2, lambda _address, text: _group(text)),
    "label": (1, lambda _name: ""),
    "require": (1, lambda _name: ""),
    "ref": (1, lambda name: _text(name)),
    "eqref": (1, lambda name: _text(f"({name})")),
    # Our Content Security Policy allows no inline styles, so no colours.
    "color": (1, lambda _colour: ""),
    "textcolor": (2, lambda _colour, content: _group(content)),
    "colorbox": (2, lambda _colour, text: _text(text)),
    "fcolorbox": (3, lambda _line, _colour, text: _text(text)),
    # These only change the space around their content.
    "smash": (1, _group),
    "vcenter": (1, _group),
    "ensuremath": (1, _group),
    "mathllap": (1, _group),
    "mathrlap": (1, _group),
    "mathclap": (1, _group),
    # Unknown to math-core.
    "substack": (1, lambda rows: _wrap_environment("subarray}{c", rows)),
    "matrix": (1, lambda rows: _wrap_environment("matrix", rows)),
    "cancelto": (2, lambda to, content: rf"\cancel{_group(content)}^{_group(to)}"),
    "dv": (2, _derivative(r"\mathrm{d}")),
    "pdv": (2, _derivative(r"\partial")),
}


def _environment(match: re.Match[str]) -> str:
    which, name = match[1], match[2]
    if name in ("displaymath", "math"):
        return ""
    if name.rstrip("*") == "eqnarray":
        return r"\begin{array}{rcl}" if which == "begin" else r"\end{array}"
    if name not in _ENVIRONMENTS:
        return match[0]
    return rf"\{which}{{{_ENVIRONMENTS[name]}}}"


def _in_one_environment(tex: str, display: bool) -> str:
    """Put tags and rows into environments where math-core supports them.

    It accepts a tag only in an environment as wide as the page, and ignores a row's end outside
    environments.
    """
    tags = _TAG.findall(tex)
    if display and tags and _WIDE.fullmatch(tex):
        return tex
    for wide, narrow in _NARROW.items():
        tex = tex.replace(wide, narrow)
    if not display or len(tags) != 1:
        return _with_rows(_TAG.sub(_tag_as_text, tex))
    star, text = tags[0]
    tag = rf"\tag{star}{{{text.replace('$', '')}}}"
    return rf"\begin{{equation*}}{_with_rows(_TAG.sub('', tex))}{tag}\end{{equation*}}"


def _tag_as_text(match: re.Match[str]) -> str:
    text = match[2] if match[1] else f"({match[2]})"
    return r"\qquad" + _text(text)


def _with_rows(tex: str) -> str:
    marks = _marks_outside_groups(tex)
    if not marks & {r"\\", "&"}:
        return tex
    name = "aligned" if "&" in marks else "gathered"
    return rf"\begin{{{name}}}{tex}\end{{{name}}}"


def _marks_outside_groups(tex: str) -> set[str]:
    depth, marks = 0, set()
    for match in _NESTING.finditer(tex):
        mark = match[0]
        if mark in ("{", r"\begin"):
            depth += 1
        elif mark in ("}", r"\end"):
            depth -= 1
        elif depth == 0:
            marks.add(mark)
    return marks
