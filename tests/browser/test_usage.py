"""Usage as administrators see it, and everybody their own; `expect_accessible` checks both in a
wide and a narrow window."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.browser.test_accessible import expect_accessible
from tests.support.live import Person, Site

pytestmark = pytest.mark.thorough


def test_a_reply_is_counted_charted_and_downloaded(
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


def test_the_menu_shows_the_usage_of_a_conversation(desk: Desk, tab: Tab) -> None:
    tab.ask("Why is the sky blue?")
    tab.expect_ending("complete")
    dialog = tab.page.get_by_role("dialog", name="Usage of “Why is the sky blue?”")
    open_usage(tab)
    expect(dialog).to_be_visible()
    expect(dialog.get_by_role("definition").first).to_have_text(re.compile(r"^\s*1\b"))
    expect(dialog.get_by_role("button", name="Close")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(tab.page.get_by_role("button", name="Options for")).to_be_focused()
    tab.ask("And at night?")
    expect(tab.page.locator("[data-ending=complete]")).to_have_count(2)
    open_usage(tab)
    expect(dialog.get_by_role("definition").first).to_have_text(re.compile(r"^\s*2\b"))
    expect_accessible(tab.page)
    tab.page.keyboard.press("Escape")

    tab.page.route("**/usage/", lambda route: route.abort())
    desk.expect_error("ERR_FAILED|Failed to fetch|htmx:error")
    open_usage(tab)
    expect(tab.page.locator("#toast")).to_contain_text("This couldn't be loaded.")


def open_usage(tab: Tab) -> None:
    tab.page.get_by_role("button", name="Options for").click()
    tab.page.get_by_role("menuitem", name="Usage").click()
