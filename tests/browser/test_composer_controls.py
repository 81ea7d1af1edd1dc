"""Web search and the reasoning effort at the message box, for the models that have them."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import LARGE, Desk, SitDown, Tab
from tests.browser.test_accessible import expect_accessible
from tests.browser.test_chat_settings import open_panel, script, wait_for_body
from tests.browser.test_several import add, expect_endings
from tests.support.fake_upstream import FakeUpstream, Pause, delta, done, finish, role
from tests.support.live import Person, Server

FIXED, PLAIN = "delta", "gamma"
SET = f"""
from chatapp.models import Upstream
Upstream.objects.filter(from_environment=True).update(model_parameters={{
    {LARGE!r}: {{
        "reasoning_effort": {{"allowed": ["low", "high", "xhigh"]}},
        "web_search": {{"offered": True}},
    }},
    {FIXED!r}: {{"reasoning_effort": {{"fixed": "low"}}, "web_search": {{"fixed": True}}}},
}})
"""
UNSET = """
from chatapp.models import Upstream
Upstream.objects.update(model_parameters=None)
"""


@pytest.fixture
def desk_there(sit_down: SitDown, alice: Person, offering: Server) -> Iterator[Desk]:
    """Alice's browser, where one model has both and another has them fixed."""
    offering.run(SET)
    yield sit_down(alice, url=offering.url)
    offering.run(UNSET)


def search(tab: Tab) -> Locator:
    return tab.page.get_by_role("button", name="Web search")


def effort(tab: Tab) -> Locator:
    return tab.page.locator("#controls").get_by_label("Reasoning effort")


def choose_model(tab: Tab, name: str) -> None:
    tab.page.locator("#model").select_option(label=name)


def test_a_new_chat_keeps_what_is_chosen_and_every_tab_follows(
    desk_there: Desk, gateway: FakeUpstream
) -> None:
    tab = desk_there.open()
    choose_model(tab, LARGE)
    expect(search(tab)).to_have_attribute("aria-pressed", "false")
    search(tab).click()
    effort(tab).select_option("High effort")
    expect_accessible(tab.page)
    choose_model(tab, PLAIN)
    expect(search(tab)).to_be_hidden()
    expect(effort(tab)).to_be_hidden()
    choose_model(tab, LARGE)
    tab.reload()
    expect(search(tab)).to_have_attribute("aria-pressed", "true")
    expect(effort(tab)).to_have_value("high")

    pause = Pause()
    gateway.script(role(), delta("So"), pause, delta(" it is.\n" * 9), finish(), done())
    place = tab.page.locator("#controls").bounding_box()
    tab.ask("Why?")
    expect(tab.answer).to_contain_text("So")
    while_streaming = tab.page.locator("#controls").bounding_box()
    pause.release()
    tab.expect_ending("complete")
    assert tab.page.locator("#controls").bounding_box() == while_streaming
    assert place
    assert while_streaming
    assert place["height"] == while_streaming["height"]
    body = wait_for_body(gateway)
    assert (body["reasoning_effort"], body["web_search_options"]) == ("high", {})

    beside = desk_there.open(tab.page.url.removeprefix(desk_there.url))
    panel = open_panel(beside)
    expect(search(beside)).to_have_attribute("aria-pressed", "true")
    search(tab).click()
    for each_tab in (tab, beside):
        expect(search(each_tab)).to_have_attribute("aria-pressed", "false")
    expect(panel.get_by_label("Web search")).to_have_value("")
    panel.get_by_label("System prompt").fill("Rhyme.")
    effort(tab).select_option("Default effort")
    expect(panel.get_by_label("Reasoning effort")).to_have_value("")
    expect(panel.get_by_label("System prompt")).to_have_value("Rhyme.")
    panel.get_by_label("Web search").select_option("On")
    expect(search(tab)).to_have_attribute("aria-pressed", "true")
    expect(panel.get_by_role("status")).to_have_text("Saved")
    script(gateway)
    tab.ask("And?")
    tab.expect_ending("complete")
    body = gateway.chat_requests[-1].body
    assert body["messages"][0]["content"] == "Rhyme."
    assert "reasoning_effort" not in body
    assert body["web_search_options"] == {}


