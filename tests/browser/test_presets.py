"""The pages of presets, by keyboard: one is written, shared, changed by others, and restored."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import LARGE, SMALL, Desk, SitDown
from tests.browser.test_accessible import expect_accessible
from tests.browser.test_attaching import file
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Person, Server
from tests.support.pictures import png


def press(page: Page, role: str, name: str) -> None:
    """Press Enter on a control, as if it had been reached with Tab."""
    page.get_by_role(role, name=name, exact=True).press("Enter")  # type: ignore[arg-type]


def save_form(page: Page) -> str:
    """Save the form by Enter in its first field, and return the address."""
    page.get_by_label("Name", exact=True).press("Enter")
    expect(page.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
    return page.url


def test_a_preset_is_written_shared_changed_and_restored_by_keyboard(
    desk: Desk, sit_down: SitDown, bob: Person
) -> None:
    page = desk.open().page
    page.locator("#main").get_by_role("link", name="Presets").press("Enter")
    expect(page.get_by_text("You have no presets yet.")).to_be_visible()
    expect_accessible(page)
    press(page, "link", "New preset")
    page.get_by_label("Name", exact=True).focus()
    page.keyboard.type("Translator")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # opens the icons
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".preset-icon summary use")).to_have_attribute(
        "href", re.compile("#icon-pencil$")
    )
    page.get_by_label("System prompt").fill("Translate into English.")
    page.locator("summary", has_text="Parameters").first.press("Enter")
    page.get_by_label("Temperature").fill("0.2")
    page.locator("summary", has_text="Tools").press("Enter")
    page.get_by_label("All tools").press("ArrowDown")
    page.get_by_label("Clock").press("Space")
    expect_accessible(page)
    address = save_form(page)
    press(page, "link", "Share")
    page.get_by_label("They").select_option("Can use, read and change it")
    press(page, "button", "Share")
    expect(page.get_by_text("Everyone", exact=True)).to_be_visible()
    expect_accessible(page)

    bobs = sit_down(bob).context.new_page()
    bobs.goto(f"{desk.url}/presets/")
    press(bobs, "link", "Translator")
    bobs.get_by_label("System prompt").fill("Translate into British English.")
    save_form(bobs)

    page.goto(address)
    press(page, "link", "2 versions")
    press(page, "link", "Version 2")
    expect(page.locator("ins")).to_have_text("British ")
    expect_accessible(page)
    page.go_back()
    press(page, "button", "Restore this version (1)")
    expect(page.get_by_role("status")).to_have_text("Version 1 was restored as version 3.")
    expect_accessible(page)
    page.goto(address)
    expect(page.get_by_label("System prompt")).to_have_value("Translate into English.")
    page.get_by_role("button", name="Delete").press("Enter")
    press(page, "button", "Restore Translator")
    expect(page).to_have_url(address)
    press(page, "link", "Back to your presets")
    expect(page.get_by_role("link", name="Start a chat with Translator")).to_be_visible()
    expect_accessible(page)


def test_files_of_a_preset_come_along_with_every_chat(
    sit_down: SitDown, alice: Person, offering: Server, gateway: FakeUpstream
) -> None:
    tab = sit_down(alice, url=offering.url).open()
    page = tab.page
    page.goto(f"{offering.url}/presets/new/")
    page.get_by_label("Name", exact=True).fill("Guide")
    with page.expect_file_chooser() as chooser:
        press(page, "button", "Attach files")
    chooser.value.set_files([file("rules.txt", "Never run."), file("map.png", png(400, 300))])
    expect(page.locator('.chip[data-state="ready"]')).to_have_count(2)
    expect_accessible(page)
    address = save_form(page)
    expect(page.get_by_role("link", name="rules.txt")).to_be_visible()
    expect_accessible(page)

    press(page, "link", "Start a chat")
    tab.until_connected()
    page.locator("#model").select_option(label=SMALL)
    lacking = page.locator("#files-images")
    expect(lacking).to_contain_text(f"{SMALL} takes no images. This preset has some.")
    expect_accessible(page)
    press(page, "button", f"Use {LARGE}")
    expect(lacking).to_be_hidden()
    tab.ask("May I run?")
    tab.expect_ending("complete")
    [document, image, text] = gateway.chat_requests[-1].body["messages"][0]["content"]
    assert "Never run." in document["text"]
    assert image["image_url"]["url"].startswith("data:image/")
    assert text["text"] == "May I run?"
    page.get_by_role("button", name="Chat settings").click()
    expect(page.locator("#chat-settings").get_by_role("link", name="rules.txt")).to_be_visible()

    page.goto(address)
    press(page, "button", "Remove map.png")
    save_form(page)
    press(page, "link", "2 versions")
    press(page, "link", "Version 2")
    expect(page.locator("del")).to_have_text("map.png")
    expect_accessible(page)
