r"""Converts one formula from TeX to MathML with math-core, which is native code.

The length, depth and number of commands of the input are limited before math-core sees it. The
output is limited in length, has classes instead of inline styles, which our Content Security Policy
forbids, and is cleaned with the list of `allowed`.
"""

import re

from math_core import LatexError, LatexToMathML

from .allowed import MATHML, cleaner
from .tex_rewrites import MACROS, rewrite_tex
from .unsupported import Unsupported

# math-core recurses for each brace and for each command in another's argument, and a stack overflow
# ends the process. A level takes up to 1.8 KiB for a brace, \begin or \left and 1.5 KiB for a
# command (measured; `\sqrt{` is both), so these limits allow 372 KiB at most: less than the 512 KiB
# stack of a small thread, and far less than a main thread's 8 MiB.
_MAX_NESTED = 40
_MAX_COMMANDS = 200
_MAX_REWRITTEN_LENGTH = 8_000  # characters
_MAX_MATHML_LENGTH = 40_000  # characters
_MAX_EXPANSIONS = 100  # of our macros; none contains another

_CONVERTER = LatexToMathML(
    macros=MACROS,
    allow_unreliable_rendering=True,
    fancy_error=False,
    max_expansions=_MAX_EXPANSIONS,
)
_NESTING = re.compile(r"[{}]|\\(?:begin|left|end|right)(?![A-Za-z])|\\[\s\S]")
_COMMAND = re.compile(r"\\[A-Za-z]+|[\^_]\s*(?=\\)")  # a command as a script is one more level

CLASSES = {
    "text-align:left": "tex-left",
    "text-align:right": "tex-right",
    "padding-left:0": "tex-flush-left",
    "padding-right:0": "tex-flush-right",
    "padding-left:1em": "tex-condition",
    "padding-left:0.1em": "tex-between-lines",
    "padding-top:0": "tex-tight",
    "padding-top:0.1667em": "tex-continued",
    "width:100%": "tex-wide",
    "width:50%": "tex-margin",
    "math-shift:compact": "tex-cramped",
    "margin-left:-0.16666667em": "tex-back-thin",
    "margin-left:-0.22222222em": "tex-back-medium",
    "margin-left:-0.2777778em": "tex-back-thick",
    **{
        f"border-{side}:0.05em {kind} currentcolor": f"tex-{kind}-{side}"
        for side in ("top", "right", "left")
        for kind in ("solid", "dashed")
    },
}
_STYLE = re.compile(r' style="([^"]*)"')
_TEXT_STYLE = re.compile(r"<mtext>((?:<[a-z]+>|<span class=\"math-core-sans-serif-font\">)+)")
TEXT_CLASSES = {
    "<b>": "tex-bold",
    "<i>": "tex-italic",
    "<em>": "tex-italic",
    "<b><i>": "tex-bold tex-italic",
    "<code>": "tex-code",
    '<span class="math-core-sans-serif-font">': "tex-sans",
}
_LINE, _COMBINING_LINE = "\u203e", "\u0332"  # Chromium draws the latter beside its base
_LAST_LINE = re.compile(r'<mtr><mtd (class="tex-(?:solid|dashed)-top)[^"]*"></mtd></mtr></mtable>')


def to_mathml(tex: str, *, display: bool) -> str:
    """Return the formula as a `<math>` element; raises `Unsupported`."""
    _check_depth(tex)
    tex = rewrite_tex(tex, display=display)
    _check_depth(tex)
    if len(tex) > _MAX_REWRITTEN_LENGTH:
        raise Unsupported("too long")
    try:
        mathml = _CONVERTER.convert_with_local_state(tex, displaystyle=display)
    except LatexError as error:
        raise Unsupported(str(error)) from error
    except BaseException as error:
        # A panic of the native code is not an Exception, and its class can't be imported.
        if type(error).__name__ == "PanicException":
            raise Unsupported("math-core failed") from error
        raise
    if len(mathml) > _MAX_MATHML_LENGTH:
        raise Unsupported("too long")
    return _CLEANER.clean(_add_classes(mathml))


def _check_depth(tex: str) -> None:
    if len(_COMMAND.findall(tex)) > _MAX_COMMANDS:
        raise Unsupported("too many commands")
    depth = 0
    for mark in _NESTING.findall(tex):
        if mark in ("{", r"\begin", r"\left"):
            depth += 1
        elif mark in ("}", r"\end", r"\right"):
            depth -= 1
        if depth > _MAX_NESTED:
            raise Unsupported("too deep")


def _add_classes(mathml: str) -> str:
    """Return math-core's MathML with our classes.

    math-core writes `<` and quotes in text as entities, so the patterns only match tags.
    """
    if "style=" in mathml:
        mathml = _STYLE.sub(_class, mathml)
        mathml = _LAST_LINE.sub(r'<mtr><mtd \1" columnspan="50"></mtd></mtr></mtable>', mathml)
    mathml = _TEXT_STYLE.sub(_text_class, mathml)
    mathml = mathml.replace(f">{_COMBINING_LINE}<", f">{_LINE}<")
    return mathml.replace("<math>", '<math display="inline">', 1)


def _class(match: re.Match[str]) -> str:
    declarations = [part.replace(": ", ":").strip() for part in match[1].split(";")]
    classes = [CLASSES[declaration] for declaration in declarations if declaration in CLASSES]
    return f' class="{" ".join(classes)}"' if classes else ""


def _text_class(match: re.Match[str]) -> str:
    name = TEXT_CLASSES.get(match[1])
    return f'<mtext class="{name}">' if name else "<mtext>"


_CLEANER = cleaner(MATHML)