def test_one_model_has_its_own_and_the_controls_are_for_all(
    desk_there: Desk, gateway: FakeUpstream
) -> None:
    tab = desk_there.open()
    choose_model(tab, LARGE)
    add(tab, PLAIN)
    panel = open_panel(tab)
    whose = panel.get_by_label("Settings for")
    whose.select_option(PLAIN)
    expect(panel).to_contain_text("change here is the same as for all models")
    panel.get_by_label("Reasoning effort").select_option("low")
    expect(effort(tab)).to_have_value("")
    effort(tab).select_option("High effort")  # the panel shows all models, and follows
    expect(panel).not_to_contain_text("change here is the same as for all models")
    expect(panel.get_by_label("Reasoning effort")).to_have_value("high")
    expect(effort(tab)).to_have_value("high")
    whose.select_option(label=f"{PLAIN} (own settings)")
    expect(panel.get_by_label("Reasoning effort")).to_have_value("low")
    panel.get_by_label("Temperature").fill("0.9")

    tab.reload()
    expect(panel).to_be_visible()
    expect(whose.locator("option")).to_have_text(["All models", LARGE, f"{PLAIN} (own settings)"])
    expect(panel.get_by_label("Reasoning effort")).to_have_value("high")
    expect(effort(tab)).to_have_value("high")
    add(tab, PLAIN)
    for _ in range(2):
        script(gateway)
    tab.message.fill("Why?")
    tab.send.click()
    expect_endings(tab, "complete", "complete")
    bodies = {request.body["model"]: request.body for request in gateway.chat_requests}
    efforts = {name: body["reasoning_effort"] for name, body in bodies.items()}
    assert efforts == {LARGE: "high", PLAIN: "low"}
    assert bodies[PLAIN]["temperature"] == 0.9

    whose.select_option(label=LARGE)
    expect(panel).to_contain_text("change here is the same as for all models")
    panel.get_by_label("Reasoning effort").select_option("xhigh")
    expect(panel.get_by_role("status")).to_have_text("Saved")
    expect(effort(tab)).to_be_disabled()
    expect(effort(tab)).to_have_value("xhigh")
    expect_accessible(tab.page)


def test_what_an_administrator_fixed_is_shown_and_cannot_be_changed(
    desk_there: Desk,
) -> None:
    tab = desk_there.open()
    choose_model(tab, FIXED)
    expect(search(tab)).to_be_disabled()
    expect(search(tab)).to_have_attribute("aria-pressed", "true")
    expect(effort(tab)).to_be_disabled()
    expect(effort(tab).locator("option")).to_have_text(["Low effort"])
    expect_accessible(tab.page)


def test_the_controls_are_used_by_keyboard_on_a_phone(
    desk_there: Desk, sit_down: SitDown, gateway: FakeUpstream
) -> None:
    phone = {"width": 390, "height": 800}
    tab = sit_down(desk_there.person, url=desk_there.url, phone=phone).open()
    choose_model(tab, LARGE)
    tab.message.fill("Why?")
    tab.message.focus()
    tab.page.keyboard.press("Tab")
    expect(tab.send).to_be_focused()
    tab.page.keyboard.press("Tab")
    expect(search(tab)).to_be_focused()
    tab.page.keyboard.press("Space")
    expect(search(tab)).to_have_attribute("aria-pressed", "true")
    tab.page.keyboard.press("Tab")
    expect(effort(tab)).to_be_focused()
    tab.page.keyboard.press("End")
    expect(effort(tab)).to_have_value("xhigh")
    expect_accessible(tab.page)
    assert tab.page.evaluate("document.documentElement.scrollWidth") == 390
    script(gateway)
    tab.send.click()
    tab.expect_ending("complete")
    assert wait_for_body(gateway)["reasoning_effort"] == "xhigh"
