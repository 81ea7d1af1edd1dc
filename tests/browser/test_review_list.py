"""The review list in a browser: filtered, paged, used by keyboard, exported."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SitDown, open_confirmed
from tests.browser.test_accessible import expect_accessible
from tests.support.live import Person, Server, Site

pytestmark = pytest.mark.thorough

SCRIPT = """
from uuid import uuid4
from django.db import transaction
from chatapp.models import Message, Review, ReviewLabel, Upstream, User
User.objects.filter(username={name!r}).update(username={foreign!r})
person = User.objects.get(username={foreign!r})
upstream = Upstream.objects.first()
for number in range(55):
    one = person.conversations.create(title="qtitleq " + "w" * 60)
    prompt, reply = one.ask(uuid4(), "qpromptq", None, upstream, "a-model", uuid4())
    Message.objects.filter(pk=reply.pk).update(ending="complete", is_flagged=number == 0)
with transaction.atomic():
    review = Review.get_for_update(one.pk)
review.label([ReviewLabel.objects.create(name={foreign!r})])
"""
FOREIGN = "<b>" + "w" * 30


def test_an_hour_of_reviewing_by_keyboard(
    sit_down: SitDown, site: Site, server: Server, alice: Person
) -> None:
    server.run(SCRIPT.format(name=alice.username, foreign=FOREIGN))
    page = sit_down(site.olive).open().page
    page.get_by_role("button", name="Account:").click()
    page.get_by_role("link", name="Review", exact=True).click()
    filters = page.get_by_role("combobox", name="Filter")
    page.wait_for_url("**/review/")  # with its scripts
    page.keyboard.press("/")
    expect(filters).to_be_focused()
    filters.fill("<b>www")
    option = page.get_by_role("option").first
    expect(option).to_have_text(f"Person: {FOREIGN}")
    expect_accessible(page)
    page.keyboard.press("Enter")
    chips = page.get_by_role("list", name="Filters").get_by_role("link")
    expect(chips).to_have_text([re.compile(re.escape(f"Person: {FOREIGN}"))])
    page.get_by_role("link", name="All chats").click()
    page.get_by_role("combobox", name="Filter").fill("<b>www")
    expect(option).to_have_text(f"Person: {FOREIGN}")
    page.keyboard.press("Enter")
    rows = page.get_by_role("list", name="Chats").locator("> li")
    expect(rows).to_have_count(50)
    expect(rows.first).to_contain_text(FOREIGN)
    assert "qtitleq" not in page.content()
    assert "qpromptq" not in page.content()
    expect(page.locator("main b")).to_have_count(0)
    expect_accessible(page)

    filters.focus()
    page.keyboard.press("j")
    expect(filters).to_have_value("j")
    page.keyboard.press("Backspace")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    links = rows.locator(".chat > a")
    for key, row in (("k", 0), ("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        expect(links.nth(row)).to_be_focused()
    leads_to = links.nth(1).get_attribute("href")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{leads_to}")
    page.go_back()

    page.get_by_role("link", name="Next page").click()
    expect(rows).to_have_count(5)
    page.get_by_role("link", name="First page").click()
    expect(rows).to_have_count(50)
    page.get_by_text("All filters").click()
    page.get_by_label("Flagged", exact=True).select_option("moderation")
    page.get_by_role("button", name="Show").click()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Flagged by moderation")
    expect(chips).to_have_count(2)
    chips.first.click()
    expect(chips).to_have_text([re.compile("Flagged: By moderation")])
    filters.focus()
    with page.expect_navigation():
        page.keyboard.press("Backspace")
    expect(chips).to_have_count(0)

    page.get_by_text("All filters").click()
    page.get_by_text("More filters").click()
    page.get_by_label("Minimum cost").fill("much")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("Enter a number.")
    expect(page.get_by_label("Minimum cost")).to_be_visible()
    expect(page.get_by_text("Nothing is shown")).to_be_visible()
    expect_accessible(page)

    page.goto(f"{server.url}/review/?show=all")
    page.get_by_text("Download", exact=True).click()
    with page.expect_download() as download:
        page.get_by_label("Pseudonyms").check()
        page.get_by_role("button", name="Download as CSV").click()
    text = download.value.path().read_text()
    columns, *lines = text.splitlines()
    assert columns.startswith("id,person,")
    assert len(lines) >= 55
    assert all(",person-" in line for line in lines)
    assert alice.username not in text

    open_confirmed(page, f"{server.url}/review/labels/")
    page.get_by_label("Name").fill("odd")
    page.get_by_role("button", name="Add label").click()
    expect(page.get_by_role("status")).to_contain_text("odd was added.")
    expect(page.get_by_role("list").filter(has_text="odd")).to_be_visible()
    expect_accessible(page)
