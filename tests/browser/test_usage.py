"""Usage as administrators see it, and everybody their own; `expect_accessible` checks both in a
wide and a narrow window."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Desk, SitDown, Tab, open_confirmed
from tests.browser.test_accessible import expect_accessible
from tests.support.fake_upstream.frames import MODEL
from tests.support.live import PASSWORD, Person, Site

pytestmark = pytest.mark.thorough


def test_an_administrator_reads_the_cost_and_finds_the_model_without_a_price(
    sit_down: SitDown, site: Site, alice: Person
) -> None:
    tab = sit_down(alice).open()
    tab.ask("Why is the sky blue?")
    tab.expect_ending("complete")
    desk = sit_down(site.olive)
    page = open_confirmed(desk.context.new_page(), f"{desk.url}/usage/")
    page.get_by_role("link", name="This month").click()
    figures = page.get_by_role("list", name="Figures")
    expect(figures.get_by_role("link", name=re.compile("^Cost"))).to_contain_text("\N{EN DASH}")
    figures.get_by_role("link", name=re.compile("^Replies")).click()
    expect(page.get_by_role("img", name="Replies by day")).to_be_visible()
    expect(page.get_by_role("list", name="Legend")).to_contain_text("Complete")
    expect_accessible(page)
    page.get_by_role("link", name="By Person").click()
    expect(page.get_by_role("rowheader", name=alice.username).first).to_be_visible()
    expect(page.get_by_role("link", name="Usage")).to_have_attribute("aria-current", "page")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as CSV").click()
    assert alice.username in download.value.path().read_text()
    page.get_by_text("Speed, endings").click()
    expect(page.get_by_role("columnheader", name="First token")).to_be_visible()
    expect_accessible(page)
    page.get_by_role("link", name=f"Set price of {MODEL}").first.click()
    if page.get_by_role("heading", name="Confirm it is you").is_visible():
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_label("Model", exact=True)).to_have_value(MODEL)


def test_people_see_their_own_usage(tab: Tab) -> None:
    tab.ask("Why is the sky blue?")
    tab.expect_ending("complete")
    tab.page.goto(tab.page.url.partition("/c/")[0] + "/usage/me/")
    expect(tab.page.get_by_role("img", name="Tokens by day")).to_be_visible()
    expect(tab.page.get_by_text("An administrator can set prices.")).to_be_visible()
    tab.page.get_by_role("link", name="Custom").click()
    tab.page.get_by_label("From", exact=True).fill("2020-01-01")
    tab.page.get_by_label("To", exact=True).fill("2020-01-31")
    tab.page.get_by_role("button", name="Show").click()
    expect(tab.page.get_by_text("Nothing was used from 1 Jan 2020")).to_be_visible()
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
