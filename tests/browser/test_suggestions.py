"""The first minute: a server without accounts, and the suggestions for asking the demo."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SitDown
from tests.support.live import Person, Server, Site, run

# Elements that only a fitting answer contains.
FITTING = {
    "What can you do?": "h3, li",
    "Show me a table of the planets": "table",
    "Write a short code example in Python": "pre",
    "Explain a theorem, with the math": "math",
}
NONE = """
from chatapp.models import Suggestion

Suggestion.objects.all().delete()
"""
SUGGEST = """
from chatapp.models import Suggestion

Suggestion.objects.create(text="Write a <b>letter</b>")
"""


@pytest.fixture(scope="module")
def demo(site: Site) -> Iterator[Server]:
    """A server connected only to its own demo."""
    with site.server() as server:
        yield server


@pytest.mark.thorough
@pytest.mark.parametrize("suggestion", FITTING)
def test_the_demo_has_a_fitting_answer_to_each_suggestion(
    sit_down: SitDown, alice: Person, demo: Server, suggestion: str
) -> None:
    tab = sit_down(alice, url=demo.url).open()
    tab.page.get_by_role("button", name=suggestion, exact=True).click()
    expect(tab.page.locator(".prompt").last).to_contain_text(suggestion)
    tab.stop.wait_for()
    expect(tab.answer.locator(FITTING[suggestion]).first).to_be_visible()


def test_with_a_real_gateway_the_administrators_suggestions_are_shown(
    sit_down: SitDown, alice: Person, server: Server
) -> None:
    server.run(NONE)
    tab = sit_down(alice).open()
    expect(tab.page.locator("[data-suggestion]")).to_have_count(0)
    server.run(SUGGEST)
    tab.reload()
    suggestions = tab.page.locator("[data-suggestion]")
    expect(suggestions).to_have_text(["Write a <b>letter</b>"])
    suggestions.click()
    tab.expect_ending("complete")


@pytest.mark.thorough
def test_before_the_setup_the_page_leads_to_the_first_account(
    site: Site, sit_down: SitDown
) -> None:
    with site.empty_server() as server:
        desk = sit_down(url=server.url)
        page = desk.context.new_page()
        page.goto(server.url)
        expect(page.get_by_role("heading", name="Not set up yet")).to_be_visible()
        printed = run(server.environment, "manage.py", "setup_link").stdout.strip()
        page.goto(server.url + printed[printed.index("/setup/") :])
        expect(page.get_by_role("heading", name="Create the first account")).to_be_visible()
