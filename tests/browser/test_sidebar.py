"""The sidebar's list: by day, in its place when a person comes back, folded on small screens."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Desk, SitDown
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Person, Server, Site
from tests.support.profile import sample_params

MAKE = """
from datetime import timedelta
from django.utils import timezone
from chatapp.models import User
user = User.objects.get(username={name!r})
for number in range({count}):
    used = timezone.now() - timedelta(hours={hours} * number)
    user.conversations.create(title=f"Chat {{number}}", updated_at=used)
"""
LOOKED_AT_AGAIN = "document.dispatchEvent(new Event('visibilitychange'))"


def give(server: Server, person: Person, count: int, hours: int) -> None:
    """Give the person this many conversations, each `hours` older than the one before."""
    script = MAKE.format(name=person.username, count=count, hours=hours)
    server.run(script)


def read_list(page: Page) -> list[str]:
    """Return the list's visible headings and titles."""
    return [
        row.strip() for row in page.locator("#conversation-list > li:visible").all_inner_texts()
    ]


def test_conversations_are_grouped_by_day_and_move_to_today(
    server: Server, desk: Desk, alice: Person, upstream: FakeUpstream
) -> None:
    give(server, alice, count=3, hours=24)
    tab = desk.open()
    assert read_list(tab.page) == [
        "Today", "Chat 0", "Yesterday", "Chat 1", "Previous 7 days", "Chat 2",
    ]  # fmt: skip
    tab.sidebar.get_by_role("link", name="Chat 1").click()
    expect(tab.page.locator("#title")).to_have_text("Chat 1")
    tab.ask("Once more")
    tab.expect_ending("complete")
    expect(tab.sidebar.locator("li:visible").nth(1)).to_contain_text("Chat 1")
    assert read_list(tab.page) == ["Today", "Chat 1", "Chat 0", "Previous 7 days", "Chat 2"]


@pytest.mark.thorough
def test_the_browsers_clock_determines_what_today_is(desk: Desk) -> None:
    page = desk.open().page
    assert page.evaluate(
        "document.cookie.includes(`utc-offset=${0 - new Date().getTimezoneOffset()}`)"
    )


@pytest.mark.thorough
def test_returning_to_a_tab_keeps_the_list_in_place(
    server: Server, desk: Desk, alice: Person
) -> None:
    give(server, alice, count=150, hours=1)
    tab = desk.open()
    rows = tab.page.locator(".conversation")
    expect(rows).to_have_count(60)
    tab.page.locator(".older").scroll_into_view_if_needed()
    expect(rows).to_have_count(120)
    row = tab.sidebar.get_by_role("link", name="Chat 100")
    row.scroll_into_view_if_needed()
    row.focus()
    before = row.bounding_box()
    with tab.page.expect_response("**/conversations/?*") as answered:
        tab.page.evaluate(LOOKED_AT_AGAIN)
    answered.value.finished()
    tab.page.wait_for_timeout(300)
    assert row.bounding_box() == before
    expect(row).to_be_focused()
    expect(rows).to_have_count(120)


@pytest.mark.parametrize(("width", "height"), sample_params([(844, 390), (390, 844)]))
def test_on_a_phone_the_sidebar_is_folded_with_new_chat_and_title_in_view(
    sit_down: SitDown, site: Site, upstream: FakeUpstream, width: int, height: int
) -> None:
    desk = sit_down(site.person(), phone={"width": width, "height": height})
    tab = desk.open()
    expect(tab.page.locator("#sidebar")).to_be_hidden()
    tab.message.fill("How do packets travel?")
    tab.send.click()
    tab.expect_ending("complete")
    title = tab.page.locator("#title")
    expect(title).to_have_text("How do packets travel?")
    assert title.evaluate("title => title.scrollWidth <= title.clientWidth")
    sideways = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert tab.page.evaluate(sideways) == 0
    expect(tab.page.get_by_role("combobox", name="Model")).to_be_visible()
    tab.page.get_by_role("link", name="New chat").click()
    expect(title).to_have_text("New chat")
    tab.page.get_by_role("button", name="Conversations").click()
    expect(tab.page.get_by_role("link", name="New chat")).to_have_count(1)
