"""Alice shares a chat live with Bob, who watches, loses access, and goes on in a copy before."""

import re
from collections.abc import Callable, Sequence

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.browser.test_accessible import expect_accessible
from tests.browser.test_tools_and_choices import call
from tests.support.fake_upstream import FakeUpstream, Pause, delta, done, finish, reasoning, role
from tests.support.live import Person, Server

# Resolves once the page is at its end, and its scripts know that.
UNTIL_AT_END = """() => new Promise((done) => {
  const isAtEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 1;
  const look = () => requestAnimationFrame(isAtEnd() ? () => requestAnimationFrame(done) : look);
  look();
})"""


def share_with(
    page: Page,
    person: Person,
    parts: Sequence[str] = (),
    check: Callable[[Page], None] = lambda page: None,
) -> str:
    """Share the first chat of the list live by keyboard, checking the dialog; return the link."""
    page.locator(".conversation > button").first.press("Enter")
    page.get_by_role("menuitem", name="Share…").press("Enter")
    dialog = page.get_by_role("dialog", name=re.compile("^Share"))
    expect(dialog.get_by_role("heading")).to_be_focused()
    page.keyboard.press("Tab")
    expect(dialog.get_by_label("People and groups")).to_be_focused()
    dialog.get_by_label("People", exact=True).fill(person.username)
    dialog.get_by_label("The chat as it goes on").check()
    for part in parts:
        dialog.get_by_label(part, exact=True).check()
    check(page)
    dialog.get_by_role("button", name="Make a link").press("Enter")
    address = dialog.get_by_label(re.compile("^Link for")).input_value()
    check(page)
    dialog.get_by_role("button", name="Close").press("Enter")
    return address


def prompt(page: Page, text: str) -> Locator:
    return page.locator(".prompt").get_by_text(text, exact=True)


def carets(page: Page) -> list[str]:
    """Return what follows the last word of each answer."""
    content = "all => all.map((one) => getComputedStyle(one, '::after').content)"
    contents: list[str] = page.locator(".answer .block:last-child > p:last-child").evaluate_all(
        content
    )
    return contents


def test_a_live_chat_is_shared_watched_copied_and_revoked(
    desk: Desk, sit_down: SitDown, bob: Person, upstream: FakeUpstream
) -> None:
    tab = desk.open()
    page = tab.page
    page.goto(f"{desk.url}/shared-links/")
    expect(page.get_by_text("No shared links yet.")).to_be_visible()
    page.goto(desk.url)
    tab.until_connected()
    tab.ask("Why is the sky blue?")
    tab.expect_ending("complete")
    address = share_with(page, bob, check=expect_accessible)

    reader = sit_down(bob).context.new_page()
    reader.goto(address)
    expect(prompt(reader, "Why is the sky blue?")).to_be_visible()
    expect(reader.get_by_text("Not shown: reasoning")).to_be_visible()
    expect(reader.locator("#follows")).to_have_text("New messages appear here.")
    expect_accessible(reader)
    pause, end = Pause(), Pause()
    upstream.script(
        role(), reasoning("A secret"), delta("Half of "), pause, delta("it"), end, finish(), done()
    )
    tab.ask("And red in the evening?")
    expect(prompt(reader, "And red in the evening?")).to_be_visible()
    expect(reader.locator("[data-region=answer]").last).to_have_text("Half of")
    assert carets(reader) == ["none", '""']
    pause.release()
    expect(reader.locator("[data-region=answer]").last).to_have_text("Half of it")
    end.release()
    expect(reader.get_by_text("Being written…")).to_be_hidden()
    expect(reader.get_by_text("A secret")).to_have_count(0)
    assert carets(reader) == ["none", "none"]
    page.locator(".conversation > button").first.press("Enter")
    page.get_by_role("menuitem", name="Rename").press("Enter")
    page.get_by_role("textbox", name="Title").fill("The sky & more")
    page.get_by_role("textbox", name="Title").press("Enter")
    expect(reader.get_by_role("heading", name="The sky & more")).to_be_visible()
    expect(reader).to_have_title(re.compile("^The sky & more · "))

    copy = reader.context.new_page()
    copy.goto(address)
    copy.get_by_role("link", name="Continue in a chat of your own").click()
    expect_accessible(copy)
    copy.get_by_role("button", name="Copy and continue").click()
    own = Tab(copy)
    own.until_connected()
    expect(copy.get_by_text("Half of it")).to_be_visible()
    own.ask("And at night?")
    own.expect_ending("complete")

    page.goto(f"{desk.url}/shared-links/")
    expect(page.get_by_text("Last opened")).to_be_visible()
    page.get_by_text("Change…").click()
    expect_accessible(page)
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("Revoked.")).to_be_visible()
    expect(reader.get_by_role("alert")).to_contain_text("This is no longer shared. Ask")
    expect(reader.get_by_text("Half of it")).to_have_count(0)
    answer = reader.request.get(address)
    assert answer.status == 404


