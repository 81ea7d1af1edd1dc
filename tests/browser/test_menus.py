"""The account menu, the conversation menu, and the dialogs they open: by mouse and by keyboard."""

import re
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.support.fake_upstream import FakeUpstream, Stall, delta, role
from tests.support.live import Site

SCHEME = "getComputedStyle(document.documentElement).colorScheme"


@pytest.fixture
def account(tab: Tab) -> Locator:
    return tab.page.get_by_role("button", name="Account")


def choose(tab: Tab, setting: str, choice: str) -> None:
    """Choose a preference in another tab of the browser."""
    page = tab.page.context.new_page()
    page.goto(urljoin(tab.page.url, "/preferences/"))
    group = page.get_by_role("group", name=setting)
    group.get_by_role("radio", name=choice, exact=True).check()
    page.close()


@pytest.mark.thorough
def test_the_account_menu_shows_who_is_signed_in_and_their_links(
    sit_down: SitDown, site: Site, tab: Tab, account: Locator
) -> None:
    account.click()
    expect(tab.page.get_by_role("link", name="Help")).to_be_visible()
    expect(tab.page.get_by_role("link", name="Administration")).to_have_count(0)
    olives = sit_down(site.olive).open()
    expect(olives.page.locator(".avatar")).to_have_text("O")
    olives.page.get_by_role("button", name="Account").click()
    olives.page.get_by_role("link", name="Administration").click()
    olives.page.get_by_role("link", name="Back to the chat").click()
    olives.until_connected()


def test_a_menu_is_used_by_keyboard_and_returns_the_focus(tab: Tab, account: Locator) -> None:
    account.focus()
    tab.page.keyboard.press("Enter")
    menu = tab.page.locator("#account-menu")
    expect(menu).to_be_visible()
    expect(account).to_have_attribute("aria-expanded", "true")
    expect(menu.get_by_role("link", name="Preferences")).to_be_focused()
    tab.page.keyboard.press("End")
    expect(menu.get_by_role("button", name="Sign out")).to_be_focused()
    tab.page.keyboard.press("ArrowUp")
    expect(menu.get_by_role("link", name="Help")).to_be_focused()
    tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("ArrowDown")
    expect(menu.get_by_role("link", name="Preferences")).to_be_focused()
    tab.page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(account).to_be_focused()
    expect(account).to_have_attribute("aria-expanded", "false")


@pytest.mark.thorough
def test_escape_closes_what_is_open_and_stops_no_reply(
    tab: Tab, account: Locator, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("Half a reply"), Stall())
    tab.ask("Why?")
    expect(tab.answer).to_have_text("Half a reply")
    account.click()
    tab.page.keyboard.press("Escape")
    expect(tab.page.locator("#account-menu")).to_be_hidden()
    account.click()
    tab.page.get_by_role("button", name="Keyboard shortcuts").click()
    sheet = tab.page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(sheet).to_be_visible()
    tab.page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    expect(account).to_be_focused()
    tab.expect_ending("streaming")
    tab.page.keyboard.press("Escape")
    tab.expect_ending("stopped")


@pytest.mark.thorough
def test_a_question_mark_outside_text_shows_the_shortcuts(tab: Tab) -> None:
    sheet = tab.page.get_by_role("dialog", name="Keyboard shortcuts")
    tab.message.press_sequentially("Why?")
    expect(tab.message).to_have_value("Why?")
    expect(sheet).to_be_hidden()
    new_chat = tab.page.get_by_role("link", name="New chat")
    new_chat.focus()
    tab.page.keyboard.press("?")
    expect(sheet).to_be_visible()
    expect(sheet.get_by_role("button", name="Close")).to_be_focused()
    tab.page.keyboard.press("/")  # ignored while the dialog is open
    tab.page.keyboard.press("Enter")
    expect(sheet).to_be_hidden()
    expect(new_chat).to_be_focused()


def test_a_theme_is_kept_and_applied_before_the_first_paint(desk: Desk, tab: Tab) -> None:
    beside = desk.open()
    choose(tab, "Theme", "Dark")
    tab.page.wait_for_function(f"() => {SCHEME} === 'dark'")
    beside.page.wait_for_function(f"() => {SCHEME} === 'dark'")
    # The modules are blocked, so only the blocking script can apply it.
    tab.page.route(re.compile(r"/js/(?!preload)"), lambda route: route.abort())
    desk.expect_error("Failed to load|ERR_FAILED")
    for path in ("/", "/help/", "/preferences/"):
        tab.page.goto(desk.url + path)
        assert tab.page.evaluate(SCHEME) == "dark"
    choose(beside, "Theme", "System")
    beside.page.wait_for_function(f"() => {SCHEME} === 'light dark'")


@pytest.mark.thorough
def test_text_size_can_be_chosen(tab: Tab) -> None:
    size = "parseFloat(getComputedStyle(document.body).fontSize)"
    assert tab.page.evaluate(size) == 16
    choose(tab, "Text size", "Larger")
    tab.page.wait_for_function(f"() => {size} === 20")
    tab.reload()
    assert tab.page.evaluate(size) == 20


