"""The panel of a chat's settings: before the first prompt, beside the thread, and on a phone."""

import re
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.browser.test_accessible import expect_accessible
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, role
from tests.support.live import Person, Server

MAKE = """
from chatapp.models import Preset, User
owner = User.objects.get(username={owner!r})
Preset.start(owner, name={name!r}, system_prompt="Rhyme.")
"""


def script(upstream: FakeUpstream, text: str = "So.") -> None:
    upstream.script(role(), delta(text), finish(), done())


def wait_for_body(upstream: FakeUpstream) -> Any:
    return upstream.wait_for_request().body


def test_settings_hold_from_the_first_prompt_and_can_be_changed(
    desk: Desk, upstream: FakeUpstream
) -> None:
    tab = desk.open()
    panel = open_panel(tab)
    panel.get_by_label("System prompt").fill("Answer in rhymes.")
    panel.get_by_label("Temperature").fill("0.3")
    script(upstream)
    tab.ask("Why?")
    tab.expect_ending("complete")
    body = wait_for_body(upstream)
    assert body["messages"][0] == {"role": "system", "content": "Answer in rhymes."}
    assert body["temperature"] == 0.3
    expect(panel).to_contain_text("Changes are saved as you make them")
    panel.get_by_label("Temperature").fill("9")
    tab.ask("And?")
    expect(panel.get_by_role("alert")).to_have_text("Temperature must be a number from 0 to 2.")
    expect(
        tab.page.get_by_text("Nothing was sent, because the chat settings aren't saved.")
    ).to_be_visible()
    expect(tab.message).to_have_value("And?")
    expect_accessible(tab.page)
    panel.get_by_label("Temperature").fill("1")
    panel.get_by_label("System prompt").fill("Answer plainly.")
    script(upstream)
    tab.ask("And?")
    tab.expect_ending("complete")
    expect(panel.get_by_role("status")).to_have_text("Saved")
    assert wait_for_body(upstream)["messages"][0]["content"] == "Answer plainly."
    tab.reply.get_by_label("About this reply").click()
    tab.reply.get_by_role("button", name="Show request").click()
    dialog = tab.page.get_by_role("dialog", name="Request")
    expect(dialog).to_contain_text('"temperature": 1')
    expect(dialog).to_contain_text("Answer plainly.")
    expect_accessible(tab.page)


def test_the_panel_is_used_by_keyboard_on_a_phone(sit_down: SitDown, alice: Person) -> None:
    desk = sit_down(alice, phone={"width": 390, "height": 800})
    tab = desk.open()
    opener = tab.page.get_by_role("button", name="Chat settings")
    opener.focus()
    tab.page.keyboard.press("Enter")
    panel = tab.page.get_by_role("complementary", name="Chat settings")
    expect(panel).to_be_focused()
    expect_accessible(tab.page)
    tab.page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(opener).to_be_focused()
    expect(opener).to_have_attribute("aria-expanded", "false")


def test_a_panel_that_is_closed_while_its_styles_load_stays_closed(desk: Desk) -> None:
    styles: list[Route] = []
    desk.context.route(re.compile("/chat/settings.*css"), lambda route: styles.append(route))
    tab = desk.open()
    opener = tab.page.get_by_role("button", name="Chat settings")
    with tab.page.expect_request(re.compile("/chat/settings.*css")):
        opener.click()
    panel = tab.page.get_by_role("complementary", name="Chat settings")
    panel.get_by_label("Temperature").press("Escape")
    expect(panel).to_be_hidden()
    styles[0].continue_()
    tab.page.wait_for_function("() => document.querySelector('#chat-settings link').sheet")
    opener.click()
    expect(panel).to_be_focused()


