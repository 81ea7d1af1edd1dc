"""Keys: they send a prompt or begin a new line, and scroll the thread wherever the focus is."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import WAIT_MS, Desk, Tab
from tests.browser.test_menus import choose
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, role
from tests.support.live import Person, Server
from tests.support.profile import sample_params

ROW = 40  # px
LONG = "\n\n".join(f"Paragraph {number}" for number in range(120))
IME = """({ key, keyCode, isComposing }) => document.activeElement.dispatchEvent(
  new KeyboardEvent("keydown", { key, keyCode, isComposing, bubbles: true, cancelable: true }))"""
SAFARIS = {"keyCode": 229, "isComposing": False}  # how Safari reports the last key of a composition


@pytest.fixture
def long(tab: Tab, upstream: FakeUpstream) -> Tab:
    """A tab at the end of a thread longer than the window."""
    upstream.script(role(), delta(LONG), finish(), done())
    tab.ask("Go on and on")
    tab.expect_ending("complete")
    expect(tab.page.get_by_text("Paragraph 119")).to_be_in_viewport()
    return tab


def top(tab: Tab) -> int:
    return int(tab.page.evaluate("document.getElementById('scroller').scrollTop"))


def is_at(tab: Tab, place: int) -> bool:
    """Return whether it is scrolled there, give or take the row of the button to the latest
    message."""
    return abs(top(tab) - place) <= 2 * ROW


def test_on_a_touch_screen_enter_begins_a_new_line_and_send_sends(
    chromium: Browser, server: Server, alice: Person, upstream: FakeUpstream
) -> None:
    context = chromium.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    context.set_default_timeout(WAIT_MS)
    try:
        tab = Desk(context, server.url, alice).open()
        expect(tab.message).to_have_attribute("enterkeyhint", "enter")
        tab.message.tap()
        tab.page.keyboard.type("One line")
        tab.page.keyboard.press("Enter")
        tab.page.keyboard.type("and another")
        expect(tab.message).to_have_value("One line\nand another")
        tab.send.tap()
        tab.expect_ending("complete")
        assert upstream.chat_requests[-1].body["messages"][-1]["content"] == "One line\nand another"
        tab.message.tap()
        tab.page.keyboard.type("By a keyboard")
        tab.page.keyboard.press("Control+Enter")
        expect(tab.page.locator(".prompt")).to_have_count(2)
    finally:
        context.close()


@pytest.mark.thorough
def test_the_sending_key_is_chosen_for_all_tabs_of_the_browser(
    desk: Desk, tab: Tab, upstream: FakeUpstream
) -> None:
    other = desk.open()
    expect(tab.send).to_have_attribute("title", "Send (Enter)")
    choose(tab, "Send with", "Ctrl+Enter")
    tab.reload()
    for each_tab in (tab, other):
        expect(each_tab.send).to_have_attribute("title", "Send (Ctrl+Enter)")
    tab.message.press_sequentially("One line")
    tab.message.press("Enter")
    tab.message.press_sequentially("and another")
    expect(tab.message).to_have_value("One line\nand another")
    tab.message.press("Control+Enter")
    tab.expect_ending("complete")
    assert upstream.chat_requests[-1].body["messages"][-1]["content"] == "One line\nand another"


@pytest.mark.parametrize("by", sample_params([{"isComposing": True, "keyCode": 13}, SAFARIS]))
def test_an_input_methods_enter_never_sends(tab: Tab, by: dict[str, object]) -> None:
    tab.message.fill("にほんご")
    tab.page.evaluate(IME, {"key": "Enter", "isComposing": False, **by})
    expect(tab.message).to_have_value("にほんご")
    expect(tab.page.locator(".prompt")).to_have_count(0)


def test_an_input_methods_keys_trigger_nothing_else(tab: Tab) -> None:
    tab.ask("Hello")
    tab.expect_ending("complete")
    tab.page.get_by_role("combobox", name="Model").click()
    search = tab.page.get_by_role("dialog", name="Choose a model").get_by_role("combobox")
    search.fill("g")
    tab.page.evaluate(IME, {"key": "Enter"} | SAFARIS)
    expect(search).to_be_focused()
    tab.page.keyboard.press("Escape")
    tab.message.press("ArrowUp")  # edits the last prompt
    editor = tab.page.get_by_role("textbox", name="Edit prompt")
    expect(editor).to_have_value("Hello")
    editor.fill("にほんご")
    tab.page.evaluate(IME, {"key": "Escape"} | SAFARIS)
    expect(editor).to_have_value("にほんご")
    editor.press("Escape")
    tab.sidebar.get_by_role("link", name="Hello").press("F2")
    title = tab.page.get_by_role("textbox", name="Title")
    title.fill("にほんご")
    tab.page.evaluate(IME, {"key": "Escape"} | SAFARIS)
    expect(title).to_have_value("にほんご")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "focused", ["body", "[data-copy]", ".about > summary", "#sidebar .new-chat"]
)
def test_scroll_keys_work_wherever_the_focus_is(long: Tab, focused: str) -> None:
    if focused == "body":
        long.page.evaluate("document.activeElement.blur()")
    else:
        long.page.locator(focused).last.focus()
    press, end = long.page.keyboard.press, top(long)
    press("PageUp")
    page = end - top(long)
    assert page > 300
    press("PageUp")
    assert is_at(long, end - 2 * page)
    press("PageDown")
    assert is_at(long, end - page)
    before = top(long)
    press("ArrowUp")
    assert before - 100 < top(long) < before
    press("Home")
    assert top(long) == 0
    press("End")
    assert is_at(long, end)


@pytest.mark.thorough
def test_space_scrolls_except_on_a_button(long: Tab) -> None:
    end = top(long)
    long.page.evaluate("document.activeElement.blur()")
    long.page.keyboard.press("Shift+Space")
    assert top(long) < end - 300
    long.page.keyboard.press("Space")
    assert is_at(long, end)
    summary = long.page.locator(".about > summary")
    summary.focus()
    long.page.keyboard.press("Space")
    expect(long.page.locator(".about")).to_have_attribute("open", "")


@pytest.mark.thorough
def test_page_keys_in_a_short_message_box_scroll_the_thread(long: Tab) -> None:
    end = top(long)
    long.message.fill("A word")
    long.message.press("PageUp")
    assert top(long) < end - 300
    before = top(long)
    for key in ("Home", "ArrowUp", "Space"):
        long.message.press(key)
        assert top(long) == before
    long.message.fill("line\n" * 100)
    before = top(long)
    long.message.press("PageUp")
    assert top(long) == before


@pytest.mark.thorough
def test_a_focused_control_keeps_its_keys(long: Tab) -> None:
    end = top(long)
    long.page.get_by_label("Model").first.focus()
    long.page.keyboard.press("PageUp")
    assert top(long) == end


def test_scrolling_away_by_keyboard_lasts_while_a_reply_streams(
    long: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), *[delta(f"More {n}\n\n") for n in range(200)], finish(), done())
    long.ask("And on")
    expect(long.answer).to_contain_text("More 20")
    long.message.press("PageUp")
    long.message.press("PageUp")
    before = top(long)
    long.expect_ending("complete")
    assert top(long) == before
