"""The list of prompts and commands that a slash opens over the message box."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.browser.test_accessible import expect_accessible, violations
from tests.browser.test_keys import IME, SAFARIS
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, role
from tests.support.live import Person, Server

MAKE = """
from chatapp.models import SavedPrompt, User
from chatapp.models.library.sharing import Level
owner = User.objects.get(username={name!r})
for title, command, text in {prompts!r}:
    prompt = SavedPrompt.start(owner, title=title, command=command, text=text)
    if {shared!r}:
        prompt.share(None, Level.USE, owner)
"""
PROMPTS = [
    ("Stand-up", "standup", "Summarise {{topic}} in a {{tone|dry, warm}} tone."),
    ("Status <b>mail</b>", "", "Write a status mail.\n\nKeep it short."),
    ("Translate", "translate", "Translate this."),
]


class Slash:
    """The list, from its user's point of view."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab
        self.page: Page = tab.page
        self.message = tab.message
        self.list = self.page.get_by_role("listbox", name="Prompts and commands")
        self.rows = self.list.get_by_role("option")
        self.active = self.list.locator("[aria-selected=true]")
        self.dialog = self.page.locator("#prompt-fill")

    def type(self, text: str) -> None:
        self.message.press_sequentially(text)


def save(server: Server, person: Person, *, shared: bool = False) -> None:
    server.run(MAKE.format(name=person.username, prompts=PROMPTS, shared=shared))


@pytest.fixture
def slash(server: Server, alice: Person, desk: Desk) -> Slash:
    save(server, alice)
    return Slash(desk.open())


def wait_for_content(upstream: FakeUpstream) -> str:
    return str(upstream.wait_for_request().body["messages"][-1]["content"])


def test_a_prompt_is_written_found_filled_in_and_sent_by_keyboard(
    desk: Desk, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("Done"), finish(), done())
    page = desk.context.new_page()
    page.goto(f"{desk.url}/prompts/")
    expect_accessible(page)
    page.get_by_role("link", name="New prompt").press("Enter")
    page.get_by_label("Title").press_sequentially("Stand-up")
    page.keyboard.press("Tab")
    page.keyboard.type("standup")
    page.keyboard.press("Tab")
    page.keyboard.type("Summarise {{topic}} in a {{tone|dry, warm}} tone.")
    expect_accessible(page)
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Saved.")
    for link in ("Share", "1 version"):
        page.get_by_role("link", name=link, exact=True).press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text("Stand-up")
        expect_accessible(page)
        page.get_by_role("link", name="Back to the prompt").press("Enter")
    page.goto(f"{desk.url}/prompts/import/")
    expect_accessible(page)
    page.close()

    tab = desk.open()
    slash = Slash(tab)
    slash.type("/")
    expect(slash.active).to_contain_text("Stand-up")
    expect(slash.rows).not_to_have_count(1)
    expect_accessible(slash.page, ["wide"])
    slash.type("sta")
    expect(slash.rows).to_have_count(1)
    expect(slash.page.locator(".slash-preview")).to_contain_text("Summarise {{topic}}")
    assert slash.message.get_attribute("aria-activedescendant") == "slash-0"
    slash.page.keyboard.press("Enter")
    expect(slash.dialog.get_by_label("Topic")).to_be_focused()
    expect_accessible(slash.page, ["wide"])
    slash.page.keyboard.type("my <b>day</b>")
    slash.page.keyboard.press("Tab")
    slash.page.keyboard.press("w")
    slash.dialog.get_by_label("Topic").press("Enter")
    expect(slash.dialog).to_be_hidden()
    filled = "Summarise my <b>day</b> in a warm tone."
    expect(slash.message).to_have_value(filled)
    expect(slash.message).to_be_focused()
    slash.page.keyboard.press("Control+z")
    expect(slash.message).to_have_value("/sta")
    slash.page.keyboard.press("Control+Shift+z")
    expect(slash.message).to_have_value(filled)
    slash.page.keyboard.press("Enter")
    assert wait_for_content(upstream) == filled
    tab.expect_ending("complete")
    slash.type("/standup")
    slash.page.keyboard.press("Tab")
    expect(slash.dialog.get_by_label("Topic")).to_have_value("my <b>day</b>")
    slash.page.keyboard.press("Escape")
    expect(slash.message).to_have_value("/standup")


