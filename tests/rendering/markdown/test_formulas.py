"""Formulas become MathML; prices stay text."""

import re

import pytest

from chatapp.rendering.markdown import LiveMarkdown, render
from tests.support.dom import fragment


@pytest.mark.parametrize(
    ("text", "display"),
    [
        ("$x^2$", "inline"),
        ("$2 + 2$", "inline"),
        ("$2x \\text{ if } y$", "inline"),
        ("其中$y$是常数", "inline"),
        ("価格は$x$円", "inline"),
        ("값은$x$원", "inline"),
        ("\\(x\\)", "inline"),
        ("a $$x$$", "block"),
        ("$$\nx\n$$", "block"),
        ("\\begin{align}\nx\n\\end{align}", "block"),
        ("a \\begin{gather*}x\\end{gather*} b", "block"),
        ("\\[\n- x\n= y\n\\]", "block"),
        ("- $x$", "inline"),
        ("|a|\n|-|\n|$|x|$|", "inline"),
    ],
)
def test_a_formula_becomes_mathml(text: str, display: str) -> None:
    assert re.findall(r'<math display="(\w+)">', render(text)) == [display]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "$5 and $10",
            "$5-$10",
            "US$ and CA$",
            "$HOME/bin:$PATH",
            "a $ b $ c",
            "$x",
            "$ x$",
            "$$",
        ),
        "$100 is about HK$ 780 today.",
        "It fell from $20 to 15$ in a day.",
        "$5, then (in US$)",
        "从 US$ 5 到 6$ 为止",
    ],
)
def test_prose_with_dollars_stays_prose(text: str) -> None:
    assert render(text) == f'<div class="block" dir="auto"><p>{text}</p></div>'


@pytest.mark.parametrize(
    "text",
    [
        "`$x$`",
        "```\n$x$ \\(y\\)\n```",
        "    $x$",
        "- ```\n  $x$\n  ```",
        "`` ` $x$ ``",
        "a `$` b `$`",
    ],
)
def test_code_keeps_its_dollars(text: str) -> None:
    assert "<math" not in render(text)
    assert "$" in fragment(render(text)).text


def test_a_url_keeps_its_dollars() -> None:
    assert 'href="http://a.b/$x$/c"' in render("[a](http://a.b/$x$/c)")


@pytest.mark.parametrize(
    "tex", ["\\frac", "x^", "{", "\\left", "\\begin{a", "{" * 99 + "x" + "}" * 99, "\\sqrt["]
)
def test_an_invalid_formula_is_shown_as_source(tex: str) -> None:
    assert (
        render(f"$${tex}$$") == f'<div class="block" dir="auto"><p><code>$${tex}$$</code></p></div>'
    )


@pytest.mark.parametrize(
    "tex",
    [
        "\\href{javascript:alert(1)}{x}",
        "\\style{color:red}{x}",
        "\\class{a}{x}",
        "\\text{<b>x</b>}",
    ],
)
def test_a_formula_cannot_inject_html(tex: str) -> None:
    html = render(f"${tex}$")
    assert not re.search(r"href|style=|class=\"a|<b>", html)
    assert "x" in fragment(html).text


def test_less_than_is_an_operator() -> None:
    assert "<mi>a</mi><mo>&lt;</mo><mi>b</mi>" in render("$a<b$")


@pytest.mark.parametrize(
    ("tex", "sign"), [(r"a\pm b", "±"), (r"a\leqslant b", "⩽"), (r"a\sim b", "∼"), (r"\neg a", "¬")]
)
def test_a_sign_between_names_is_an_operator(tex: str, sign: str) -> None:
    assert re.search(rf"<mo(?: form=\"\w+\")?>{sign}</mo>", render(f"${tex}$"))


@pytest.mark.parametrize(
    ("tex", "name"),
    [(r"\wp", "℘"), (r"\infty", "∞"), (r"\emptyset", "∅"), (r"\imath", "\u0131"), ("x", "x")],
)
def test_a_name_stays_a_name(tex: str, name: str) -> None:
    # A variation selector may follow, which selects a form of the letter.
    assert re.search(f"<mi>{name}\ufe00?</mi>", render(f"${tex}$"))


@pytest.mark.parametrize("mask", ["&#64977;7&#64978;", "[a](http://a.b/%EF%B7%917%EF%B7%92)"])
def test_a_mask_in_the_text_is_not_replaced(mask: str) -> None:
    assert render(f"{mask} $x$").count("<math") == 1


def test_each_formula_is_put_back_once() -> None:
    assert render("$x$ " + "&#64977;0&#64978; " * 9).count("<math") == 1


def test_code_in_a_list_keeps_its_dollars() -> None:
    assert fragment(render("- ~~~py\n  q = $y$\n  ~~~")).text == "q = $y$"


def test_a_formula_cannot_cover_the_text_around_it() -> None:
    assert 'width="2em"' in render(r"$a\hspace{2em}b$")
    assert "width" not in render(r"$a\hspace{-90em}b$")
    assert "voffset" not in render(r"$\raise{90em}{b}$")


def test_formulas_between_cjk_letters_are_found() -> None:
    html = render("其中$y$是常数。则$z=x+y$成立。价格是$x$元。面积$S$平方米。")
    assert html.count("<math") == 4
    assert "$" not in html
    assert "是常数。则" in html


ALIGNED = r"""So

$$
\begin{aligned}
a &= b + c \\
  &= d
\end{aligned}
$$

and

\begin{align}
u &= v \\
w &= x
\end{align}

end."""


def test_rows_are_aligned_with_and_without_dollars() -> None:
    root = fragment(render(ALIGNED))
    cells = [[cell.text for cell in row.select("mtd")] for row in root.select("mtr")]
    assert cells == [["a", "=b+c"], ["", "=d"], ["u", "=v"], ["w", "=x"]]
    assert [paragraph.text for paragraph in root.select("p")][::2] == ["So", "and", "end."]
    assert not re.search(r"[&$\\]", root.text)


def test_an_unfinished_environment_is_not_shown() -> None:
    live = LiveMarkdown()
    for character in ALIGNED:
        live.append(character)
        live.changes()
        assert not re.search(r"\\|&amp;", live.html())
    live.finish()
    assert live.html().count("<mtr>") == 4


def test_an_unsupported_environment_is_shown_as_source() -> None:
    source = r"\begin{align} a \\ \unknown \end{align}"
    assert fragment(render(source)).text == source
