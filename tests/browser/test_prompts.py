"""Prompts are shown on every page as they were typed."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Person, Site
from tests.support.reviewer import open_in

TYPED = (
    "def __init__(self):\n    self.x = 2 * y ** z\n\n\n# not a heading\n- not a list\n1) nor this\n"
    "\ta tab, far  apart, $x_1$ and <b>bold</b>, a_b_c, ~~gone~~, `http://in.code`"
)
SHOWN = 'el => getComputedStyle(el).whiteSpace.startsWith("pre")'


def bubble(tab: Tab) -> Locator:
    return tab.page.locator(".prompt .bubble").last


def test_a_prompt_is_shown_as_typed_live_and_after_a_reload(
    tab: Tab, upstream: FakeUpstream
) -> None:
    tab.ask(TYPED)
    tab.expect_ending("complete")
    for _ in tab.live_and_reloaded():
        assert bubble(tab).inner_text() == TYPED
        expect(bubble(tab).locator("*")).to_have_count(1)
        assert bubble(tab).locator(".typed").evaluate(SHOWN)


@pytest.mark.thorough
def test_links_and_code_fences_of_a_prompt_are_rendered(tab: Tab, upstream: FakeUpstream) -> None:
    tab.ask("See https://a.example/b_c_d.\n```python\nx = '__y__'  # https://no.link\n```\nThanks")
    tab.expect_ending("complete")
    for _ in tab.live_and_reloaded():
        link = bubble(tab).get_by_role("link")
        expect(link).to_have_count(1)
        expect(link).to_have_attribute("href", "https://a.example/b_c_d")
        expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
        expect(bubble(tab).locator("code .s", has_text="__y__")).to_have_text("__y__")
        expect(bubble(tab).get_by_role("button", name="Copy code")).to_be_visible()


def test_a_long_prompt_is_folded_until_it_is_opened(
    sit_down: SitDown, alice: Person, upstream: FakeUpstream
) -> None:
    desk: Desk = sit_down(alice, viewport={"width": 390, "height": 844})
    tab = desk.open()
    tab.ask("\n".join(f"line {number}" for number in range(200)) + "\nhttps://last.example/")
    tab.expect_ending("complete")
    for _ in tab.live_and_reloaded():
        button = tab.page.get_by_role("button", name="Show all")
        expect(button).to_have_attribute("aria-expanded", "false")
        assert measure_height(tab) < 400
        button.press("Enter")
        less = tab.page.get_by_role("button", name="Show less")
        expect(less).to_have_attribute("aria-expanded", "true")
        assert measure_height(tab) > 4000
        less.click()
        expect(button).to_be_in_viewport()
        assert measure_height(tab) < 400
        bubble(tab).get_by_role("link").focus()  # a link within the folded part
        expect(less).to_be_visible()
        assert measure_height(tab) > 4000


def measure_height(tab: Tab) -> float:
    height: float = bubble(tab).evaluate("el => el.getBoundingClientRect().height")
    return height


@pytest.mark.thorough
def test_a_short_prompt_has_no_button(tab: Tab, upstream: FakeUpstream) -> None:
    tab.ask("\n".join("twelve lines at most"[:12]))
    tab.expect_ending("complete")
    expect(tab.page.get_by_role("button", name="Show all")).to_have_count(0)


@pytest.mark.thorough
def test_the_review_shows_a_prompt_as_typed_and_unfolds_it(
    sit_down: SitDown, site: Site, tab: Tab, upstream: FakeUpstream
) -> None:
    tab.ask(TYPED + "\n" * 20 + "the end")
    tab.expect_ending("complete")
    pk = tab.page.url.rstrip("/").rpartition("/")[2]
    desk = sit_down(site.olive)
    page = desk.context.new_page()
    open_in(page, desk.url, pk)
    typed = page.locator(".review .bubble").first
    assert typed.inner_text().startswith(TYPED)
    button = page.get_by_role("button", name="Show all")
    button.click()
    assert typed.evaluate("el => el.getBoundingClientRect().height") > 500
