"""Conversion of TeX to MathML by native code, which no formula may crash."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from chatapp.rendering.markdown import tex as converter
from chatapp.rendering.markdown.formulas import as_source, mathml
from chatapp.rendering.markdown.tex import CLASSES, TEXT_CLASSES, to_mathml
from chatapp.rendering.markdown.unsupported import Unsupported
from tests.security.judge import breaches
from tests.support.dom import fragment

STYLES = Path(__file__).parents[3] / "static" / "css" / "thread" / "formulas.css"
MAX_LENGTH = 2000  # characters of a formula

# What opens a level of nesting, and what closes it.
NESTED = {
    **{"{": "}", "\\sqrt{": "}", "x^{": "}", "x_{": "}", "\\sqrt[": "a]{x}", "{a\\over ": "}"},
    **{"\\left(": "\\right)", "\\left(\\middle|": "\\right)", "\\mathbb{": "}", "\\text{$": "$}"},
    **{f"\\begin{{{name}}}": f"\\end{{{name}}}" for name in ("matrix", "aligned", "cases")},
    "\\begin{array}{c}": "\\end{array}",
    **{
        f"\\{name} ": "" for name in ("hat", "sqrt", "bm", "not", "boxed", "displaystyle", "mathop")
    },
    **{f"\\{name}1": "" for name in ("frac", "overset", "binom", "cancelto", "dv", "stackrel")},
    **{"\\sqrt^": "", "\\sum_": "", "\\color{red}": "", "\\substack ": "", "\\bigl(": "", "(": ""},
    **{"\\ce{": "}", "\\ce{$": "$}", "\\ce{A->[": "]}", "\\xrightarrow[": "a]{x}", "\\text{": "}"},
    **{
        "[": "",
        "\\mathopen(": "",
        "\\langle ": "",
        "\\bra{": "}",
        "\\SI{1}{": "}",
        "x'": "",
        "&": "",
    },
}
EACH_AT_ITS_LIMIT = """
import sys, threading, time
from chatapp.rendering.markdown.formulas import mathml

nested, longest, stack = eval(sys.argv[1])

