"""The first tasks of an administrator, in no more clicks and fields than they need."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SitDown, Tab
from tests.browser.test_people import sign_in
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Site

pytestmark = pytest.mark.thorough

COUNT_CLICKS = """
addEventListener("click", ({ isTrusted, detail }) => {
  if (isTrusted && detail) sessionStorage.clicks = Number(sessionStorage.clicks ?? 0) + 1;
}, true);
"""


def clicks(page: Page) -> int:
    """Return how often the page was clicked since the tab was opened or this was called."""
    count = page.evaluate("sessionStorage.clicks ?? '0'")
    page.evaluate("sessionStorage.removeItem('clicks')")
    return int(count)


def test_a_provider_answers_three_clicks_after_its_key(sit_down: SitDown, site: Site) -> None:
    with site.server() as server, FakeUpstream() as gateway:
        page = sign_in(sit_down(url=server.url), server.url)
        page.add_init_script(COUNT_CLICKS)
        page.goto(f"{server.url}/settings/models/new/")
        page.get_by_label("Name").fill("Team gateway")
        page.get_by_label("Address").fill(gateway.base_url)
        page.get_by_label("API key").fill("sk-of-the-team")
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_text(re.compile("Connected. It lists"))).to_be_visible()
        page.get_by_role("link", name="Choose models").click()
        page.get_by_role("button", name="Turn on").click()
        expect(page.get_by_text("Team gateway is connected")).to_be_visible()
        assert clicks(page) == 3
        tab = Tab(page)
        tab.until_connected()
        tab.ask("Is anybody there?")
        tab.expect_ending("complete")
        [request] = gateway.chat_requests
        assert request.headers["authorization"] == "Bearer sk-of-the-team"


def test_five_people_are_invited_in_one_step(sit_down: SitDown, site: Site) -> None:
    names = ["ada", "ben", "cy", "dot", "eve"]
    with site.server() as server:
        page = sign_in(sit_down(url=server.url), server.url)
        page.add_init_script(COUNT_CLICKS)
        page.goto(f"{server.url}/people/invitations/")
        addresses = page.get_by_label("Email addresses")
        addresses.fill("\n".join(f"{name}@example.org" for name in names))
        page.get_by_role("button", name="Invite").click()
        expect(page.get_by_role("button", name="Copy")).to_have_count(5)
        assert clicks(page) == 1
        links = page.get_by_role("textbox", name=re.compile("Link")).all()
        assert len({link.input_value() for link in links}) == 5
        for name, link in zip(names, links, strict=True):
            door = sit_down(url=server.url).context.new_page()
            door.goto(link.input_value())
            expect(door.get_by_text(f"{name}@example.org")).to_be_visible()
