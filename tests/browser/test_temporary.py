"""A temporary chat, from the switch on the empty page to its deletion or its being kept."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.browser.test_accessible import expect_accessible
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Person

NOTE = "Temporary chat: not saved, and deleted when you close this tab."


def choice(tab: Tab) -> Locator:
    return tab.page.get_by_role("switch", name="Temporary chat")


def ask(tab: Tab) -> str:
    """Send a prompt in a temporary chat; return its path."""
    choice(tab).check()
    tab.ask("Why is the sky blue?")
    tab.expect_ending("complete")
    expect(tab.page.locator("#title")).to_have_text("Temporary chat")
    return tab.page.url.removeprefix("http://").partition("/")[2]


def test_a_temporary_chat_says_what_it_is_and_is_in_no_list(
    tab: Tab, desk: Desk, upstream: FakeUpstream
) -> None:
    beside = desk.open()
    path = ask(tab)
    expect(tab.page.get_by_text(NOTE)).to_be_visible()
    expect(choice(tab)).to_be_hidden()
    expect(tab.page).to_have_title("Temporary chat · chatapp")
    tab.ask("And at night?")
    expect(tab.page.locator("article[data-reply]")).to_have_count(2)
    tab.expect_ending("complete")
    for each_tab in (tab, beside):
        each_tab.reload()
        expect(each_tab.sidebar.get_by_role("link")).to_have_count(0)
    expect(tab.page.get_by_text(NOTE)).to_be_visible()
    expect(tab.page.locator("article[data-reply]")).to_have_count(2)
    expect(beside.page.get_by_text(NOTE)).to_be_hidden()
    same = desk.open(f"/{path}")
    expect(same.page.get_by_text(NOTE)).to_be_visible()


@pytest.mark.thorough
def test_a_temporary_chat_is_deleted_with_its_last_tab(
    tab: Tab, desk: Desk, upstream: FakeUpstream
) -> None:
    desk.expect_error("404")
    ask(tab)
    reply = tab.reply.get_attribute("data-reply")
    tab.page.get_by_role("link", name="New chat").first.click()
    expect(tab.page.locator("#title")).to_have_text("New chat")
    expect(choice(tab)).not_to_be_checked()
    tab.page.go_back()
    expect(tab.page.get_by_text(NOTE)).to_be_visible()
    tab.page.close()
    beside = desk.context.new_page()
    for _ in range(100):  # the grace of a closed tab is five seconds here
        if beside.request.get(f"{desk.url}/replies/{reply}/markdown/").status == 404:
            return
        beside.wait_for_timeout(150)
    pytest.fail("it is still there")


@pytest.mark.thorough
def test_a_kept_chat_becomes_an_ordinary_one(tab: Tab, desk: Desk, upstream: FakeUpstream) -> None:
    same = desk.open(f"/{ask(tab)}")
    tab.page.get_by_role("button", name="Keep this chat").click()
    for each_tab in (tab, same):
        expect(each_tab.page.get_by_text(NOTE)).to_be_hidden()
        expect(each_tab.page).to_have_title("Why is the sky blue? · chatapp")
    expect(tab.sidebar.get_by_role("link", name="Why is the sky blue?")).to_be_visible()
    expect(tab.message).to_be_focused()


@pytest.mark.thorough
def test_a_failure_to_keep_a_chat_is_reported(tab: Tab, desk: Desk, upstream: FakeUpstream) -> None:
    desk.expect_error("500")
    ask(tab)
    tab.page.route("**/keep/", lambda route: route.fulfill(status=500))
    tab.page.get_by_role("button", name="Keep this chat").click()
    expect(tab.problem).to_have_text(
        "That didn't work. This chat is still temporary. Try again in a moment."
    )
    expect(tab.page.get_by_text(NOTE)).to_be_visible()


@pytest.mark.thorough
def test_the_switch_works_by_keyboard(tab: Tab, upstream: FakeUpstream) -> None:
    tab.message.focus()
    tab.message.press("Tab")  # to Send
    tab.page.keyboard.press("Tab")
    expect(choice(tab)).to_be_focused()
    tab.page.keyboard.press("Space")
    expect(choice(tab)).to_be_checked()


@pytest.mark.thorough
def test_a_temporary_chat_is_accessible(sit_down: SitDown, alice: Person) -> None:
    for size in ({"width": 1280, "height": 800}, {"width": 390, "height": 844}):
        tab = sit_down(alice, viewport=size).open()
        choice(tab).check()
        expect_accessible(tab.page)
        ask(tab)
        expect_accessible(tab.page)
        wide = tab.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert not wide
