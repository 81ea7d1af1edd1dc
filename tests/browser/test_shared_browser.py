"""Two people sharing a browser: nothing of one person's is left for the other."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.browser.test_chat_settings import open_panel
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import PASSWORD, Person
from tests.support.profile import sample_params

SECRET = "what Alice has not sent yet"
INSTRUCTIONS = "what Alice wants a new chat to know"
STORED = "Object.entries(localStorage).concat(Object.entries(sessionStorage)).join('\\n')"


@pytest.fixture
def browser(sit_down: SitDown) -> Desk:
    """A browser that nobody is signed in to."""
    return sit_down()


@pytest.fixture
def alices(browser: Desk, alice: Person, upstream: FakeUpstream) -> Tab:
    """Alice's tab on a conversation, with a draft."""
    tab = sign_in(browser, alice)
    tab.ask("A conversation of Alice's")
    tab.expect_ending("complete")
    tab.message.fill(SECRET)
    assert SECRET in tab.page.evaluate(STORED)
    new = browser.open()
    open_panel(new).get_by_label("System prompt").fill(INSTRUCTIONS)
    assert INSTRUCTIONS in new.page.evaluate(STORED)
    new.page.close()
    return tab


def sign_in(browser: Desk, person: Person, page: Page | None = None) -> Tab:
    page = page or browser.context.new_page()
    page.goto(f"{browser.url}/accounts/login/")
    page.get_by_label("Username").or_(page.get_by_label("Login")).first.fill(person.username)
    page.get_by_label("Password").first.fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    tab = Tab(page)
    tab.until_connected()
    return tab


def sign_out(page: Page) -> None:
    page.get_by_role("button", name="Account").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/accounts/login/**")


def sign_out_on_its_page(page: Page) -> None:
    page.goto(page.url.partition("/c/")[0] + "/accounts/logout/")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/accounts/login/**")


@pytest.mark.parametrize("leave", sample_params([sign_out, sign_out_on_its_page]))
def test_signing_out_removes_drafts(
    browser: Desk, alices: Tab, bob: Person, leave: Callable[[Page], None]
) -> None:
    leave(alices.page)
    assert alices.page.evaluate(STORED) == ""
    bobs = sign_in(browser, bob, alices.page)
    expect(bobs.message).to_have_value("")
    assert SECRET not in bobs.page.evaluate(STORED)
    expect(open_panel(bobs).get_by_label("System prompt")).to_have_value("")


@pytest.mark.thorough
def test_the_next_person_finds_nothing_after_a_session_just_ended(
    browser: Desk, alices: Tab, bob: Person
) -> None:
    browser.context.clear_cookies()
    alices.page.close()
    bobs = sign_in(browser, bob)
    expect(bobs.message).to_have_value("")
    assert SECRET not in bobs.page.evaluate(STORED)


@pytest.mark.thorough
def test_an_open_tab_is_not_left_to_the_next_person(
    browser: Desk, alices: Tab, bob: Person
) -> None:
    second = browser.open()
    second.message.fill(SECRET)
    sign_out(alices.page)
    expect(second.page.get_by_role("heading", name="You are signed out")).to_be_visible()
    assert SECRET not in second.page.evaluate(STORED)
    bobs = sign_in(browser, bob, alices.page)
    expect(second.message).to_have_value("")
    second.until_connected()
    assert second.page.locator(".account-name").inner_text() == bob.username
    assert SECRET not in bobs.page.evaluate(STORED)


@pytest.mark.thorough
def test_the_same_person_finds_their_draft_after_the_session_ended(
    browser: Desk, alices: Tab, alice: Person
) -> None:
    path = alices.page.url.removeprefix(browser.url)
    browser.context.clear_cookies()
    alices.page.close()
    sign_in(browser, alice)
    expect(browser.open(path).message).to_have_value(SECRET)


@pytest.mark.thorough
def test_signing_out_leaves_no_conversation_in_another_tab(browser: Desk, alices: Tab) -> None:
    path = alices.page.url.removeprefix(browser.url)
    others = [browser.open(path), browser.open()]
    sign_out(alices.page)
    for other in others:
        expect(other.page.get_by_role("heading", name="You are signed out")).to_be_visible()
        assert "A conversation of Alice's" not in other.page.content()
    others[0].page.go_back()
    expect(others[0].page.get_by_text("A conversation of Alice's")).to_have_count(0)
    others[1].page.get_by_role("link", name="Sign in").click()
    expect(others[1].page.get_by_role("heading", name="Sign in")).to_be_visible()


@pytest.mark.thorough
def test_another_browser_of_the_same_person_stays_signed_in(
    browser: Desk, alices: Tab, sit_down: SitDown, alice: Person
) -> None:
    elsewhere = sit_down(alice).open()
    elsewhere.message.fill("Not sent yet")
    sign_out(alices.page)
    elsewhere.message.press("Enter")
    elsewhere.expect_ending("complete")
