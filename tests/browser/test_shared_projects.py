"""Alice shares a project with Bob, who reads her chat and goes on with a copy of his own."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import SitDown
from tests.browser.test_projects import make, projects
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Person


def test_a_member_reads_a_chat_and_goes_on_with_a_copy_until_the_owner_removes_them(
    sit_down: SitDown, alice: Person, bob: Person, upstream: FakeUpstream
) -> None:
    hers, his = sit_down(alice).open(), sit_down(bob).open()
    make(hers, "Roses")
    hers.ask("Which roses climb?")
    hers.expect_ending("complete")
    hers.page.get_by_role("main").get_by_role("link", name="Roses").click()
    hers.page.get_by_role("link", name="Share this project").click()
    hers.page.get_by_label("People").fill(bob.username)
    hers.page.get_by_label("They").select_option("Can add chats")
    hers.page.get_by_role("button", name="Share").click()
    expect(hers.page.get_by_role("list", name="Members")).to_contain_text("Can add chats")

    expect(projects(his)).to_have_text("Roses")  # without a reload
    projects(his).click()
    expect(his.page.get_by_text("All members can read the chats that you add")).to_be_visible()
    his.page.get_by_role("link", name=f"Which roses climb? {alice.username}").click()
    expect(his.page.get_by_role("article")).to_contain_text("Packets in flight")
    expect(his.page.get_by_role("textbox")).to_have_count(0)
    his.page.get_by_role("button", name="Continue in a chat of your own").click()
    his.page.wait_for_url(re.compile("/c/"))
    his.until_connected()
    his.ask("And which scent?")
    expect(his.page.locator("article")).to_have_count(2)
    his.expect_ending("complete")

    hers.page.get_by_role("button", name=f"Remove {bob.username}").click()
    expect(hers.page.get_by_text("Only you can see this project.")).to_be_visible()
    expect(projects(his)).to_have_count(0)
