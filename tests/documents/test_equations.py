"""Equations of Office files are LaTeX that people and models read."""

import pytest

from bench.documents.office_packages import element
from chatapp.documents.formats.equations import mathml, office_math
from chatapp.documents.formats.office.xml import parse_xml


def text(letters: str, properties: str = "") -> str:
    return f"<m:r>{properties}<m:t>{letters}</m:t></m:r>"


def part(name: str, letters: str) -> str:
    return f"<m:{name}>{text(letters)}</m:{name}>"


FRACTION = f"<m:f>{part('num', 'a+b')}{part('den', '2')}</m:f>"


@pytest.mark.parametrize(
    ("math", "latex"),
    [
        (text("\U0001d465≤5%"), "$x≤5\\%$"),
        (FRACTION, "$\\frac{a+b}{2}$"),
        (FRACTION.replace("<m:num>", '<m:fPr><m:type m:val="lin"/></m:fPr><m:num>'), "${a+b}/2$"),
        (f"<m:sSub>{part('e', 'x')}{part('sub', 'i')}</m:sSub>", "$x_i$"),
        (
            f"<m:sSubSup>{part('e', 'x')}{part('sub', 'i')}{part('sup', '10')}</m:sSubSup>",
            "$x_i^{10}$",
        ),
        (f"<m:rad><m:deg/>{part('e', 'x')}</m:rad>", "$\\sqrt{x}$"),
        (f"<m:rad>{part('deg', '3')}{part('e', 'x')}</m:rad>", "$\\sqrt[3]{x}$"),
        (
            f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr>{part("sub", "i=1")}{part("sup", "n")}'
            f"{part('e', 'i')}</m:nary>",
            "$\\sum_{i=1}^n i$",
        ),
        (f"<m:nary>{part('sub', '0')}{part('sup', '1')}{part('e', 'x')}</m:nary>", "$\\int_0^1 x$"),
        (f"<m:func>{part('fName', 'sin')}{part('e', 'x')}</m:func>", "$\\sin x$"),
        (f"<m:d>{part('e', 'a')}{part('e', 'b')}</m:d>", "$(a|b)$"),
        (
            f'<m:d><m:dPr><m:begChr m:val="{{"/><m:endChr m:val=""/></m:dPr>{part("e", "a")}</m:d>',
            "$\\left\\{a\\right.$",
        ),
        (
            f"<m:m><m:mr>{part('e', 'a')}{part('e', 'b')}</m:mr>"
            f"<m:mr>{part('e', 'c')}</m:mr></m:m>",
            "$\\begin{matrix}a & b \\\\ c\\end{matrix}$",
        ),
        (
            f'<m:acc><m:accPr><m:chr m:val="\u20d7"/></m:accPr>{part("e", "v")}</m:acc>',
            "$\\vec{v}$",
        ),
        (
            f'<m:bar><m:barPr><m:pos m:val="top"/></m:barPr>{part("e", "x")}</m:bar>',
            "$\\overline{x}$",
        ),
        (text("if", "<m:rPr><m:nor/></m:rPr>"), "$\\text{if}$"),
        (f"<m:limLow>{part('e', 'lim')}{part('lim', 'n→∞')}</m:limLow>", "$\\lim_{n→∞}$"),
    ],
)
def test_equations_of_word(math: str, latex: str) -> None:
    assert office_math.to_latex(parse_xml(element("m:oMath", math).encode())) == latex


@pytest.mark.parametrize(
    ("math", "latex"),
    [
        ("<mfrac><mn>1</mn><mi>x</mi></mfrac>", "$\\frac{1}{x}$"),
        ("<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt>", "$\\sqrt{x+1}$"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot>", "$\\sqrt[3]{x}$"),
        ("<msubsup><mo>∫</mo><mn>0</mn><mn>1</mn></msubsup><mi>x</mi>", "$\\int_0^1x$"),
        (
            "<munder><mi>lim</mi><mrow><mi>n</mi><mo>→</mo><mi>∞</mi></mrow></munder>",
            "$\\lim_{n→∞}$",
        ),
        ("<mover><mi>v</mi><mo>→</mo></mover>", "$\\vec{v}$"),
        ("<mi>sin</mi><mi>x</mi>", "$\\sin x$"),
        ("<mtext>if</mtext>", "$\\text{if}$"),
        (
            "<mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr></mtable>",
            "$\\begin{matrix}a & b\\end{matrix}$",
        ),
        ("<semantics><mrow/><annotation>a over b</annotation></semantics>", "$a over b$"),
        ("<mfenced><mi>a</mi><mi>b</mi></mfenced>", "$(a,b)$"),
    ],
)
def test_equations_of_opendocument(math: str, latex: str) -> None:
    assert mathml.to_latex(parse_xml(f"<math>{math}</math>".encode())) == latex
