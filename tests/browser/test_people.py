"""Somebody is invited, chats, and is deactivated; and signing in with a passkey."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Desk, SitDown, open_confirmed, open_row
from tests.browser.test_accessible import expect_accessible
from tests.browser.test_confirming import LONG_AGO
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import PASSWORD, Person, Server, Site

NEW = "four wild geese at dawn"


def sign_in(desk: Desk, url: str) -> Page:
    page = desk.context.new_page()
    page.goto(f"{url}/accounts/login/")
    page.get_by_label("Username").fill(desk.person.username if desk.person else "olive")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url(f"{url}/")
    return page


@pytest.mark.thorough
def test_from_an_invitation_to_the_end_of_an_account(
    sit_down: SitDown, site: Site, upstream: FakeUpstream
) -> None:
    with site.server(OPENAI_BASE_URL=upstream.base_url) as server:
        olives = sit_down(url=server.url)
        page = sign_in(olives, server.url)
        page.goto(f"{server.url}/people/groups/")
        page.get_by_label("Name").fill("Writers")
        page.get_by_role("button", name="Add group").click()
        expect(page.get_by_role("heading", name="Writers")).to_be_visible()
        expect_accessible(page)
        page.get_by_role("link", name="Invitations").click()
        expect_accessible(page)
        page.get_by_label("Group").select_option(label="Writers")
        page.get_by_role("button", name="Invite").click()
        link = page.get_by_label("Link").input_value()
        expect_accessible(page)

        carols = sit_down(url=server.url)
        carols.expect_error(r"WebSocket|htmx:ws|410")
        door = carols.context.new_page()
        door.goto(link)
        expect_accessible(door)
        door.get_by_label("Username").fill("carol")
        for field in door.locator("input[type=password]").all():
            field.fill(NEW)
        door.get_by_role("button", name="Create account").click()
        door.wait_for_url(f"{server.url}/")
        tab = carols.open()
        tab.ask("Am I in?")
        tab.expect_ending("complete")
        again = sit_down(url=server.url)
        again.expect_error("410")
        late = again.context.new_page()
        late.goto(link)
        expect(late.get_by_text("This invitation has already been used.")).to_be_visible()

        page.goto(f"{server.url}/people/?q=carol")
        expect_accessible(page)
        page.get_by_role("link", name="carol").click()
        open_row(page, "Groups")
        expect(page.get_by_role("checkbox", name="Writers")).to_be_checked()
        expect_accessible(page)
        open_row(page, "Deactivate")
        page.get_by_role("button", name="Deactivate carol").click()
        expect(page.get_by_text("Deactivated:")).to_be_visible()
        expect(tab.connection).to_contain_text("no longer active")
        for path in ("access/", "groups/"):
            page.goto(f"{server.url}/people/{path}")
            expect_accessible(page)
        page.locator("tbody a[href*=upstream]").first.click()
        expect_accessible(page)


def test_somebody_becomes_a_reviewer_in_three_clicks_and_the_row_says_so(
    sit_down: SitDown, site: Site, alice: Person
) -> None:
    desk = sit_down(site.olive)
    page = open_confirmed(desk.context.new_page(), f"{desk.url}/people/access/")
    page.goto(f"{desk.url}/people/?q={alice.username}")
    page.get_by_role("link", name=alice.username, exact=True).click()
    open_row(page, "Role")
    page.get_by_role("button", name="Make reviewer").click()
    row = page.locator("#roles")
    expect(row.get_by_role("status")).to_have_text(f"{alice.username} is now a reviewer.")
    expect(row.locator("summary")).to_contain_text("Reviewer")
    expect(page).to_have_url(re.compile("#roles$"))
    expect_accessible(page)


def test_what_was_typed_in_a_row_is_still_there_after_confirming(
    sit_down: SitDown, site: Site, server: Server, alice: Person
) -> None:
    desk = sit_down(site.olive)
    page = open_confirmed(desk.context.new_page(), f"{desk.url}/people/access/")
    page.goto(f"{desk.url}/people/?q={alice.username}")
    page.get_by_role("link", name=alice.username, exact=True).click()
    server.run(LONG_AGO.format(key=site.olive.session))
    open_row(page, "Name and email")
    page.get_by_label("First name").fill("Alma")
    page.get_by_role("button", name="Save").click()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_label("First name")).to_have_value("Alma")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#name").get_by_role("status")).to_have_text("Saved.")
    expect(page.get_by_role("heading", name="Alma", level=1)).to_be_visible()


def test_a_passkey_signs_in(sit_down: SitDown, server: Server, alice: Person) -> None:
    """The host must be a name, localhost: an IP address has no passkeys."""
    url = re.sub(r"//[\d.]+", "//localhost", server.url)
    desk = sit_down(Person(alice.username, ""), url=url)
    page = sign_in(desk, url)
    device = desk.context.new_cdp_session(page)
    device.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True}
    options |= {"hasUserVerification": True, "isUserVerified": True}
    device.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    page.goto(f"{url}/accounts/second-factor/")
    expect_accessible(page)
    page.get_by_role("link", name="Add a passkey").click()
    expect_accessible(page)
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    expect_accessible(page)
    desk.context.clear_cookies()
    page.goto(f"{url}/accounts/login/")
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url(f"{url}/")
    page.goto(f"{url}/accounts/second-factor/keys/")
    expect(page.get_by_text("last used")).to_be_visible()
