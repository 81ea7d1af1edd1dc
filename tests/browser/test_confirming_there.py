"""Confirming with the organisation's sign-in, which is on another origin, in a real browser."""

import time

import pytest
from playwright.sync_api import expect

from tests.accounts.provider import CLIENT, SECRET, running
from tests.browser.conftest import SitDown
from tests.support.live import Site


@pytest.mark.thorough
def test_confirming_leads_there_and_back(site: Site, sit_down: SitDown) -> None:
    with running() as provider:
        provider.claims = {"sub": "c-1", "preferred_username": "carol"}
        provider.session_since = int(time.time()) - 3600
        with site.server(
            CHATAPP_OIDC_URL=provider.url,
            CHATAPP_OIDC_CLIENT_ID=CLIENT,
            CHATAPP_OIDC_SECRET=SECRET,
            CHATAPP_OIDC_NAME="Example Ltd",
        ) as server:
            page = sit_down(url=server.url).context.new_page()
            page.goto(f"{server.url}/accounts/login/")
            page.get_by_role("link", name="Sign in with Example Ltd").click()
            expect(page.get_by_role("textbox", name="Message")).to_be_visible()
            page.goto(f"{server.url}/accounts/second-factor/")
            page.get_by_role("button", name="Confirm with Example Ltd").click()
            page.wait_for_url(f"{server.url}/accounts/second-factor/")
            page.go_back()  # the page it returns to would not submit the form again
            expect(page.get_by_role("heading", name="Confirm it is you")).to_be_visible()