def test_a_tool_call_that_a_reader_opens_stays_open(
    sit_down: SitDown, alice: Person, bob: Person, server_with_tools: Server, upstream: FakeUpstream
) -> None:
    tab = sit_down(alice, url=server_with_tools.url).open()
    tab.ask("Why is the sky blue?")
    tab.expect_ending("complete")
    address = share_with(tab.page, bob, ["Tool calls and their results"])
    reader = sit_down(bob, url=server_with_tools.url).context.new_page()
    reader.goto(address)
    expect(reader.locator("#follows")).to_have_text("New messages appear here.")
    upstream.script(*call("test__echo", text="hello"))
    upstream.script(role(), delta("It said so."), finish(), done())
    tab.ask("Echo this")
    tool_call = reader.locator(".tool-call")
    tool_call.locator("summary").click()
    expect(tool_call.get_by_role("row", name="text hello")).to_be_visible()
    tab.region("tool-call").get_by_role("button", name="Allow", exact=True).click()
    tab.expect_ending("complete")
    expect(reader.get_by_text("Being written…")).to_be_hidden()
    expect(tool_call).to_have_attribute("open", "")
    expect(tool_call.locator("pre").last).to_have_text("hello")


def test_a_live_chat_is_followed_until_its_reader_scrolls_away(
    desk: Desk, sit_down: SitDown, bob: Person, upstream: FakeUpstream
) -> None:
    long = [delta(f"Paragraph {number} {'goes on and on ' * 20}\n\n") for number in range(20)]
    tab = desk.open()
    upstream.script(role(), *long, finish(), done())
    tab.ask("Tell me more")
    tab.expect_ending("complete")
    reader = sit_down(bob).context.new_page()
    reader.goto(share_with(tab.page, bob))
    expect(reader.locator("#follows")).to_have_text("New messages appear here.")
    reader.keyboard.press("End")
    reader.evaluate(UNTIL_AT_END)
    reader.set_viewport_size({"width": 390, "height": 600})  # wraps all lines again
    pause, end = Pause(), Pause()
    upstream.script(role(), *long, delta("Half"), pause, *long, delta("The rest"), end)
    tab.ask("And more")
    expect(reader.get_by_text("Half", exact=True)).to_be_in_viewport()
    reader.mouse.move(100, 300)
    reader.mouse.wheel(0, -400)
    expect(reader.get_by_text("Half", exact=True)).not_to_be_in_viewport()
    pause.release()
    expect(reader.get_by_text("The rest", exact=True)).to_have_count(1)
    expect(reader.get_by_text("The rest", exact=True)).not_to_be_in_viewport()
    end.release()


def test_a_message_menu_shares_up_to_a_message(
    desk: Desk, sit_down: SitDown, bob: Person, tab: Tab
) -> None:
    tab.ask("The first question")
    tab.expect_ending("complete")
    tab.ask("The second question")
    tab.expect_ending("complete")
    page = tab.page
    page.get_by_role("button", name="More actions for this reply").first.click()
    page.get_by_role("menuitem", name="Share up to here").click()
    dialog = page.get_by_role("dialog", name=re.compile("^Share"))
    dialog.get_by_label("Everyone who signs in").check()
    expect(dialog.get_by_label("People", exact=True)).to_be_hidden()
    dialog.get_by_role("button", name="Make a link").click()
    address = dialog.get_by_label(re.compile("^Link for")).input_value()
    reader = sit_down(bob).context.new_page()
    reader.goto(address)
    expect(prompt(reader, "The first question")).to_be_visible()
    expect(prompt(reader, "The second question")).to_have_count(0)
