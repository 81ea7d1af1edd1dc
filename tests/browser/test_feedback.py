"""Feedback on a reply, given and read in the real page."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.browser.test_accessible import expect_accessible
from tests.support.fake_upstream import FakeUpstream, Stall, delta, done, finish, role
from tests.support.live import Site
from tests.support.profile import sample_params
from tests.support.reviewer import open_in

MARKUP = '</textarea><img src="/x" onerror="alert(1)"><b hx-get="/x" hx-trigger="load">'


@pytest.fixture(params=sample_params([1280, 390]))
def tab(desk: Desk, upstream: FakeUpstream, request: pytest.FixtureRequest) -> Tab:
    """Alice's tab with a reply, wide and narrow."""
    upstream.script(role(), delta("Rayleigh."), finish(), done())
    tab = desk.open()
    tab.page.set_viewport_size({"width": request.param, "height": 800})
    tab.ask("Why is it blue?")
    tab.expect_ending("complete")
    return tab


def thumb(tab: Tab, name: str) -> Locator:
    return tab.reply.get_by_role("button", name=name)


def note(tab: Tab, what: str = "good") -> Locator:
    return tab.reply.get_by_role("textbox", name=f"What was {what}?")


@pytest.mark.thorough
def test_a_rating_and_its_note_survive_a_reload(tab: Tab, sit_down: SitDown, site: Site) -> None:
    for name in ("Good reply", "Bad reply"):
        expect(thumb(tab, name)).to_have_attribute("aria-pressed", "false")
    thumb(tab, "Good reply").focus()
    tab.page.keyboard.press("Enter")
    expect(thumb(tab, "Good reply")).to_have_attribute("aria-pressed", "true")
    expect(thumb(tab, "Good reply")).to_be_focused()
    for _ in range(3):
        tab.page.keyboard.press("Tab")  # past the other thumb and the summary of the note
    expect(note(tab)).to_be_focused()
    expect_accessible(tab.page)
    tab.page.keyboard.insert_text(MARKUP)
    tab.page.keyboard.press("Tab")
    tab.page.keyboard.press("Enter")
    expect(note(tab)).to_be_hidden()
    expect(tab.reply.locator(".note summary")).to_be_focused()
    expect(tab.page.locator("#announcer")).to_have_text("Saved.")
    tab.reload()
    expect(thumb(tab, "Good reply")).to_have_attribute("aria-pressed", "true")
    expect(thumb(tab, "Bad reply")).to_have_attribute("aria-pressed", "false")
    tab.reply.locator(".note summary").click()
    expect(note(tab)).to_have_value(MARKUP)
    expect(tab.page.locator("img[src='/x'], [hx-get='/x']")).to_have_count(0)
    expect_accessible(tab.page)
    thumb(tab, "Good reply").click()
    expect(thumb(tab, "Good reply")).to_have_attribute("aria-pressed", "false")
    expect(note(tab)).to_have_count(0)
    tab.reload()
    expect(thumb(tab, "Good reply")).to_have_attribute("aria-pressed", "false")
    thumb(tab, "Bad reply").click()
    note(tab, "wrong").fill(MARKUP)
    tab.reply.get_by_role("button", name="Save").click()
    expect(note(tab, "wrong")).to_be_hidden()
    olive = sit_down(site.olive).context.new_page()
    match = re.search(r"/c/([0-9a-f-]+)/", tab.page.url)
    assert match
    open_in(olive, tab.page.url.partition("/c/")[0], match[1])
    expect(olive.locator(".review-note")).to_have_text(MARKUP)
    expect(olive.locator("img[src='/x']")).to_have_count(0)
    expect_accessible(olive)


def test_escape_cancels_a_note_and_stops_no_reply(tab: Tab, upstream: FakeUpstream) -> None:
    first = tab.page.locator("article[data-reply]").first
    first.get_by_role("button", name="Good reply").click()
    upstream.script(role(), delta("Half of "), Stall())
    tab.ask("And at night?")
    expect(tab.answer).to_have_text("Half of")
    field = first.get_by_role("textbox", name="What was good?")
    field.fill("Nothing")
    field.press("Escape")
    expect(field).to_be_hidden()
    expect(first.locator(".note summary")).to_be_focused()
    tab.expect_ending("streaming")
    tab.page.keyboard.press("Enter")
    expect(field).to_have_value("")
    tab.stop.click()
    tab.expect_ending("stopped")


@pytest.mark.thorough
def test_feedback_that_was_not_saved_is_reported(desk: Desk, tab: Tab) -> None:
    desk.expect_error("422|500|ERR_FAILED|htmx:error|Failed to fetch")
    address = re.compile(r"/replies/[0-9a-f-]+/feedback/$")
    toast = tab.page.locator("#toast")
    tab.page.route(address, lambda route: route.fulfill(status=422, body="Not this one."))
    thumb(tab, "Good reply").click()
    expect(toast).to_contain_text("Not this one.")
    tab.page.unroute(address)
    tab.page.route(address, lambda route: route.abort())
    thumb(tab, "Good reply").click()
    expect(toast).to_contain_text("That didn't work.")
    expect(thumb(tab, "Good reply")).to_have_attribute("aria-pressed", "false")
