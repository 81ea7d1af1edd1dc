"""A member sees who read their chats, exports everything and erases their account; another's is
kept by a legal hold."""

import re
import time
from pathlib import Path
from zipfile import ZipFile

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Desk, SitDown, Tab, open_row
from tests.browser.test_accessible import expect_accessible
from tests.browser.test_beside_the_text import png
from tests.browser.test_people import sign_in
from tests.support.fake_upstream import FakeUpstream, choice, delta, done, finish, role, usage
from tests.support.live import PASSWORD, Person, Server, Site
from tests.support.program import WAIT_SECONDS
from tests.support.reviewer import address

pytestmark = pytest.mark.thorough

WORD = "canarybird"
REASON = "A complaint by phone"
REVIEWER = """
from chatapp.models import User
User.objects.filter(username={name!r}).update(is_staff=True, reviews=True)
"""


def test_from_a_members_words_to_their_erasure(
    sit_down: SitDown, site: Site, alice: Person, bob: Person, upstream: FakeUpstream
) -> None:
    rita = site.person()
    with site.server(OPENAI_BASE_URL=upstream.base_url) as server:
        server.run(REVIEWER.format(name=rita.username))
        alices = sit_down(alice, url=server.url)
        alices.expect_error("WebSocket|htmx:ws|404|410")
        tab = alices.open()
        conversation = chat(tab, upstream)
        ritas_desk = sit_down(rita, url=server.url)
        ritas_desk.expect_error("404")
        ritas = ritas_desk.context.new_page()
        read_chat(ritas, server, alice)

        own = read_who_read(alices, server, rita)
        archive = download_everything(own)
        assert archive["conversations.jsonl"].count(WORD.encode()) >= 3
        assert [name for name in archive if name.startswith("images/")]
        assert REASON.encode() in b"".join(archive.values())
        bobs = sit_down(bob, url=server.url).open()
        bobs.ask("Remember me")
        bobs.expect_ending("complete")
        olives = sign_in(sit_down(url=server.url), server.url)
        hold(olives, server, bob)
        assert files_with_it(server) or "DATABASE_URL" in server.environment
        report = erase_oneself(own, alice)
        if "From the database's files now" in report:
            assert files_with_it(server) == []
        own.goto(f"{server.url}/")
        expect(own.get_by_role("heading", name="Sign in")).to_be_visible()
        expect_on_no_page(olives, ritas, server, conversation)
        bobs.reload()
        expect(bobs.page.get_by_text("Remember me").first).to_be_visible()
        bobs.page.goto(f"{server.url}/privacy/")
        notice = bobs.page.get_by_role("region", name="Kept because of a legal hold")
        expect(notice).to_contain_text(re.compile("your account can.t be erased"))
        until_gone_from_files(server)
    assert files_with_it(server) == []
    assert WORD not in server.log


def chat(tab: Tab, upstream: FakeUpstream) -> str:
    """Have a text, an image and feedback in a chat; return the conversation's id."""
    image = choice({"images": [{"image_url": {"url": png(8, 8)}}]})
    upstream.script(role(), delta(f"Here is the {WORD}."), image, finish(), usage(), done())
    tab.ask(f"Draw my {WORD}")
    tab.expect_ending("complete")
    expect(tab.region("images").get_by_role("img")).to_be_visible()
    tab.reply.get_by_role("button", name="Bad reply").click()
    tab.reply.get_by_role("textbox", name="What was wrong?").fill(f"No {WORD} looks so")
    tab.page.keyboard.press("Tab")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator("#announcer")).to_have_text("Saved.")
    return tab.page.url.rstrip("/").rpartition("/")[2]


