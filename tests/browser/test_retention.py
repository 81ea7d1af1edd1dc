"""An administrator previews what retention would delete, sets it, and people read it."""

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.browser.conftest import Desk, SitDown, open_confirmed
from tests.support.live import Person, Site

pytestmark = pytest.mark.thorough

WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("phone", [None, {"width": 390, "height": 844}])
def test_deletions_are_previewed_before_they_are_set_and_people_can_read_the_periods(
    sit_down: SitDown, site: Site, alice: Person, desk: Desk, phone: ViewportSize | None
) -> None:
    browser = sit_down(site.olive, phone=phone)
    page = open_confirmed(browser.context.new_page(), f"{desk.url}/retention/")
    page.get_by_label("Chats").fill("3000")
    page.get_by_label("Delete files and images").fill("2000")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="What would be deleted")).to_contain_text("Nothing")
    assert page.evaluate(WIDER) == 0
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("status")).to_contain_text("deleted at the next housekeeping")
    expect(page.get_by_label("Chats")).to_have_value("3000")
    expect(page.get_by_role("heading", name="What would be deleted")).to_have_count(0)

    member = sit_down(alice).context.new_page()
    member.goto(f"{desk.url}/privacy/")
    periods = member.get_by_role("region", name="How long your data is kept")
    expect(periods).to_contain_text("permanently deleted 3,000 days after your last prompt")
    expect(periods).to_contain_text("for 2,000 days, but no longer than their chat")

    for name in ("Chats", "Delete files and images"):
        page.get_by_label(name).fill("")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Apply").click()
    member.reload()
    expect(periods).to_contain_text("Your chats are kept until you delete them.")
