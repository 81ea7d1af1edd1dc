"""Right-to-left text is laid out right to left, whether a person or a model wrote it."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Tab
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, reasoning, role, usage

HEBREW, ARABIC = "שלום עולם", "مرحبا بالعالم"
ANSWER = (
    f"{HEBREW} and English.\n\nEnglish and {HEBREW}.\n\n# {ARABIC}\n\n- {HEBREW}\n- English\n\n"
    f"> {ARABIC}\n\n| {HEBREW} | b |\n|---|---|\n| c | d |\n\n```python\n# {HEBREW}\n```\n"
)


def direction(element: Locator) -> str:
    value: str = element.evaluate("el => getComputedStyle(el).direction")
    return value


def side(element: Locator) -> str:
    """Return the side of its box at which the element's first line begins."""
    value: str = element.evaluate(
        """el => {
          const range = document.createRange();
          range.selectNodeContents(el);
          const line = range.getClientRects()[0], box = el.getBoundingClientRect();
          return line.left - box.left > box.right - line.right + 1 ? "right" : "left";
        }"""
    )
    return value


def test_each_block_has_the_direction_of_its_first_letter(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.script(role(), reasoning(HEBREW), delta(ANSWER), finish(), usage(), done())
    tab.message.fill(HEBREW)
    assert direction(tab.message) == "rtl"
    tab.ask(f"{HEBREW}\nEnglish, second\n{ARABIC}")
    tab.expect_ending("complete")
    for _ in tab.live_and_reloaded():
        answer = tab.answer
        paragraphs = answer.locator("p")
        assert (direction(paragraphs.nth(0)), side(paragraphs.nth(0))) == ("rtl", "right")
        assert (direction(paragraphs.nth(1)), side(paragraphs.nth(1))) == ("ltr", "left")
        assert side(answer.locator("h3")) == "right"
        assert direction(answer.locator("ul")) == "rtl"
        assert [side(item) for item in answer.locator("li").all()] == ["right", "left"]
        assert direction(answer.locator("blockquote")) == "rtl"
        assert direction(answer.locator("table")) == "rtl"
        assert direction(answer.locator("pre")) == "ltr"
        assert direction(tab.page.locator("#title")) == "rtl"
        assert direction(tab.sidebar.locator(".conversation-title").first) == "rtl"
        assert direction(tab.region("reasoning").locator(".block")) == "rtl"
        assert direction(tab.page.locator(".typed")) == "rtl"
        fits = "document.scrollingElement.scrollWidth <= innerWidth"
        assert tab.page.evaluate(fits)


@pytest.mark.thorough
def test_a_task_checkbox_is_labelled_by_its_text(tab: Tab, upstream: FakeUpstream) -> None:
    text = "- [x] Write *it* down\n- [ ] Read it\n\n  again\n"
    upstream.script(role(), delta(text), finish(), usage(), done())
    tab.ask("What is to do?")
    tab.expect_ending("complete")
    expect(tab.answer.get_by_role("checkbox", name="Write it down")).to_be_checked()
    expect(tab.answer.get_by_role("checkbox", name="Read it")).not_to_be_checked()