def convert_all():
    for opening, closing in nested.items():
        for depth in (39, 40, 99, 100, 199, 200, longest):
            depth = min(depth, longest // len(opening + closing))
            for tex in (opening * depth + "x" + closing * depth, opening * depth):
                mathml("$" + tex + "$")
                mathml("$$" + tex + "$$")
    print(time.process_time())

threading.stack_size(stack)
thread = threading.Thread(target=convert_all)
thread.start()
thread.join()
"""


def convert_formula(tex: str, *, display: bool = True) -> str:
    """Return the formula's MathML without spaces and classes."""
    html = to_mathml(tex, display=display)
    return re.sub(r"<mspace[^>]*></mspace>| class=\"[^\"]*\"|</?mrow[^>]*>", "", html)


def rows(tex: str) -> list[list[str]]:
    """Return the text of each cell of the formula's table."""
    root = fragment(to_mathml(tex, display=True))
    table = root.select("mtable")[0]
    return [[cell.text for cell in row.select("mtd")] for row in table.select("mtr")]


@pytest.mark.parametrize(
    ("tex", "cells"),
    [
        (r"\begin{aligned} a &= b + c \\ &= d \end{aligned}", [["a", "=b+c"], ["", "=d"]]),
        (r"\begin{align} u &= v \\ w &= x \end{align}", [["u", "=v"], ["w", "=x"]]),
        (r"\begin{alignat}{2} a &= b & c &= d \end{alignat}", [["a", "=b", "c", "=d"]]),
        (r"\begin{split} a &= b \end{split}", [["a", "=b"]]),
        (r"\begin{gathered} a \\ b \end{gathered}", [["a"], ["b"]]),
        (r"\begin{equation} a = b \\ c \end{equation}", [["a=b"], ["c"]]),
        (r"\begin{eqnarray} a &=& b \end{eqnarray}", [["a", "=", "b"]]),
        (r"\begin{cases} x & a \\ y & b \end{cases}", [["x", "a"], ["y", "b"]]),
        (r"f = \begin{dcases} x & a \\ y & b \end{dcases}", [["x", "a"], ["y", "b"]]),
        (r"\begin{vmatrix} a & b \\ c & d \end{vmatrix}", [["a", "b"], ["c", "d"]]),
        (r"\begin{pmatrix*}[r] 1 & 2 \end{pmatrix*}", [["1", "2"]]),
        (r"a = b \\ c = d", [["a=b"], ["c=d"]]),
        (r"a &= b \\ &= c", [["a", "=b"], ["", "=c"]]),
        (r"a \cr b", [["a"], ["b"]]),
        (r"\sum_{\substack{i \\ j}} x", [["i"], ["j"]]),
        (r"a = b \tag{1}", [["", "a=b", "(1)"]]),
        (r"a = b \tag*{A}", [["", "a=b", "A"]]),
        (
            r"\begin{align} a &= b \tag{1} \\ c &= d \tag{2} \end{align}",
            [["", "a", "=b", "(1)"], ["", "c", "=d", "(2)"]],
        ),
    ],
)
def test_rows_and_cells_keep_their_places(tex: str, cells: list[list[str]]) -> None:
    assert rows(tex) == cells


@pytest.mark.parametrize(
    ("tex", "mathml"),
    [
        (r"\boxed{x}", '<menclose notation="box"><mi>x</mi></menclose>'),
        (r"\cancel{x}", '<menclose notation="updiagonalstrike"><mi>x</mi></menclose>'),
        (
            r"\underbrace{x}_{n}",
            '<munder><munder accentunder="true"><mi>x</mi><mo>⏟</mo></munder><mi>n</mi></munder>',
        ),
        (
            r"\lim_{x} y",
            '<munder><mo movablelimits="true" lspace="0" rspace="0.1667em">lim</mo>'
            "<mi>x</mi></munder>",
        ),
        (
            r"\operatorname*{argmax}_x",
            '<munder><mo movablelimits="true" lspace="0" rspace="0">argmax</mo><mi>x</mi></munder>',
        ),
        (r"\text{Ток 电流 a_b}", "<mtext>Ток&nbsp;电流&nbsp;a_b</mtext>"),
        (r"\text{if $x<1$}", "<mtext>if&nbsp;</mtext><mi>x</mi><mo>&lt;</mo><mn>1</mn>"),
        (r"\textbf{a}", "<mtext>a</mtext>"),
        (r"50%", "<mn>50</mn><mi>%</mi>"),
        (r"\textcircled{3}", "<mtext>③</mtext>"),
        (r"\label{eq}x \eqref{eq}", "<mi>x</mi><mtext>(eq)</mtext>"),
        (r"\Large\color{red}x", "<mi>x</mi>"),
        (r"\overline{x}", '<mover accent="true"><mi>x</mi><mo stretchy="true">‾</mo></mover>'),
        (
            r"\num{1.5e-3}",
            '<mn>1.5</mn><mo lspace="0.2222em" rspace="0.2222em">×</mo>'
            '<msup><mn>10</mn><mo lspace="0" rspace="0">−</mo><mn>3</mn></msup>',
        ),
    ],
)
def test_commands_are_converted_to_mathml(tex: str, mathml: str) -> None:
    assert mathml in convert_formula(tex)


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"\ce{2H2 + O2 -> 2H2O}", "2H2+O2⟶2H2O"),
        (r"\ce{SO4^2- + Ba^{2+} -> BaSO4 v}", "SO42−+Ba2+⟶BaSO4↓"),
        (r"\ce{Na+ + Cl- <=> NaCl(aq)}", "Na++Cl−⇌NaCl(aq)"),
        (r"\ce{A ->[\Delta][cat] B ^}", "A→catΔB↑"),
        (r"\ce{^{14}_{6}C}", "614C"),
        (r"\ce{CuSO4.5H2O}", "CuSO4⋅5H2O"),
        (r"\ce{[Fe(CN)6]^3-}", "[Fe(CN)6]3−"),
        (r"\ce{CH3-CH=CH2}", "CH3−CH=CH2"),
        (r"\ce{1/2 O2}", "12O2"),
        (r"\pu{123 kJ/mol}", "123kJ/mol"),
        (r"\SI{9.8}{\meter\per\second\squared}", "9.8ms−2"),
        (r"\qty{3e8}{m/s}", "3×108m/s"),
        (r"\unit{\kilo\watt\hour}", "kWh"),
    ],
)
def test_chemistry_and_units_are_converted(tex: str, text: str) -> None:
    assert fragment(to_mathml(tex, display=True)).text == text


def test_a_count_is_a_subscript_and_a_charge_a_superscript() -> None:
    base = '<mi mathvariant="normal">O</mi>'
    charge = '<mn>2</mn><mo lspace="0" rspace="0">−</mo>'
    assert f"<msubsup>{base}<mn>4</mn>{charge}</msubsup>" in convert_formula(r"\ce{SO4^2-}")