def test_keys_move_choose_and_close_and_text_that_matches_nothing_is_sent(
    slash: Slash, upstream: FakeUpstream
) -> None:
    slash.type("/st")
    expect(slash.rows).to_have_text([re.compile("Stand-up"), re.compile("Status <b>mail</b>")])
    slash.page.keyboard.press("ArrowDown")
    expect(slash.active).to_contain_text("Status")
    slash.page.keyboard.press("ArrowDown")
    expect(slash.active).to_contain_text("Stand-up")
    slash.page.keyboard.press("ArrowUp")
    slash.page.evaluate(IME, {"key": "Enter", **SAFARIS})
    expect(slash.message).to_have_value("/st")
    slash.page.keyboard.press("Tab")
    expect(slash.message).to_have_value("Write a status mail.\n\nKeep it short.")
    slash.message.fill("")
    slash.type("/st")
    expect(slash.list).to_be_visible()
    slash.page.keyboard.press("Escape")
    expect(slash.list).to_be_hidden()
    slash.type("a")
    expect(slash.list).to_be_hidden()
    for text in ("/sta", "/usr/bin", "/nothing like this"):
        upstream.forget()
        upstream.script(role(), delta("Done"), finish(), done())
        slash.message.fill("" if text == "/sta" else text)
        if text == "/sta":
            slash.type(text)
            slash.page.keyboard.press("Escape")
        slash.tab.submit()
        assert wait_for_content(upstream) == text
        slash.tab.expect_ending("complete")


def test_commands_act_on_the_page(slash: Slash, upstream: FakeUpstream) -> None:
    slash.type("/temp")
    expect(slash.rows).to_have_text([re.compile("Temporary chat on or off")])
    slash.page.keyboard.press("Enter")
    expect(slash.page.get_by_role("switch", name="Temporary chat")).to_be_checked()
    expect(slash.message).to_have_value("")
    slash.type("/temporary")
    slash.page.keyboard.press("Enter")
    slash.type("/shortcuts")
    slash.page.keyboard.press("Enter")
    dialog = slash.page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_be_visible()
    slash.page.keyboard.press("Escape")
    slash.type("/archive")
    expect(slash.rows.first).to_contain_text("Archived chats")
    slash.message.fill("")
    upstream.script(role(), delta("Done"), finish(), done())
    slash.message.fill("Hello")
    slash.message.press("Enter")
    expect(slash.page.locator("article[data-ending=complete]")).to_be_visible()
    slash.type("/export")
    slash.page.keyboard.press("Enter")
    export = slash.page.get_by_role("dialog", name="Export")
    with slash.page.expect_download() as download:
        export.get_by_role("button", name="Export").click()
    assert download.value.suggested_filename == "Hello.md"
    expect(export).to_be_hidden()
    slash.type("/archive")
    expect(slash.rows.first).to_contain_text("Archive this chat")
    slash.page.keyboard.press("Enter")
    expect(slash.page.locator("#toast")).to_contain_text("Archived")
    slash.type("/new")
    slash.page.keyboard.press("Enter")
    expect(slash.page.locator("#title")).to_have_text("New chat")
    slash.type("/tr")
    expect(slash.rows.first).to_contain_text("Translate")


def test_a_shared_prompt_is_used_on_a_phone_until_it_is_no_longer_shared(
    server: Server, alice: Person, bob: Person, sit_down: SitDown
) -> None:
    save(server, bob, shared=True)
    desk = sit_down(alice, phone={"width": 390, "height": 844})
    desk.expect_error("404")
    slash = Slash(desk.open())
    slash.message.tap()
    slash.type("/stat")
    row = slash.rows.filter(has_text=f"by {bob.username}")
    expect(row).to_be_in_viewport(ratio=1)
    assert violations(slash.page) == []
    row.tap()
    expect(slash.message).to_have_value("Write a status mail.\n\nKeep it short.")
    slash.message.fill("")
    slash.type("/stat")
    expect(row).to_be_visible()
    server.run(
        "from chatapp.models import PromptGrant\n"
        f"PromptGrant.objects.filter(target__owner__username={bob.username!r}).delete()"
    )
    row.tap()
    expect(slash.page.locator("#toast")).to_contain_text("no longer shared with you")
    expect(slash.message).to_have_value("/stat")
