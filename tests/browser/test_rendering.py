"""Pages run no text of people or upstreams, and are never wider than a phone."""

from playwright.sync_api import expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, reasoning, role, usage
from tests.support.live import Person

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)><a href='javascript:alert(3)'>x</a>"
WIDE = (
    "| " + " | ".join(f"column{n}" for n in range(20)) + " |\n" + "|---" * 20 + "|\n"
    "| " + " | ".join(f"a value {n}" for n in range(20)) + " |\n\n"
    "```python\n" + "x = 1; " * 60 + "\n```\n\n"
    "https://example.org/" + "very" * 60 + "\n"
)


def test_markup_is_shown_as_text_in_every_field(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.script(
        role(), reasoning(EVIL), delta(EVIL + "\n\n```html\n" + EVIL + "\n```\n"), finish(), done()
    )
    tab.ask(EVIL)
    tab.expect_ending("complete")
    for field in (tab.page.locator(".prompt"), tab.answer, tab.page.locator("#title")):
        expect(field).to_contain_text("<script>alert(1)</script>")
    upstream.fail(400, {"error": {"message": EVIL}})
    tab.ask("Again")
    tab.expect_ending("failed")
    expect(tab.reply.get_by_role("alert")).to_contain_text("<script>")
    tab.reload()
    expect(tab.sidebar).to_contain_text("<script>")
    assert (
        tab.page.locator("#app script, #app img, #app [onerror], a[href^=javascript]").count() == 0
    )


def test_wide_content_does_not_widen_the_page_on_a_phone(
    sit_down: SitDown, alice: Person, upstream: FakeUpstream
) -> None:
    desk: Desk = sit_down(alice, viewport={"width": 390, "height": 844})
    tab = desk.open()
    upstream.script(role(), delta(WIDE), finish(), usage(), done())
    tab.ask("W" * 300)
    tab.expect_ending("complete")
    expect(tab.answer.locator("table")).to_be_visible()
    fits = "document.scrollingElement.scrollWidth <= innerWidth"
    assert tab.page.evaluate(fits)
    tab.reload()
    expect(tab.answer.locator("table")).to_be_visible()
    assert tab.page.evaluate(fits)
