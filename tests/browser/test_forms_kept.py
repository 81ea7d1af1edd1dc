"""Text typed into a form is there after a reload and after coming back to the page."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SitDown
from tests.browser.test_settings import confirm
from tests.support.live import Server, Site
from tests.support.profile import sample_params

PAGES = [
    "/settings/",
    "/presets/new/",
    "/prompts/new/",
    "/preferences/",
    "/settings/models/new/",
    "/settings/tools/new/",
    "/people/groups/",
    "/people/invitations/",
    "/limits/new/",
    "/limits/prices/new/",
    "/review/labels/",
    "/review/rules/add/",
]
FIELDS = 'form[method="post"] :is(input:not([type]), input[type=text], textarea)'
TYPED = "12 kept words"


@pytest.mark.parametrize("path", sample_params(PAGES, 2))
def test_typed_text_survives_a_reload_and_the_way_back(
    sit_down: SitDown, site: Site, server: Server, path: str
) -> None:
    page = sit_down(site.olive).context.new_page()
    page.goto(server.url + path)
    if "/reauthenticate/" in page.url:
        confirm(page)
    field = page.locator(f"main {FIELDS}").locator("visible=true").first
    field.fill(TYPED)
    page.reload()
    expect(field).to_have_value(TYPED)
    page.goto(f"{server.url}/help/")
    page.go_back()
    expect(field).to_have_value(TYPED)
    page.goto(server.url + path)
    expect(field).not_to_have_value(TYPED)