def test_a_tag_of_an_inline_formula_is_text() -> None:
    assert "<mtext>(1)</mtext>" in to_mathml(r"x \tag{1}", display=False)
    assert "mtable" not in to_mathml(r"x \tag{1}", display=False)


def test_the_last_line_of_an_array_spans_all_columns() -> None:
    html = to_mathml(r"\begin{array}{|c|c|}\hline a & b \\ \hline\end{array}", display=True)
    assert html.endswith(
        '<mtr><mtd class="tex-solid-top" columnspan="50"></mtd></mtr></mtable></math>'
    )
    assert '<mtable class="tex-solid-left tex-solid-top"' in html


@pytest.mark.parametrize(
    "tex",
    [
        r"\newcommand{\x}{y} \x",
        r"\newcommand*{\x}{y} \x",
        r"\text{\newcommand{\x}{y}} \x",
        r"\newc\begin{equation}ommand{\x}{y} \x",
        r"\newc\big.ommand{\x}{y} \x",
        r"\renewcommand{\alpha}{y}",
        r"\def\x{\x\x}\x",
        r"\let\x=y",
        r"\DeclareMathOperator{\x}{y}",
        r"\includegraphics{a}",
        r"\htmlClass{a}{x}",
        r"\rule{10000em}{1em}",
        r"\ce{H2O & x}",
        r"\ce{\href{a}{b}}",
        r"\SI{1}{\foo}",
        r"\num{x}",
        r"\textcircled{99}",
        r"\text{",
        r"\frac",
        r"\unknown",
        r"a & b \end{x}",
        "{" * 41 + "x" + "}" * 41,
        r"\hat " * 201,
    ],
)
def test_an_unsupported_formula_is_shown_as_source(tex: str) -> None:
    assert mathml(f"$${tex}$$") == as_source(f"$${tex}$$")


@pytest.mark.parametrize(
    "tex",
    [
        r"\text{<script>alert(1)</script>}",
        r"\text{</mtext></math><img src=x onerror=alert(1)>}",
        r"\href{javascript:alert(1)}{x}",
        r"\eqref{x\" onclick=\"y}",
        r"\begin{equation}x\label{a}\end{equation}",
        r"\tag{<b>}x",
        r"\color{red}x \textcolor{blue}{y} \colorbox{red}{z}",
        r"\ce{A ->[<b>] B}",
        r"\begin{array}{c|c:r}\hline a & b & c\\\hdashline\end{array}",
        r"\hspace{10000em}x\kern-99em y\raisebox{90em}{z}",
        r"\textbf{a}\texttt{b}\textsf{c}\textsc{d}\emph{e}\underline{\text{f}}",
        r"\phase{x}\angl{y}\sideset{_1}{^2}\sum \xcancel{z}",
    ],
)
def test_a_formula_contains_only_allowed_html(tex: str) -> None:
    assert breaches(mathml(f"$${tex}$$")) == []
    assert breaches(mathml(f"${tex}$")) == []


def test_space_in_a_formula_is_bounded() -> None:
    assert 'width="2em"' in to_mathml(r"\hspace{2em}", display=False)
    for tex in (r"\hspace{10000em}", r"\hspace{-90em}", r"\kern 999em", r"\raisebox{90em}{x}"):
        assert not re.search(r"90|999|1000", to_mathml(tex, display=False))


def test_a_formula_with_too_much_output_is_rejected() -> None:
    with pytest.raises(Unsupported):
        to_mathml(r"\begin{matrix}" + r"&\to" * 4_000 + r"\end{matrix}", display=True)


def test_a_panic_of_the_native_code_raises_unsupported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    panic = type("PanicException", (BaseException,), {})

    class Failing:
        def convert_with_local_state(self, tex: str, *, displaystyle: bool) -> str:
            raise panic

    monkeypatch.setattr(converter, "_CONVERTER", Failing())
    with pytest.raises(Unsupported):
        to_mathml("x", display=True)


def test_each_class_of_a_formula_has_a_style() -> None:
    styles = STYLES.read_text()
    for names in (*CLASSES.values(), *TEXT_CLASSES.values()):
        assert all(f".{name}" in styles for name in names.split())


@pytest.mark.server
@pytest.mark.parametrize("stack", [512 * 1024, 8 * 1024 * 1024])
def test_no_nested_formula_crashes_the_process_or_takes_long(stack: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EACH_AT_ITS_LIMIT, repr((NESTED, MAX_LENGTH, stack))],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert float(done.stdout) < 20
