"""An administrator connects a gateway step by step and tests a model, also on a phone."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import Position, ViewportSize, expect

from tests.browser.conftest import SitDown, Tab
from tests.browser.test_accessible import expect_accessible
from tests.browser.test_people import sign_in
from tests.support.fake_upstream import FakeUpstream, Stall, role
from tests.support.live import Site

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("phone", [None, {"width": 390, "height": 844}])
def test_from_a_wrong_address_to_the_first_answer(
    sit_down: SitDown, site: Site, phone: ViewportSize | None
) -> None:
    with site.server() as server, FakeUpstream() as gateway:
        gateway.models = ["swift", "<b>slow</b>"]
        desk = sit_down(url=server.url, phone=phone)
        page = sign_in(desk, server.url)
        page.goto(f"{server.url}/settings/models/new/")
        expect_accessible(page)
        page.get_by_label("Name").fill("Team gateway")
        page.get_by_label("Address").fill("nowhere")
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_text("That isn't a valid base URL")).to_be_visible()
        page.get_by_label("Address").fill("http://127.0.0.1:1/v1")
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_text("did not list its models")).to_be_visible()
        expect_accessible(page)
        page.get_by_role("link", name="Change the address").click()
        page.get_by_label("Address").fill(gateway.base_url)
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_text("Connected. It lists 2 models.")).to_be_visible()
        gateway.script(role(), Stall())
        page.get_by_role("button", name="Run test").click()
        expect(page.get_by_role("row", name="Models")).to_be_visible()
        page.get_by_role("link", name="Cancel").click()
        expect(page.get_by_text("Connected. It lists 2 models.")).to_be_visible()
        gateway.wait_for_request().wait_for_close()
        page.get_by_role("button", name="Run test").click()
        expect(page.get_by_text("It can serve the app.")).to_be_visible()
        expect(page.get_by_role("link", name="Cancel")).to_be_hidden()
        expect_accessible(page)
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wide) == 0
        page.get_by_role("link", name="Choose models").click()
        page.get_by_label("Only these").check()
        page.get_by_role("checkbox", name="swift").check()
        page.get_by_role("checkbox", name="slow").check()
        page.get_by_label("Name of <b>slow</b>").fill("Thorough")
        expect_accessible(page)
        page.get_by_role("button", name="Move <b>slow</b> up").press("Enter")
        expect(page.get_by_role("checkbox").first).to_have_value("<b>slow</b>")
        models = page.get_by_role("group", name="Models").get_by_role("listitem")
        top = Position(x=4, y=4)
        models.last.drag_to(models.first, source_position=top, target_position=top)
        expect(page.get_by_role("checkbox").first).to_have_value("swift")
        page.get_by_role("button", name="Move swift down").press("Enter")
        assert page.evaluate(wide) == 0
        page.get_by_role("button", name="Turn on").click()
        expect(page.get_by_text("Team gateway is connected")).to_be_visible()
        tab, picker = Tab(page), page.get_by_role("combobox", name="Model")
        expect(picker.locator("option")).to_have_text(["Thorough", "swift"])
        expect(picker.locator("option:checked")).to_have_text("Thorough")
        last = picker.locator("option").last.get_attribute("value")
        page.goto(f"{server.url}/?{urlencode({'model': last})}")
        expect(picker).to_have_value(last or "")
        page.go_back()
        tab.until_connected()
        gateway.forget()
        tab.message.fill("Is anybody there?")
        tab.page.get_by_role("button", name="Send").click()
        tab.expect_ending("complete")
        assert gateway.chat_requests[0].body["model"] == "<b>slow</b>"
        tab.page.close()
