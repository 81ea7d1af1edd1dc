"""Formulas as they are drawn: by the app's own font, whatever fonts the host has."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Tab
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, role

pytestmark = pytest.mark.thorough

ROOT = r"$$x = \frac{-b \pm \sqrt{b^2-4ac}}{2a}$$"
MATRIX = r"$$A = \begin{pmatrix}a&b\\c&d\\e&f\end{pmatrix}$$"
HEIGHT = "element => element.getBoundingClientRect().height"


def show(tab: Tab, upstream: FakeUpstream, text: str) -> None:
    upstream.script(role(), delta(text), finish(), done())
    tab.ask("Go")
    tab.expect_ending("complete")


def test_a_root_is_drawn_by_a_font_that_has_one(tab: Tab, upstream: FakeUpstream) -> None:
    fonts: list[str] = []
    tab.page.on("response", lambda one: fonts.append(one.url) if "woff2" in one.url else None)
    show(tab, upstream, "No formula, so no font.")
    assert not fonts
    show(tab, upstream, ROOT)
    expect(tab.answer.locator("msqrt")).to_be_visible()
    tab.page.evaluate("document.fonts.ready")
    assert len(fonts) == 1
    assert tab.page.evaluate("document.fonts.check('16px \"STIX Two Math\"', '√')")
    # Without its sign a root is as wide as what stands under it.
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
