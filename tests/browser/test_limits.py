"""A limit, from the administrator who sets it to the person who reaches it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SitDown, open_confirmed
from tests.browser.test_accessible import expect_accessible
from tests.support.fake_upstream import FakeUpstream, Stall, delta, role
from tests.support.live import Person, Server, Site, run

pytestmark = pytest.mark.thorough

UNSET = """
import django; django.setup()
from chatapp.models import Limit
Limit.objects.all().delete()
"""


@pytest.fixture
def limits_cleanup(server: Server) -> Iterator[None]:
    """Remove all limits after the test."""
    yield
    run(server.environment, "-c", UNSET)


def test_a_limit_is_set_reached_and_shown(
    sit_down: SitDown, site: Site, alice: Person, limits_cleanup: None, upstream: FakeUpstream
) -> None:
    desk = sit_down(site.olive)
    page = open_confirmed(desk.context.new_page(), f"{desk.url}/limits/new/")
    expect_accessible(page)
    expect(page.get_by_label("Person")).to_be_hidden()
    page.get_by_label("Amount").fill("10000")
    page.get_by_label("For", exact=True).select_option("person")
    page.get_by_label("Person").fill(alice.username)
    page.get_by_label("Person").press("Tab")
    expect(page.get_by_text("This concerns 1 person.")).to_be_visible()
    page.get_by_role("button", name="Add limit").click()
    expect(page.get_by_role("status")).to_contain_text("Limit added: 10,000 tokens a month")

    tab = sit_down(alice).open()
    upstream.script(role(), *[delta("word " * 1000)] * 3, Stall())
    tab.ask("Why is the sky blue?")
    tab.expect_ending("over_budget")
    expect(tab.answer).to_contain_text("word word")
    expect(tab.reply).to_contain_text("A limit was reached, so the reply was stopped.")

    tab.ask("And at night?")
    expect(tab.problem).to_contain_text("left of your 10,000 tokens a month.")
    expect(tab.problem).to_contain_text("Ask an administrator for more. Resets ")
    expect(tab.problem.get_by_role("time")).to_contain_text(" at ")
    expect(tab.message).to_have_value("And at night?")
    expect(tab.page.locator("[data-reply]")).to_have_count(1)
    expect_accessible(tab.page)

    page.reload()
    expect(page.get_by_role("meter")).to_be_visible()
    expect_accessible(page)
    tab.problem.get_by_role("link", name="Your limits").click()
    expect(tab.page.get_by_role("meter")).to_be_visible()
    expect(tab.page.get_by_role("main")).to_contain_text("of 10,000 tokens left")
    expect_accessible(tab.page)
    tab.page.go_back()
    expect(tab.message).to_have_value("And at night?")
