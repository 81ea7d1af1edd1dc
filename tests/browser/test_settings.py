"""An administrator sets the defaults of new chats; confirming the password loses no typed text."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SitDown
from tests.browser.test_accessible import expect_accessible
from tests.browser.test_confirming import LONG_AGO
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, role, usage
from tests.support.live import PASSWORD, Server, Site

PAGE = "/settings/"
NOTICE = "Be kind. <b>No</b> customers' data, please."
BACK = """
from chatapp.models import Installation
Installation.objects.all().delete()
"""


def confirm(page: Page) -> None:
    expect(page.get_by_role("heading", name="Confirm it is you")).to_be_visible()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()


@pytest.fixture
def olive(site: Site, sit_down: SitDown, server: Server) -> Iterator[Page]:
    server.run(LONG_AGO.format(key=site.olive.session))
    page = sit_down(site.olive).context.new_page()
    page.goto(server.url + PAGE)
    confirm(page)
    yield page
    server.run(BACK)


def test_new_chats_use_the_defaults_and_get_titles(
    olive: Page, site: Site, sit_down: SitDown, upstream: FakeUpstream
) -> None:
    preview = olive.locator(".notice-preview")
    expect(preview).to_be_hidden()
    olive.get_by_label("Message of the day").fill(NOTICE)
    expect(preview).to_have_text(NOTICE)
    gateway = olive.get_by_label("Provider of new chats").locator("option").nth(1).inner_text()
    olive.get_by_label("Provider of new chats").select_option(label=gateway)
    save(olive)
    expect(olive.get_by_text("Enter the default model for new chats.")).to_be_visible()
    expect(olive.get_by_label("Message of the day")).to_have_value(NOTICE)
    olive.get_by_label("Model of new chats").fill("fake-model")
    olive.get_by_label("Provider for titles").select_option(label=gateway)
    olive.get_by_label("Model for titles").fill("fake-model")
    save(olive)
    expect(olive.get_by_text("Saved.")).to_be_visible()

    tab = sit_down(site.person()).open()
    expect(tab.page.get_by_text(NOTICE)).to_be_visible()
    upstream.script(role(), delta("It scatters."), finish(), usage(), done())
    upstream.script(role(), delta("Blue skies"), finish(), usage(), done())
    tab.ask("Why is the sky blue?")
    tab.expect_ending("complete")
    expect(tab.page).to_have_title("Blue skies · chatapp")


@pytest.mark.thorough
def test_typed_text_is_restored_after_confirming_the_password(
    olive: Page, site: Site, server: Server
) -> None:
    olive.get_by_label("Message of the day").fill(NOTICE)
    server.run(LONG_AGO.format(key=site.olive.session))
    save(olive)
    confirm(olive)
    expect(olive.get_by_role("status")).to_contain_text("nothing has changed yet")
    expect_accessible(olive)
    expect(olive.get_by_label("Message of the day")).to_have_value(NOTICE)
    expect(olive.locator(".notice-preview")).to_have_text(NOTICE)
    save(olive)
    expect(olive.get_by_role("status")).to_have_text("Saved.")
    olive.reload()
    expect(olive.get_by_label("Message of the day")).to_have_value(NOTICE)
    expect(olive.get_by_role("status")).to_have_count(0)


@pytest.mark.thorough
def test_typed_text_is_not_shown_to_the_next_person_who_confirms(
    olive: Page, site: Site, server: Server
) -> None:
    olive.get_by_label("Message of the day").fill(NOTICE)
    server.run(LONG_AGO.format(key=site.olive.session))
    save(olive)
    expect(olive.get_by_role("heading", name="Confirm it is you")).to_be_visible()
    kept_fields = olive.evaluate("JSON.parse(sessionStorage.getItem('kept-fields'))")
    assert NOTICE in str(kept_fields["forms"])
    somebody = {**kept_fields, "by": kept_fields["by"] + "0"}
    olive.evaluate(
        "(kept) => sessionStorage.setItem('kept-fields', JSON.stringify(kept))", somebody
    )
    confirm(olive)
    expect(olive.get_by_label("Message of the day")).to_have_value("")
    assert olive.evaluate("sessionStorage.getItem('kept-fields')") is None


def test_the_api_is_allowed_and_a_token_created_and_revoked(
    olive: Page, site: Site, server: Server
) -> None:
    olive.get_by_label("Who may use the API").select_option("everyone")
    save(olive)
    expect(olive.get_by_text("Saved.")).to_be_visible()
    olive.goto(f"{server.url}/preferences/")
    olive.get_by_role("link", name="API tokens").click()
    expect(olive.get_by_text("No tokens yet.")).to_be_visible()
    olive.get_by_label("Name").fill("laptop")
    server.run(LONG_AGO.format(key=site.olive.session))
    olive.get_by_role("button", name="Create the token").click()
    confirm(olive)
    expect(olive.get_by_text("What you typed has been restored.")).to_be_visible()
    expect_accessible(olive)
    olive.get_by_role("button", name="Create the token").click()
    expect(olive.get_by_label("Token", exact=True)).to_have_value(re.compile("^chatapp_"))
    olive.get_by_role("button", name="Copy Token").click()
    expect(olive.get_by_role("button", name="Copied")).to_be_visible()
    expect_accessible(olive)
    olive.get_by_text("Revoke… laptop").click()
    olive.get_by_role("button", name="Revoke laptop").click()
    expect(olive.get_by_text("No tokens yet.")).to_be_visible()
