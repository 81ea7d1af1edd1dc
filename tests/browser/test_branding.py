"""An administrator brands the app, and people see it in the chat and on the sign-in page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SitDown, open_confirmed
from tests.browser.test_accessible import expect_accessible
from tests.support.live import Server, Site
from tests.support.pictures import png

pytestmark = pytest.mark.thorough

NAME = "Würfel & Söhne, Gesellschaft für Würfel"  # as long as a name may be
ACCENT = "#b3261e"
# The next save stores the defaults and makes the server load them.
BACK = """
from chatapp.models import Installation, Logo
Installation.objects.all().delete()
Logo.objects.all().delete()
"""
PAGE = "/settings/"
BUTTON = "getComputedStyle(document.querySelector('.button')).backgroundColor"


@pytest.fixture
def olive(site: Site, sit_down: SitDown, server: Server) -> Iterator[Page]:
    """The administrator's page, after confirming her password."""
    page = open_confirmed(sit_down(site.olive).context.new_page(), server.url + PAGE)
    yield page
    server.run(BACK)
    page.goto(server.url + PAGE)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()


def test_an_installation_gets_its_own_name_colour_and_logo(
    olive: Page, site: Site, sit_down: SitDown, server: Server
) -> None:
    own = olive.evaluate("getComputedStyle(document.body).getPropertyValue('--accent')")
    olive.get_by_label("Name").fill(NAME)
    olive.get_by_label("Accent colour").fill(ACCENT)
    logo = {"name": "logo.png", "mimeType": "image/png", "buffer": png(64, 32)}
    olive.get_by_label("Logo", exact=True).set_input_files(logo)  # type: ignore[arg-type]
    olive.get_by_role("button", name="Save", exact=True).click()
    expect(olive.get_by_text("Saved.")).to_be_visible()
    expect(olive.locator(".frame-header .brand")).to_contain_text(NAME)
    assert olive.evaluate("getComputedStyle(document.body).getPropertyValue('--accent')") != own
    expect_accessible(olive)
    _expect_brand_in_chat(sit_down, site)
    _expect_brand_at_sign_in(sit_down, server)


def _expect_brand_in_chat(sit_down: SitDown, site: Site) -> None:
    tab = sit_down(site.person(), viewport={"width": 390, "height": 800}).open()
    expect(tab.page).to_have_title(f"New chat · {NAME}")
    tab.page.get_by_role("button", name="Conversations").click()
    brand = tab.page.locator("#sidebar .brand")
    expect(brand).to_contain_text(NAME)
    _expect_logo_in_its_box(tab.page)
    sidebar, close = (
        tab.page.locator(selector).bounding_box() for selector in ("#sidebar", ".sidebar-close")
    )
    assert sidebar
    assert close
    assert close["x"] + close["width"] <= sidebar["width"]
    expect_accessible(tab.page)
    tab.ask("Hello")
    tab.expect_ending("complete")
    expect(tab.page).to_have_title(f"Hello · {NAME}")


def _expect_brand_at_sign_in(sit_down: SitDown, server: Server) -> None:
    page = sit_down().context.new_page()
    page.goto(f"{server.url}/accounts/login/")
    expect(page).to_have_title(f"Sign in · {NAME}")
    _expect_logo_in_its_box(page)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    assert page.evaluate(BUTTON) == "rgb(179, 38, 30)"
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert page.evaluate(BUTTON) != "rgb(179, 38, 30)"
    expect_accessible(page)


def _expect_logo_in_its_box(page: Page) -> None:
    logo = page.locator("img.logo").first
    expect(logo).to_have_js_property("naturalWidth", 64)
    box = logo.bounding_box()
    assert box
    assert round(box["width"]) == round(box["height"]) >= 22
