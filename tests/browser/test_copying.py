"""Copying gives what the model wrote."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Desk, Tab
from tests.support.fake_upstream import (
    FakeUpstream,
    Pause,
    Stall,
    delta,
    done,
    finish,
    reasoning,
    role,
    usage,
)
from tests.support.profile import sample_params

CODE = "if a:\n\n    b = '  '  \n\tc\n\n"
MARKDOWN = (
    "# Roots\n\n1. $\\sqrt{b^2 - 4ac}$ of\n2. *it*, __and__ `x`\n\n- [x] done\n\n"
    f"```python\n{CODE}```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end.  \n"
)
READ = """async () => {
  const [item] = await navigator.clipboard.read();
  const read = async (type) => item.types.includes(type) ? (await item.getType(type)).text() : "";
  return [await read("text/plain"), await read("text/html")];
}"""
NOTE_PRESSES = """() => {
  window.pressed = [];
  addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    if (button) pressed.push(button.ariaLabel);
  });
}"""
NO_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', {value: undefined})"


@pytest.fixture
def reader(desk: Desk) -> Page:
    """A page of Alice's that reads the clipboard."""
    desk.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=desk.url)
    page = desk.context.new_page()
    page.goto(desk.url + "/help/")
    return page


def read_clipboard(reader: Page) -> tuple[str, str]:
    reader.bring_to_front()
    text, html = reader.evaluate(READ)
    return text, html


def open_answered_chat(desk: Desk, upstream: FakeUpstream, markdown: str = MARKDOWN) -> Tab:
    upstream.script(role(), reasoning("Hm."), delta(markdown), finish(), usage(), done())
    tab = desk.open()
    tab.ask("Well?")
    tab.expect_ending("complete")
    return tab


@pytest.mark.parametrize("clipboard", sample_params(["open", "closed"]))
def test_a_reply_is_copied_as_markdown_and_as_html(
    desk: Desk, reader: Page, upstream: FakeUpstream, clipboard: str
) -> None:
    if clipboard == "closed":
        desk.context.add_init_script(NO_CLIPBOARD)  # as on a page without TLS
    tab = open_answered_chat(desk, upstream)
    tab.reply.get_by_role("button", name="Copy reply").click()
    expect(tab.page.locator("#announcer")).to_have_text("Copied")
    text, html = read_clipboard(reader)
    assert text == MARKDOWN
    for part in ("<h3", "<ol", "<table", "<math", "checkbox"):
        assert part in html
    assert "button" not in html
    assert "Hm." not in text + html


def test_code_is_copied_exactly(desk: Desk, reader: Page, upstream: FakeUpstream) -> None:
    tab = open_answered_chat(desk, upstream)
    for _ in tab.live_and_reloaded():
        tab.page.bring_to_front()
        tab.reply.get_by_role("button", name="Copy code").click()
        expect(tab.page.locator("#announcer")).to_have_text("Copied")
        text, html = read_clipboard(reader)
        assert (text, html) == (CODE.removesuffix("\n"), "")
        reader.evaluate("navigator.clipboard.writeText('')")


@pytest.mark.thorough
def test_copying_a_stopped_reply_copies_its_text_so_far(
    desk: Desk, reader: Page, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("Half *of"), Stall())
    tab = desk.open()
    tab.ask("Well?")
    expect(tab.answer).to_contain_text("Half")
    tab.stop.click()
    tab.expect_ending("stopped")
    tab.reply.get_by_role("button", name="Copy reply").click()
    expect(tab.page.locator("#announcer")).to_have_text("Copied")
    assert read_clipboard(reader)[0] == "Half *of"


@pytest.mark.thorough
def test_a_failed_copy_is_reported(desk: Desk, upstream: FakeUpstream) -> None:
    desk.expect_error("Failed to load resource|ERR_FAILED")
    tab = open_answered_chat(desk, upstream)
    tab.page.route("**/markdown/", lambda route: route.abort())
    tab.reply.get_by_role("button", name="Copy reply").click()
    expect(tab.problem).to_contain_text("nothing was copied")
    tab.page.evaluate("() => { navigator.clipboard.write = () => Promise.reject(new Error()); }")
    tab.page.evaluate("() => { document.execCommand = () => false; }")
    tab.reply.get_by_role("button", name="Copy code").click()
    expect(tab.problem).to_contain_text("Select the text and copy it manually")


@pytest.mark.thorough
def test_code_is_copied_although_the_thread_moves_during_the_press(
    desk: Desk, reader: Page, upstream: FakeUpstream
) -> None:
    more, remaining = Pause(), Pause()
    lines = "\n\n".join(f"Line {number}" for number in range(60))
    upstream.script(
        *(role(), delta(f"{lines}\n\n{MARKDOWN}"), more),
        *(delta(f"{lines}\n\nLast."), remaining, finish(), usage(), done()),
    )
    tab = desk.open()
    tab.ask("Well?")
    # Before all of it is drawn, hovering might scroll, and the thread would not follow its end.
    expect(tab.reply.get_by_text("The end.")).to_be_in_viewport()
    button = tab.reply.get_by_role("button", name="Copy code")
    button.hover()
    tab.page.mouse.down()
    before = button.bounding_box()
    more.release()
    expect(tab.reply.get_by_text("Last.")).to_be_in_viewport()
    assert before != button.bounding_box()
    tab.page.mouse.up()
    expect(tab.page.locator("#announcer")).to_have_text("Copied")
    assert read_clipboard(reader)[0] == CODE.removesuffix("\n")
    remaining.release()


@pytest.mark.thorough
def test_leaving_a_button_before_release_does_not_press_it(
    desk: Desk, upstream: FakeUpstream
) -> None:
    tab = open_answered_chat(desk, upstream)
    tab.page.evaluate(NOTE_PRESSES)
    tab.reply.get_by_role("button", name="Copy reply").hover()
    tab.page.mouse.down()
    tab.reply.get_by_text("The end.").hover()
    tab.page.mouse.up()
    tab.reply.get_by_role("button", name="Copy code").click()
    expect(tab.page.locator("#announcer")).to_have_text("Copied")
    assert tab.page.evaluate("pressed") == ["Copy code"]
