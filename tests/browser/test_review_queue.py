"""A reviewer clears the queue by keyboard alone."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SitDown
from tests.browser.test_accessible import expect_accessible
from tests.support.live import Server, Site
from tests.support.profile import choose_size

SCRIPT = """
from uuid import uuid4
from chatapp.models import Conversation, Feedback, Message, Upstream, User
Conversation.objects.all().delete()
upstream = Upstream.objects.first()
person = User.objects.get(username={name!r})
for number, reason in enumerate({reasons!r}):
    one = person.conversations.create(title="One")
    prompt, reply = one.ask(uuid4(), f"Why {{number}}?", None, upstream, "a-model", uuid4())
    Message.objects.filter(pk=reply.pk).update(
        ending="cut_off" if reason == "cut off" else "complete", content="It is so.",
        is_flagged=reason == "flagged",
    )
    if reason == "rated down":
        Feedback.objects.create(message=reply, rating="down", given_at=one.created_at)
"""
REASONS = choose_size(
    ["flagged", "rated down", "cut off"],
    ["flagged"] * 3 + ["rated down"] * 3 + ["cut off"] * 4,
)
DECIDED = """
from chatapp.models import Review
print(Review.objects.filter(verdict="fine", decided_unopened=False).count())
"""
NESTED = """() => [...document.querySelectorAll("main, main *")].some((one) =>
  ["auto", "scroll"].includes(getComputedStyle(one).overflowY) &&
  one.scrollHeight > one.clientHeight + 1)"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def page(sit_down: SitDown, site: Site, server: Server) -> Page:
    person = site.person()
    server.run(SCRIPT.format(name=person.username, reasons=[*REASONS, "", ""]))
    page = sit_down(site.olive).context.new_page()
    page.goto(f"{server.url}/review/")
    return page


def press(page: Page, key: str) -> None:
    """Press a key that leads to another page."""
    with page.expect_navigation():
        page.keyboard.press(key)


def test_a_queue_is_cleared_by_keyboard(page: Page, server: Server) -> None:
    rows = page.get_by_role("list", name="Chats").locator("> li")
    expect(rows).to_have_count(len(REASONS))
    expect(rows.first).to_contain_text("Flagged by moderation")
    expect(rows.last).to_contain_text("Cut off")
    page.keyboard.press("j")
    press(page, "Enter")
    for number in range(len(REASONS)):
        reason = page.get_by_label("Why are you opening this chat?")
        expect(reason).to_be_focused()
        expect(reason).not_to_have_value("")
        press(page, "Enter")
        expect(page.locator(".review").get_by_text("It is so.")).to_be_visible()
        if number == 0:
            expect_accessible(page)
            assert not page.evaluate(NESTED)
        press(page, "1")
        expect(page.locator(".messages")).to_contain_text("Saved: Fine.")
    expect(page.get_by_role("heading", name="Nothing needs a look")).to_be_visible()
    assert server.run(DECIDED).strip() == str(len(REASONS))


def test_an_unopened_chat_asks_first_and_the_next_one_opens(page: Page) -> None:
    page.keyboard.press("j")
    press(page, "Enter")
    first = page.url
    page.keyboard.press("Escape")
    press(page, "o")
    page.keyboard.press("Escape")
    press(page, "p")
    expect(page).to_have_url(first)
    page.keyboard.press("Escape")
    press(page, "2")
    expect(page.get_by_role("heading", name="You have not opened this chat")).to_be_visible()
    expect_accessible(page)
    press(page, "Enter")
    expect(page.locator(".messages")).to_contain_text("Saved: Minor issue.")
    expect(page).not_to_have_url(first)
    page.keyboard.press("Escape")
    press(page, "a")
    expect(page.get_by_text("Claimed by you until")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.keyboard.type("A note")
    press(page, "Control+Enter")
    expect(page.locator(".review-note")).to_have_text("A note")
    page.keyboard.press("Escape")
    press(page, "u")
    rows = page.get_by_role("list", name="Chats").locator("> li")
    expect(rows).to_have_count(len(REASONS) - 1)
    expect(rows.first).to_contain_text("claimed by")


@pytest.mark.thorough
def test_it_fits_on_a_phone_without_scrolling_boxes(
    page: Page, sit_down: SitDown, site: Site
) -> None:
    phone = sit_down(site.olive, phone={"width": 390, "height": 844}).context.new_page()
    phone.goto(page.url)
    expect_accessible(phone)
    assert phone.evaluate(WIDER) == 0
    phone.locator(".review-list .chat > a").first.tap()
    phone.get_by_role("button", name="Open for 30 minutes").tap()
    expect(phone.locator(".review-message")).to_have_count(2)
    assert phone.evaluate(WIDER) == 0
    assert not phone.evaluate(NESTED)
    expect_accessible(phone)