def read_chat(page: Page, server: Server, whose: Person) -> None:
    """Open the chat from the list by keyboard, with a reason."""
    page.goto(f"{server.url}/review/")
    assert WORD not in page.content()
    row = page.get_by_role("list", name="Chats").locator("> li")
    expect(row).to_contain_text([whose.username])
    expect(row).to_contain_text(["Thumbs down"])
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.get_by_label("Why are you opening this chat?").fill(REASON)
    page.keyboard.press("Enter")
    thread = page.locator(".review")
    for words in (f"Draw my {WORD}", f"Here is the {WORD}.", f"No {WORD} looks so"):
        expect(thread.get_by_text(words)).to_be_visible()
    expect(thread.get_by_role("img").first).to_have_js_property("naturalWidth", 8)


def read_who_read(desk: Desk, server: Server, reader: Person) -> Page:
    page = desk.context.new_page()
    page.goto(f"{server.url}/privacy/")
    rows = page.get_by_role("row", name=f"{reader.username}, as a reviewer")
    expect(rows.filter(has_text="viewed an image")).to_be_visible()
    row = rows.filter(has_text="opened")
    expect(row).to_contain_text(REASON)
    expect(row).to_contain_text(re.compile(r"\d\d:\d\d:\d\d UTC"))
    expect(row.get_by_role("link", name=WORD)).to_be_visible()
    return page


def download_everything(page: Page) -> dict[str, bytes]:
    everything = page.get_by_role("button", name="Download everything")
    everything.click()
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(everything).to_be_visible()
    with page.expect_download() as download:
        everything.click()
    with ZipFile(download.value.path()) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def open_person_page(page: Page, server: Server, person: Person) -> None:
    page.goto(f"{server.url}/people/?q={person.username}")
    page.get_by_role("link", name=person.username, exact=True).click()
    expect(page.get_by_role("heading", name=person.username, level=1)).to_be_visible()


def hold(page: Page, server: Server, person: Person) -> None:
    """Set a legal hold; the page says that it prevents erasure before anybody tries."""
    open_person_page(page, server, person)
    open_row(page, "Legal hold")
    page.get_by_label("Reason").fill("The matter of Smith")
    page.get_by_role("button", name="Set a legal hold").click()
    expect(page.get_by_text("The legal hold is set")).to_be_visible()
    page.get_by_role("link", name="Delete…").click()
    expect(page.get_by_text("This account is under a legal hold")).to_be_visible()
    expect(page.get_by_role("button", name="Delete permanently")).to_have_count(0)


def erase_oneself(page: Page, person: Person) -> str:
    """Erase the person's own account; return the report."""
    page.get_by_role("link", name="Erase my account").click()
    expect(page.get_by_text("1 chat with 2 messages, 0 files and 1 image will be")).to_be_visible()
    expect_accessible(page)
    page.get_by_label("Your username").fill("somebody")
    page.get_by_role("button", name="Erase everything").click()
    expect(page.get_by_text("This is not your username.")).to_be_visible()
    page.get_by_label("Your username").fill(person.username)
    page.get_by_role("button", name="Erase everything").click()
    expect(page.get_by_role("heading", name="Your account was erased", level=1)).to_be_visible()
    expect_accessible(page)
    return page.locator("main").inner_text()


def expect_on_no_page(staff: Page, reviewer: Page, server: Server, conversation: str) -> None:
    for path in ("people/", "usage/", "audit/", "limits/"):
        staff.goto(f"{server.url}/{path}")
        assert WORD not in staff.content()
    reviewer.goto(f"{server.url}/review/?show=all")
    assert WORD not in reviewer.content()
    answer = reviewer.goto(f"{server.url}{address(conversation)}")
    assert answer
    assert answer.status == 404


def until_gone_from_files(server: Server) -> None:
    """Wait for the housekeeping, which cleans the files soon after an erasure."""
    deadline = time.monotonic() + WAIT_SECONDS
    while files_with_it(server):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def files_with_it(server: Server) -> list[Path]:
    files = (path for path in server.data_dir.rglob("*") if path.is_file())
    return [path for path in files if WORD.encode() in path.read_bytes()]