def test_what_is_typed_while_the_styles_of_the_panel_load_is_kept(
    desk: Desk, upstream: FakeUpstream
) -> None:
    styles: list[Route] = []
    desk.context.route(re.compile("/chat/settings.*css"), lambda route: styles.append(route))
    tab = desk.open()
    with tab.page.expect_request(re.compile("/chat/settings.*css")):
        field = open_panel(tab).get_by_label("System prompt")
    field.fill("Answer in rhymes.")
    styles[0].continue_()
    expect(tab.page.locator("#settings-opener")).to_have_attribute("aria-expanded", "true")
    expect(field).to_be_focused()
    script(upstream)
    tab.ask("Why?")
    tab.expect_ending("complete")
    assert wait_for_body(upstream)["messages"][0]["content"] == "Answer in rhymes."


def test_what_is_typed_over_a_draft_while_the_styles_load_is_kept(
    desk: Desk, upstream: FakeUpstream
) -> None:
    tab = desk.open()
    panel = open_panel(tab)
    panel.get_by_label("System prompt").fill("Answer in rhymes.")
    panel.get_by_label("Temperature").fill("0.3")
    tab.message.fill("Why?")
    styles: list[Route] = []
    desk.context.route(re.compile("/chat/settings.*css"), lambda route: styles.append(route))
    tab.reload()
    with tab.page.expect_request(re.compile("/chat/settings.*css")):
        panel = open_panel(tab)
    field = panel.get_by_label("System prompt")
    expect(field).to_have_value("Answer in rhymes.")
    field.press("End")
    field.press_sequentially(" Briefly.")
    styles[0].continue_()
    expect(tab.page.locator("#settings-opener")).to_have_attribute("aria-expanded", "true")
    expect(field).to_be_focused()
    expect(field).to_have_value("Answer in rhymes. Briefly.")
    expect(panel.get_by_label("Temperature")).to_have_value("0.3")
    expect(tab.message).to_have_value("Why?")
    script(upstream)
    tab.message.press("Enter")
    tab.expect_ending("complete")
    body = wait_for_body(upstream)
    assert body["messages"][0]["content"] == "Answer in rhymes. Briefly."
    assert body["temperature"] == 0.3


def test_another_preset_is_shown_at_once_in_every_tab(
    desk: Desk, server: Server, alice: Person, upstream: FakeUpstream
) -> None:
    server.run(MAKE.format(owner=alice.username, name="Poet"))
    tab = desk.open()
    script(upstream)
    tab.ask("Why?")
    tab.expect_ending("complete")
    beside = desk.open(tab.page.url.removeprefix(desk.url))
    panel = open_panel(tab)
    panel.get_by_label("Preset").select_option("Poet")
    expect(panel.get_by_label("System prompt")).to_have_value("Rhyme.")
    for each_tab in (tab, beside):
        expect(each_tab.page.get_by_title("This chat's preset")).to_have_text("Poet")
    expect_accessible(tab.page)
    panel.get_by_label("Preset").select_option("None")
    expect(panel.get_by_label("System prompt")).to_have_value("")
    for each_tab in (tab, beside):
        expect(each_tab.page.get_by_title("This chat's preset")).to_be_hidden()


def test_settings_of_a_new_chat_survive_a_reload(
    desk: Desk, server: Server, alice: Person, upstream: FakeUpstream
) -> None:
    server.run(MAKE.format(owner=alice.username, name="Sonneteer"))
    tab = desk.open()
    panel = open_panel(tab)
    panel.get_by_label("System prompt").fill("Answer in rhymes.")
    panel.get_by_label("Temperature").fill("0.3")
    panel.get_by_text("More parameters").click()
    panel.get_by_label("Log probabilities").select_option("On")
    tab.reload()
    panel = open_panel(tab)
    expect(panel.get_by_label("System prompt")).to_have_value("Answer in rhymes.")
    expect(panel.get_by_label("Temperature")).to_have_value("0.3")
    panel.get_by_label("Preset").select_option("Sonneteer")  # has its own
    expect(tab.page.get_by_title("This chat's preset")).to_have_text("Sonneteer")
    expect(open_panel(tab).get_by_label("System prompt")).to_have_value("Rhyme.")
    tab.page.go_back()
    expect(tab.page.get_by_title("This chat's preset")).to_be_hidden()
    tab.reload()
    script(upstream)
    tab.ask("Why?")
    tab.expect_ending("complete")
    body = wait_for_body(upstream)
    assert body["messages"][0] == {"role": "system", "content": "Answer in rhymes."}
    assert (body["temperature"], body["logprobs"]) == (0.3, True)
    fresh = desk.open()
    expect(open_panel(fresh).get_by_label("System prompt")).to_have_value("")


