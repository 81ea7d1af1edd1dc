"""A long pasted text is shown beside the message box and sent with what is typed."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Person

LONG = "\n\n".join(f"Line {number} of a log." for number in range(400))
TOLD = f"Pasted text · {len(LONG):,} characters"


@pytest.fixture
def desk(desk: Desk) -> Desk:
    desk.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=desk.url)
    return desk


def paste(tab: Tab, text: str) -> None:
    tab.page.evaluate("text => navigator.clipboard.writeText(text)", text)
    tab.message.press("Control+V")


def pasted(tab: Tab) -> Locator:
    return tab.page.locator("#pasted")


def asked(upstream: FakeUpstream) -> object:
    return upstream.chat_requests[-1].body["messages"][-1]["content"]


def test_a_pasted_text_is_sent_below_what_is_typed(tab: Tab, upstream: FakeUpstream) -> None:
    expect(pasted(tab)).to_be_hidden()
    paste(tab, LONG)
    expect(pasted(tab)).to_contain_text(TOLD)
    expect(tab.page.locator("#announcer")).to_contain_text("above the message box")
    expect(tab.message).to_have_value("")
    tab.ask("What went\n\nwrong?")
    tab.expect_ending("complete")
    assert asked(upstream) == f"What went\n\nwrong?\n\n{LONG}"
    expect(pasted(tab)).to_be_hidden()
    expect(tab.message).to_have_value("")


@pytest.mark.thorough
def test_a_pasted_text_can_be_a_prompt_alone_and_a_second_is_added_below(
    tab: Tab, upstream: FakeUpstream
) -> None:
    for text in (LONG, LONG.upper()):
        paste(tab, text)
    expect(pasted(tab)).to_contain_text(f"{2 * len(LONG) + 2:,} characters")
    tab.message.press("Enter")
    tab.expect_ending("complete")
    assert asked(upstream) == f"{LONG}\n\n{LONG.upper()}"


@pytest.mark.thorough
def test_a_short_pasted_text_goes_into_the_box(tab: Tab) -> None:
    paste(tab, "A line\nand another")
    expect(tab.message).to_have_value("A line\nand another")
    expect(pasted(tab)).to_be_hidden()


def test_a_pasted_text_is_moved_to_the_box_or_removed_by_keyboard(tab: Tab) -> None:
    tab.message.fill("Read this:")
    paste(tab, LONG)
    for _ in range(2):
        tab.page.keyboard.press("Shift+Tab")
    expect(tab.page.get_by_role("button", name="Show", exact=True)).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(tab.message).to_have_value(f"Read this:\n\n{LONG}")
    expect(tab.message).to_be_focused()
    expect(pasted(tab)).to_be_hidden()
    tab.message.fill("Read that:")
    paste(tab, LONG)
    tab.message.press("Shift+Tab")
    tab.page.keyboard.press("Enter")
    expect(tab.message).to_have_value("Read that:")
    expect(tab.message).to_be_focused()
    expect(pasted(tab)).to_be_hidden()


@pytest.mark.thorough
def test_a_pasted_text_survives_a_reload_and_a_refusal(tab: Tab, upstream: FakeUpstream) -> None:
    tab.message.fill("One\n\ntwo")
    paste(tab, LONG)
    tab.reload()
    expect(tab.message).to_have_value("One\n\ntwo")
    expect(pasted(tab)).to_contain_text(TOLD)
    option = tab.page.locator("#model option").first
    option.evaluate("option => { option.value += '-no-more'; }")
    tab.message.press("Enter")
    expect(tab.problem).to_contain_text("no longer available")
    expect(tab.message).to_have_value("One\n\ntwo")
    expect(pasted(tab)).to_contain_text(TOLD)
    tab.reload()
    tab.message.press("Enter")
    tab.expect_ending("complete")
    assert asked(upstream) == f"One\n\ntwo\n\n{LONG}"


@pytest.mark.thorough
def test_a_pasted_text_counts_towards_the_limit_of_a_message(
    tab: Tab, upstream: FakeUpstream
) -> None:
    paste(tab, "x" * 200_000)
    tab.ask("Go on")
    expect(tab.problem).to_contain_text("This message has 200,007 characters")
    expect(pasted(tab)).to_contain_text("200,000 characters")
    assert not upstream.chat_requests


@pytest.mark.thorough
def test_a_pasted_text_is_edited_with_the_rest_of_its_prompt(
    tab: Tab, upstream: FakeUpstream
) -> None:
    tab.message.fill("Read this:")
    paste(tab, LONG)
    tab.message.press("Enter")
    tab.expect_ending("complete")
    tab.message.fill("A draft")
    tab.page.get_by_role("button", name="Edit prompt").click()
    editor = tab.page.get_by_role("textbox", name="Edit prompt")
    expect(editor).to_have_value(f"Read this:\n\n{LONG}")
    tab.reload()
    expect(editor).to_have_value(f"Read this:\n\n{LONG}")
    editor.evaluate("field => field.setRangeText('Read it again:', 0, 'Read this:'.length)")
    editor.press("Enter")
    expect(tab.page.locator(".prompt").first).to_contain_text("Read it again:")
    expect(tab.page.locator(".pending")).to_have_count(0)
    tab.expect_ending("complete")
    assert asked(upstream) == f"Read it again:\n\n{LONG}"
    expect(tab.message).to_have_value("A draft")
    expect(pasted(tab)).to_be_hidden()


@pytest.mark.thorough
def test_a_pasted_text_fits_on_a_phone(sit_down: SitDown, alice: Person) -> None:
    desk = sit_down(alice, phone={"width": 320, "height": 700})
    desk.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=desk.url)
    tab = desk.open()
    paste(tab, LONG)
    for name in ("Show", "Remove"):
        expect(tab.page.get_by_role("button", name=name, exact=True)).to_be_in_viewport(ratio=1)
    assert tab.page.evaluate("document.documentElement.scrollWidth") == 320
    tab.page.get_by_role("button", name="Remove").tap()
    expect(pasted(tab)).to_be_hidden()
