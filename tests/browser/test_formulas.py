"""Formulas are drawn with the app's own font, whatever fonts the host has."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Tab
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, role

pytestmark = pytest.mark.thorough

ROOT = r"$$x = \frac{-b \pm \sqrt{b^2-4ac}}{2a}$$"
MATRIX = r"$$A = \begin{pmatrix}a&b\\c&d\\e&f\end{pmatrix}$$"
NUMBERED = "$$" + " + ".join(f"x_{{{number}}}" for number in range(40)) + r" \tag{7}$$"
HEIGHT = "element => element.getBoundingClientRect().height"


def show(tab: Tab, upstream: FakeUpstream, text: str) -> None:
    upstream.script(role(), delta(text), finish(), done())
    tab.ask("Go")
    tab.expect_ending("complete")


def test_a_root_is_drawn_with_a_font_that_has_the_sign(tab: Tab, upstream: FakeUpstream) -> None:
    fonts: list[str] = []
    tab.page.on(
        "response", lambda response: fonts.append(response.url) if "woff2" in response.url else None
    )
    show(tab, upstream, "No formula, so no font.")
    assert not fonts
    show(tab, upstream, ROOT)
    expect(tab.answer.locator("msqrt")).to_be_visible()
    tab.page.evaluate("document.fonts.ready")
    assert len(fonts) == 1
    assert tab.page.evaluate("document.fonts.check('16px \"STIX Two Math\"', '√')")
    # Without its sign a root is as wide as its content.
    beyond = tab.answer.locator("msqrt").evaluate(
        "root => root.getBoundingClientRect().width - root.firstChild.getBoundingClientRect().width"
    )
    assert beyond > 4


def test_brackets_are_as_tall_as_their_matrix(tab: Tab, upstream: FakeUpstream) -> None:
    show(tab, upstream, MATRIX)
    expect(tab.answer.locator("mtable")).to_be_visible()
    tab.page.evaluate("document.fonts.ready")
    matrix = tab.answer.locator("mtable").evaluate(HEIGHT)
    for bracket in (
        tab.answer.locator("mo", has_text="(").or_(tab.answer.locator("mo", has_text=")")).all()
    ):
        assert bracket.evaluate(HEIGHT) > 0.9 * matrix


def test_a_wide_formula_scrolls_in_its_own_box_with_its_number_at_the_end(
    tab: Tab, upstream: FakeUpstream
) -> None:
    show(tab, upstream, NUMBERED)
    expect(tab.answer.locator("mtext")).to_have_text("(7)")
    assert tab.answer.locator("math").evaluate("math => math.scrollWidth > math.clientWidth")
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    term, number = tab.answer.locator("msub").last, tab.answer.locator("mtext")
    edges = "element => element.getBoundingClientRect()"
    assert term.evaluate(edges)["right"] <= number.evaluate(edges)["left"]


def test_a_box_is_drawn_around_boxed_content(tab: Tab, upstream: FakeUpstream) -> None:
    show(tab, upstream, r"$$\boxed{x}$$")
    border = "box => parseFloat(getComputedStyle(box).borderTopWidth)"
    assert tab.answer.locator("menclose").evaluate(border) > 0
