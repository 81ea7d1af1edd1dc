"""A member sees who read their chats, and exports everything."""

from zipfile import ZipFile

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.browser.test_accessible import expect_accessible
from tests.support.live import PASSWORD, Person, Site
from tests.support.reviewer import REASON, open_in

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("phone", [None, {"width": 390, "height": 844}])
def test_a_member_sees_who_read_their_chat(
    sit_down: SitDown, site: Site, alice: Person, desk: Desk, phone: ViewportSize | None
) -> None:
    tab = desk.open()
    tab.ask("A secret of mine")
    tab.expect_ending("complete")
    pk = tab.page.url.rstrip("/").rsplit("/", 1)[-1]
    reviewer = sit_down(site.olive).context.new_page()
    open_in(reviewer, desk.url, pk)
    expect(reviewer.get_by_text("A secret of mine").first).to_be_visible()

    member = Tab(sit_down(alice, phone=phone).context.new_page())
    member.page.goto(f"{desk.url}/")
    if phone:
        member.page.get_by_role("button", name="Conversations").click()
    member.page.get_by_role("button", name="Account:").click()
    member.page.get_by_role("link", name="Preferences").click()
    member.page.get_by_role("link", name="Privacy").click()
    row = member.page.get_by_role("row", name="olive, as a reviewer")
    expect(row).to_contain_text("opened")
    expect(row).to_contain_text(REASON)
    expect(row.get_by_role("link", name="A secret of mine")).to_be_visible()
    expect_accessible(member.page)
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert member.page.evaluate(wide) == 0
    everything = member.page.get_by_role("button", name="Download everything")
    everything.click()
    member.page.get_by_label("Password").fill(PASSWORD)
    member.page.get_by_role("button", name="Confirm").click()
    with member.page.expect_download() as download:
        everything.click()
    with ZipFile(download.value.path()) as archive:
        assert b"A secret of mine" in archive.read("conversations.jsonl")