def test_what_is_typed_while_the_panel_is_drawn_again_is_kept(
    tab: Tab, upstream: FakeUpstream
) -> None:
    """The server draws it again when the list of models arrives."""
    panel = open_panel(tab)
    routes: list[Route] = []
    tab.page.route("**/chat-settings/*", lambda route: routes.append(route))
    panel.get_by_label("System prompt").fill("Answer in rhymes.")
    with tab.page.expect_request("**/chat-settings/*"):
        tab.page.evaluate("document.dispatchEvent(new Event('chat:models'))")
    panel.get_by_label("Temperature").fill("0.3")
    drawn = panel.element_handle()
    routes[0].continue_()
    tab.page.wait_for_function("(panel) => !panel.isConnected", arg=drawn)
    expect(panel.get_by_label("Temperature")).to_have_value("0.3")
    script(upstream)
    tab.ask("Why?")
    tab.expect_ending("complete")
    body = wait_for_body(upstream)
    assert body["messages"][0]["content"] == "Answer in rhymes."
    assert body["temperature"] == 0.3


def test_what_is_typed_while_the_settings_are_saved_is_saved_too(
    desk: Desk, upstream: FakeUpstream
) -> None:
    tab = start_chat(desk, upstream)
    panel = open_panel(tab)
    routes: list[Route] = []
    tab.page.route("**/settings/", lambda route: routes.append(route), times=1)
    prompt = panel.get_by_label("System prompt")
    prompt.click()
    with tab.page.expect_request("**/settings/"):
        tab.page.keyboard.type("Answer")
    tab.page.keyboard.type(" in rhymes")
    panel.get_by_label("Temperature").fill("0.3")
    routes[0].continue_()
    expect(panel.get_by_role("status")).to_have_text("Saved")
    expect(prompt).to_have_value("Answer in rhymes")
    script(upstream)
    tab.ask("And?")
    tab.expect_ending("complete")
    body = wait_for_body(upstream)
    assert body["messages"][0]["content"] == "Answer in rhymes"
    assert body["temperature"] == 0.3


@pytest.mark.thorough
def test_no_prompt_waits_for_a_panel_that_is_gone(desk: Desk, upstream: FakeUpstream) -> None:
    tab = start_chat(desk, upstream)
    panel = open_panel(tab)
    routes: list[Route] = []
    tab.page.route("**/settings/", lambda route: routes.append(route))
    with tab.page.expect_request("**/settings/"):
        panel.get_by_label("Temperature").fill("0.7")
        panel.get_by_label("Temperature").press("Tab")
    tab.page.get_by_role("link", name="New chat").first.click()
    expect(tab.page.locator("#title")).to_have_text("New chat")
    routes[0].continue_()
    script(upstream)
    tab.ask("And?")
    tab.expect_ending("complete")
    assert "temperature" not in wait_for_body(upstream)


def start_chat(desk: Desk, upstream: FakeUpstream) -> Tab:
    tab = desk.open()
    script(upstream)
    tab.ask("Why?")
    tab.expect_ending("complete")
    wait_for_body(upstream)
    return tab


def open_panel(tab: Tab) -> Any:
    tab.page.get_by_role("button", name="Chat settings").click()
    panel = tab.page.get_by_role("complementary", name="Chat settings")
    expect(panel).to_be_visible()
    return panel
