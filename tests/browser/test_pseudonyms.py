"""A reviewer reveals the name of a chat's owner by giving a reason, which the person can read."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SitDown
from tests.browser.test_accessible import expect_accessible
from tests.support.live import Server, Site
from tests.support.reviewer import REASON, open_in

pytestmark = pytest.mark.thorough

HIDE = """
from chatapp.models import ReviewPolicy
ReviewPolicy.objects.create(scope="all", hides_names=True)
"""
BACK = """
from chatapp.models import ReviewPolicy
ReviewPolicy.objects.create(scope="all")
"""
WHY = "They ask <b>for help</b>"


@pytest.fixture
def pseudonymous(server: Server) -> Iterator[None]:
    server.run(HIDE)
    yield
    server.run(BACK)


@pytest.mark.usefixtures("pseudonymous")
def test_a_name_is_revealed_for_a_reason_and_its_person_sees_it(
    sit_down: SitDown, site: Site, server: Server
) -> None:
    person = site.person()
    tab = sit_down(person).open()
    notice = tab.page.get_by_role("link", name="They don't see your name at first.")
    expect(notice).to_be_visible()
    tab.ask("Whose am I?")
    tab.expect_ending("complete")
    conversation = tab.page.url.rstrip("/").rpartition("/")[2]

    page = sit_down(site.olive).context.new_page()
    page.goto(f"{server.url}/review/?show=all")
    hidden = page.locator(f".review-list > li:has(a[href*='{conversation}'])")
    expect(hidden).to_be_visible()
    expect(hidden).not_to_contain_text(person.username)
    open_in(page, server.url, conversation)
    expect(page.get_by_text("Whose am I?").first).to_be_visible()
    assert person.username not in page.content()
    page.get_by_text("Reveal the owner").click()
    page.get_by_label("Why do you need the owner's name?").fill(WHY)
    expect_accessible(page)
    page.get_by_role("button", name="Reveal name").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(person.username)

    expect_told(tab.page, server)


def expect_told(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/privacy/")
    row = page.get_by_role("row").filter(has_text=WHY)
    expect(row).to_contain_text("olive, as a reviewer")
    expect(page.get_by_role("row").filter(has_text=REASON)).to_be_visible()
    expect(page.locator("main b")).to_have_count(0)
