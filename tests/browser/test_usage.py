"""Usage as administrators see it, and everybody their own; `expect_accessible` looks at both in a
wide window and a narrow one."""

from playwright.sync_api import expect

from tests.browser.conftest import SitDown
from tests.browser.test_accessible import expect_accessible
from tests.live import Person, Site


def test_a_reply_is_counted_drawn_and_downloaded(
    sit_down: SitDown, site: Site, alice: Person
) -> None:
    tab = sit_down(alice).open()
    tab.ask("Why is the sky blue?")
    tab.expect_ending("complete")
    page = sit_down(site.olive).open().page
    page.goto(page.url + "usage/")
    page.get_by_label("By", exact=True).select_option("person")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("rowheader", name=alice.username)).to_be_visible()
    expect(page.get_by_role("img", name="Tokens by day")).to_be_visible()
    expect(page.get_by_role("link", name="Usage")).to_have_attribute("aria-current", "page")
    expect_accessible(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as CSV").click()
    assert alice.username in download.value.path().read_text()

    tab.page.get_by_role("button", name="Account:").click()
    tab.page.get_by_role("link", name="Your usage").click()
    expect(tab.page.get_by_role("img", name="Tokens by day")).to_be_visible()
    expect_accessible(tab.page)
