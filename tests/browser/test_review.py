"""An hour of reviewing in a browser: a reason, reading, a verdict, a note, a colleague."""

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.browser.conftest import Desk, SitDown
from tests.browser.test_accessible import COLLEAGUE, expect_accessible
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, reasoning, role, usage
from tests.support.live import Server, Site
from tests.support.profile import sample_params
from tests.support.reviewer import address

MARKUP = "<img src=/x onerror=alert(1)>"
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
ONLY_LABEL = """
from chatapp.models import ReviewLabel
ReviewLabel.objects.exclude(name={name!r}).delete()
ReviewLabel.objects.get_or_create(name={name!r})
"""


@pytest.mark.parametrize("phone", sample_params([None, {"width": 390, "height": 844}]))
def test_a_chat_is_opened_read_and_decided_by_keyboard(
    sit_down: SitDown,
    site: Site,
    server: Server,
    desk: Desk,
    upstream: FakeUpstream,
    phone: ViewportSize | None,
) -> None:
    server.run(ONLY_LABEL.format(name=MARKUP))
    thought = reasoning("Light, so Rayleigh.")
    upstream.script(role(), thought, delta("It scatters."), finish(), usage(), done())
    tab = desk.open()
    tab.ask("Why is the sky blue?")
    tab.expect_ending("complete")
    conversation = tab.page.url.rstrip("/").rpartition("/")[2]

    page = sit_down(site.olive, phone=phone).context.new_page()
    page.goto(f"{server.url}{address(conversation)}")
    expect(page.get_by_text("Rayleigh")).to_have_count(0)
    page.get_by_label("Why are you opening this chat?").fill(f"A complaint {MARKUP}")
    page.keyboard.press("Enter")
    messages = page.locator(".review-message")
    expect(messages).to_have_count(2)
    expect(page.get_by_text("Light, so Rayleigh.")).to_be_visible()
    expect(page.get_by_text(f"A complaint {MARKUP}").first).to_be_visible()

    def press(key: str) -> None:
        """Press a key once the page has loaded, since the key before may have submitted a form."""
        page.wait_for_load_state()
        page.keyboard.press(key)

    for key, number in (("j", 0), ("j", 1), ("k", 0), ("j", 1)):
        press(key)
        expect(messages.nth(number)).to_be_focused()
    press("n")
    note = page.get_by_label("Note", exact=True)
    expect(note).to_be_focused()
    note.press_sequentially(f"jk12 {MARKUP}")
    pointed = page.get_by_role("link", name="“It scatters.”")
    page.get_by_role("button", name="Note on the whole chat instead").click()
    expect(pointed).to_be_hidden()
    messages.nth(1).get_by_role("button", name="Add a note").click()
    expect(pointed).to_be_visible()
    expect(note).to_be_focused()
    page.get_by_role("button", name="Add note").click()
    pointer = page.get_by_role("link", name="a message")
    expect(page.locator(".review-note")).to_have_text(f"jk12 {MARKUP}")
    pointer.click()
    expect(messages.nth(1)).to_be_in_viewport()

    fine = page.get_by_role("button", name="Fine", exact=True)
    press("1")
    expect(fine).to_have_attribute("aria-pressed", "true")
    press("1")
    expect(fine).to_have_attribute("aria-pressed", "false")
    press("k")
    press("j")
    expect(messages.nth(1)).to_be_focused()
    page.evaluate("scrollTo({ top: 150, behavior: 'instant' })")
    press("2")
    expect(page.get_by_role("button", name="Minor issue")).to_have_attribute("aria-pressed", "true")
    expect(messages.nth(1)).to_be_focused()
    assert page.evaluate("scrollY") == 150
    press("l")
    press("Space")
    page.get_by_role("button", name="Save labels").click()
    expect(page.get_by_role("checkbox", name=MARKUP)).to_be_checked()
    press("a")
    expect(page.get_by_text("Claimed by you until")).to_be_visible()
    press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    press("Escape")
    expect(page.locator("img[src='/x']")).to_have_count(0)
    expect_accessible(page)
    assert page.evaluate(WIDER) == 0
    page.goto(f"{server.url}/review/?show=all")
    row = page.locator(".review-list > li").first
    expect(row).to_contain_text(MARKUP)
    expect(row).to_contain_text("claimed by olive")


@pytest.mark.thorough
def test_a_colleagues_change_is_reported_and_not_overwritten(
    sit_down: SitDown, site: Site, server: Server, desk: Desk
) -> None:
    tab = desk.open()
    tab.ask("Hello?")
    tab.expect_ending("complete")
    conversation = tab.page.url.rstrip("/").rpartition("/")[2]
    page = sit_down(site.olive).context.new_page()
    page.goto(f"{server.url}{address(conversation)}")
    expect(page.get_by_text("Unclaimed")).to_be_visible()
    server.run(COLLEAGUE.format(conversation=conversation))
    expect(page.locator("#changes")).to_contain_text("olive claimed it at")
    page.get_by_role("button", name="Serious issue").click()
    page.get_by_role("button", name="Give the verdict anyway").click()
    expect(
        page.get_by_text("Nothing was saved, because this chat's review has changed.")
    ).to_be_visible()
    expect(page.get_by_text("Claimed by you until")).to_be_visible()
    expect(page.get_by_role("button", name="Serious issue")).to_have_attribute(
        "aria-pressed", "false"
    )