@pytest.mark.thorough
def test_tokens_and_timing_are_shown_on_demand_or_always(tab: Tab, upstream: FakeUpstream) -> None:
    tab.ask("Hello")
    tab.expect_ending("complete")
    usage = tab.reply.locator("[data-usage]")
    about = tab.reply.locator(".about dl")
    expect(usage).to_be_hidden()
    expect(about).to_be_hidden()
    tab.reply.locator(".about > summary").click()
    expect(about).to_contain_text("12 in, 18 out")
    choose(tab, "Show tokens and timing", "Always")
    expect(usage).to_be_visible()
    tab.reload()
    expect(usage).to_be_visible()


@pytest.mark.thorough
def test_a_menu_fits_the_window_of_a_phone_in_landscape(
    sit_down: SitDown, site: Site, upstream: FakeUpstream
) -> None:
    tab = sit_down(site.person(), viewport={"width": 720, "height": 330}).open()
    tab.ask("Hello")
    tab.expect_ending("complete")
    tab.page.get_by_role("button", name="Conversations").click()
    for name, menu in (("Account", "#account-menu"), ("Options for Hello", "#conversation-menu")):
        tab.page.get_by_role("button", name=name).click()
        expect(tab.page.locator(menu)).to_be_visible()
        box = tab.page.locator(menu).bounding_box()
        assert box
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 330
        assert box["x"] + box["width"] <= 720
        tab.page.keyboard.press("Escape")
        expect(tab.page.locator(menu)).to_be_hidden()
        expect(tab.page.locator("#sidebar")).to_be_visible()


def options(tab: Tab, title: str, item: str) -> None:
    tab.page.get_by_role("button", name=f"Options for {title}").click()
    tab.page.get_by_role("menuitem", name=item).click()


@pytest.fixture
def hello(tab: Tab) -> Tab:
    tab.ask("Hello")
    tab.expect_ending("complete")
    return tab


@pytest.mark.thorough
def test_a_conversation_is_renamed_by_its_menu(hello: Tab, upstream: FakeUpstream) -> None:
    row = hello.page.locator(".conversation > button")
    row.focus()
    hello.page.keyboard.press("Enter")
    expect(hello.page.get_by_role("menuitem", name="Rename")).to_be_focused()
    hello.page.keyboard.press("Enter")
    title = hello.page.get_by_role("textbox", name="Title")
    expect(title).to_have_value("Hello")
    expect(title).to_be_focused()
    title.fill("<b>Greetings</b> & more")
    hello.page.keyboard.press("Enter")
    link = hello.sidebar.get_by_role("link", name="<b>Greetings</b> & more")
    expect(link).to_be_focused()
    expect(hello.page.locator("#title")).to_have_text("<b>Greetings</b> & more")


@pytest.mark.thorough
def test_a_blank_title_changes_nothing(hello: Tab, upstream: FakeUpstream) -> None:
    options(hello, "Hello", "Rename")
    hello.page.get_by_role("textbox", name="Title").fill("   ")
    hello.page.keyboard.press("Enter")
    expect(hello.page.get_by_role("textbox", name="Title")).to_have_count(0)
    expect(hello.sidebar.get_by_role("link", name="Hello")).to_be_focused()


@pytest.mark.thorough
def test_the_shown_conversation_is_deleted_by_its_menu(hello: Tab, upstream: FakeUpstream) -> None:
    options(hello, "Hello", "Delete")
    expect(hello.sidebar.get_by_role("link")).to_have_count(0)
    expect(hello.page.locator("#title")).to_have_text("New chat")
    hello.page.get_by_role("button", name="Undo").click()
    hello.sidebar.get_by_role("link", name="Hello").click()
    expect(hello.page.locator("article")).to_have_count(1)


@pytest.mark.thorough
def test_a_failed_change_is_reported(desk: Desk, hello: Tab, upstream: FakeUpstream) -> None:
    desk.expect_error("ERR_FAILED")
    for path in ("change", "rename"):
        hello.page.route(f"**/{path}/", lambda route: route.abort())
    options(hello, "Hello", "Delete")
    toast = hello.page.locator("#toast p")
    expect(toast).to_contain_text("That didn't work.")
    expect(hello.sidebar.get_by_role("link", name="Hello")).to_be_visible()
    hello.page.locator("#toast").get_by_role("button", name="Dismiss").click()
    expect(toast).to_be_empty()
    options(hello, "Hello", "Rename")
    title = hello.page.get_by_role("textbox", name="Title")
    title.fill("A long thought of mine")
    title.press("Enter")
    expect(toast).to_contain_text("That didn't work.")
    expect(title).to_have_value("A long thought of mine")
    hello.page.unroute("**/rename/")
    title.press("Enter")
    expect(hello.page.locator("#title")).to_have_text("A long thought of mine")
