"""Several chats of the review at once: selected, decided, saved as a view, sampled."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import SitDown
from tests.browser.test_accessible import expect_accessible
from tests.support.live import Person, Server, Site

pytestmark = pytest.mark.thorough

SCRIPT = """
from uuid import uuid4
from chatapp.models import Message, ReviewLabel, Upstream, User
person = User.objects.get(username={name!r})
upstream = Upstream.objects.first()
for number in range(6):
    one = person.conversations.create(title="One")
    prompt, reply = one.ask(uuid4(), "Why?", None, upstream, "a-model", uuid4())
    Message.objects.filter(pk=reply.pk).update(ending="complete")
ReviewLabel.objects.get_or_create(name="Wrong fact")
"""


@pytest.fixture
def rita(site: Site, server: Server) -> Person:
    """A reviewer who is not an administrator."""
    rita = site.person()
    server.run(
        "from chatapp.models import User\n"
        f"User.objects.filter(username={rita.username!r}).update(is_staff=True, reviews=True)"
    )
    return rita


@pytest.fixture
def page(sit_down: SitDown, site: Site, server: Server, alice: Person) -> Page:
    server.run(SCRIPT.format(name=alice.username))
    page = sit_down(site.olive).open().page
    page.goto(f"{server.url}/review/?person={alice.username}")
    expect(rows(page)).to_have_count(6)
    return page


def rows(page: Page) -> Locator:
    return page.get_by_role("list", name="Chats").locator("> li")


def expect_ticked(page: Page, count: int) -> None:
    bar = page.get_by_role("form", name="Selected chats")
    if count:
        expect(bar.locator(".count")).to_have_text(f"{count} selected")
    else:
        expect(bar).to_be_hidden()
    expect(rows(page).get_by_role("checkbox", checked=True)).to_have_count(count)


def press(page: Page, key: str) -> None:
    """Press a key that reloads the list."""
    with page.expect_navigation():
        page.keyboard.press(key)


def test_chats_are_selected_and_decided_by_keyboard(
    page: Page, sit_down: SitDown, rita: Person
) -> None:
    for key in "jxjjx":
        page.keyboard.press(key)
    expect_ticked(page, 2)
    expect_accessible(page)
    press(page, "2")
    expect(page.get_by_role("heading", name="You have not opened these 2 chats")).to_be_visible()
    expect_accessible(page)
    press(page, "Enter")
    notice = page.locator(".messages")
    expect(notice).to_have_text("2 chats updated.")
    expect(rows(page).filter(has_text="Minor issue")).to_have_count(2)
    expect_ticked(page, 0)
    expect(rows(page).nth(2).locator(".chat > a")).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("Escape")
    expect_ticked(page, 0)
    boxes = rows(page).get_by_role("checkbox")
    boxes.nth(1).check()
    boxes.nth(4).click(modifiers=["Shift"])
    expect_ticked(page, 4)
    colleague = sit_down(rita).context.new_page()
    colleague.goto(page.url)
    colleague.get_by_role("list", name="Chats").get_by_role("checkbox").nth(1).check()
    colleague.get_by_role("button", name="Claim").click()
    expect(colleague.locator(".messages")).to_have_text("1 chat updated.")
    page.keyboard.press("l")
    expect(page.get_by_label("Label for selected chats")).to_be_focused()
    page.keyboard.type("Wrong")
    page.get_by_role("button", name="Add label").click()
    expect(notice).to_have_text("3 chats updated. 1 skipped: someone else has changed it.")
    expect(rows(page).filter(has_text="Wrong fact")).to_have_count(3)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


def test_a_view_is_saved_and_a_sample_drawn(page: Page, alice: Person) -> None:
    page.get_by_text("Save this view").click()
    page.get_by_label("Name").first.fill("Hers")
    page.get_by_role("button", name="Save view").click()
    view = page.get_by_role("navigation", name="Saved views").get_by_role("link", name="Hers")
    expect(view).to_have_attribute("aria-current", "page")
    page.get_by_text("Draw a random sample").click()
    page.locator("#sample-name").fill(f"A third of {alice.username}")
    page.locator("#sample-share").fill("33")
    page.get_by_role("button", name="Draw sample").click()
    expect(rows(page)).to_have_count(2)
    sample = page.locator(".sample")
    expect(sample).to_contain_text("0 of 2 reviewed.")
    expect_accessible(page)
    page.keyboard.press("j")
    page.keyboard.press("x")
    press(page, "1")
    press(page, "Enter")
    expect(sample).to_contain_text("1 of 2 reviewed.")
    view.click()
    expect(rows(page)).to_have_count(6)


def test_it_fits_on_a_phone(sit_down: SitDown, site: Site, page: Page) -> None:
    phone = sit_down(site.olive, phone={"width": 390, "height": 844}).context.new_page()
    phone.goto(page.url)
    phone.get_by_text("Draw a random sample").tap()
    rows(phone).get_by_role("checkbox").first.tap()
    expect_ticked(phone, 1)
    width = phone.evaluate("document.documentElement.scrollWidth")
    assert width <= 390
    expect_accessible(phone)
