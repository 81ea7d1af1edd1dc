"""A rule is tried and saved, flags new messages, and a reviewer searches with a reason."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.conftest import Desk, SitDown, Tab, open_confirmed
from tests.browser.test_accessible import expect_accessible
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, role
from tests.support.live import Server, Site

pytestmark = pytest.mark.thorough

WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
FLAGS_OPEN = """
from chatapp.models import ReviewPolicy
ReviewPolicy.objects.create(scope={scope!r})
"""
FORGET = "from chatapp.models import ReviewRule; ReviewRule.objects.all().delete()"
UNTIL_FLAGGED = """
import time
from chatapp.models import RuleFinding
while not RuleFinding.objects.exists():
    time.sleep(0.05)
"""
LONG = "w" * 55


@pytest.fixture
def flags_open(server: Server) -> Iterator[None]:
    """The policy lets reviewers read flagged chats."""
    server.run(FLAGS_OPEN.format(scope="flagged"))
    yield
    server.run(FLAGS_OPEN.format(scope="all"))
    server.run(FORGET)


def expect_fine(page: Page) -> None:
    expect_accessible(page)
    assert page.evaluate(WIDER) == 0


@pytest.mark.parametrize("phone", [None, {"width": 390, "height": 844}])
def test_a_rule_is_tried_and_saved_and_flags_what_a_reviewer_then_searches(
    sit_down: SitDown,
    site: Site,
    server: Server,
    desk: Desk,
    upstream: FakeUpstream,
    flags_open: None,
    phone: ViewportSize | None,
) -> None:
    page = sit_down(site.olive, phone=phone).context.new_page()
    page.goto(f"{server.url}/review/rules/")
    expect_fine(page)
    expect(page.get_by_role("link", name="Add rule")).to_be_visible()
    open_confirmed(page, f"{server.url}/review/rules/add/")
    page.get_by_label("Name").fill(LONG)
    expect(page.get_by_label("Pattern")).to_be_hidden()
    page.get_by_label("Looks for").select_option("pattern")
    page.get_by_label("Pattern").fill("(")
    page.get_by_role("button", name="Test").click()
    wrong = page.get_by_role("alert").filter(has_text="Correct it.")
    expect(wrong).to_be_visible()
    expect_fine(page)
    page.get_by_label("Looks for").select_option("words")
    page.get_by_label("Words").fill("Zebrácrossing\nother")
    page.get_by_label("Reason for the test").fill("A complaint")
    page.get_by_role("button", name="Test").click()
    expect(page.get_by_role("status")).to_contain_text("0 of the newest")
    expect_fine(page)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("region", name="Rules")).to_contain_text(LONG)
    expect_fine(page)

    upstream.script(role(), delta("Black and white."), finish(), done())
    tab = desk.open()
    expect(tab.page.locator("#policy-note")).to_contain_text("your thumbs down flags it")
    tab.ask("What is a zebracrossing?")
    tab.expect_ending("complete")
    conversation = tab.page.url.rstrip("/").rpartition("/")[2]
    row = page.locator(f'.review-list > li:has(a[href^="/review/{conversation}/"])')
    server.run(UNTIL_FLAGGED)
    page.goto(f"{server.url}/review/?flagged=rule")
    expect(row).to_contain_text(f"Flagged by the rule {LONG}")
    expect_fine(page)
    page.get_by_text("Search the text of chats").click()
    page.get_by_label("Words").fill("zebracrossing")
    page.get_by_label("Reason for the search").fill("A complaint")
    expect_fine(page)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Results for")).to_contain_text("zebracrossing")
    expect(row).to_have_count(1)
    assert "zebra" not in page.url
    assert "complaint" not in page.url
    expect(page.get_by_text("What is a")).to_have_count(0)
    expect_fine(page)


def test_the_thumbs_say_that_a_thumb_down_opens_the_chat_to_reviewers(
    desk: Desk,
    sit_down: SitDown,
    site: Site,
    server: Server,
    upstream: FakeUpstream,
    flags_open: None,
) -> None:
    upstream.script(role(), delta("Rayleigh."), finish(), done())
    tab = desk.open()
    tab.ask("Why is it blue?")
    tab.expect_ending("complete")
    hint = tab.reply.get_by_text("Thumbs down lets reviewers read this chat.")
    expect(hint).to_have_css("opacity", "0")
    tab.reply.get_by_role("button", name="Bad reply").focus()
    expect(hint).to_have_css("opacity", "1")
    expect_accessible(tab.page)
    conversation = tab.page.url.rstrip("/").rpartition("/")[2]
    page = sit_down(site.olive).context.new_page()
    page.goto(f"{server.url}/review/")
    row = page.locator(f'.review-list > li:has(a[href^="/review/{conversation}/"])')
    expect(page.get_by_role("heading", name="Review")).to_be_visible()
    expect(row).to_have_count(0)
    tab.page.keyboard.press("Enter")
    expect(tab.reply.get_by_role("button", name="Bad reply")).to_have_attribute(
        "aria-pressed", "true"
    )
    page.reload()
    expect(row).to_contain_text("Thumbs down")


def test_the_thumbs_say_nothing_if_reviewers_may_read_every_chat(
    desk: Desk, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("Rayleigh."), finish(), done())
    tab: Tab = desk.open()
    tab.ask("Why is it blue?")
    tab.expect_ending("complete")
    expect(tab.reply.get_by_text("Thumbs down lets reviewers")).to_be_hidden()
