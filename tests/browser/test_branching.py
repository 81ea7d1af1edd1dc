"""Actions of a person on a message: editing, retrying, forking, deleting and restoring; by mouse,
keyboard and touch."""

import re

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.support.fake_upstream import FakeUpstream, Stall, delta, done, finish, role
from tests.support.live import Person, Site


@pytest.fixture
def talk(tab: Tab, upstream: FakeUpstream) -> Tab:
    """A tab with two prompts and their replies."""
    for text in ("Why is the sky blue?", "And at night?"):
        upstream.script(role(), delta(f"To: {text}"), finish(), done())
        tab.ask(text)
        expect(tab.answer).to_have_text(f"To: {text}")
        tab.expect_ending("complete")
    return tab


def prompts(tab: Tab) -> Locator:
    return tab.page.locator("#messages > .prompt")


def button(tab: Tab, name: str, number: int = -1) -> Locator:
    return tab.page.get_by_role("button", name=name, exact=True).nth(number)


def choose(tab: Tab, message: Locator, item: str) -> None:
    message.hover()
    message.get_by_role("button", name=re.compile("^More actions for this")).click()
    tab.page.get_by_role("menuitem", name=item).click()


def expect_prompts(tab: Tab, *texts: str) -> None:
    expect(tab.page.locator("#messages > .prompt .typed")).to_have_text(list(texts))


# Editing


def editor(tab: Tab) -> Locator:
    return tab.page.get_by_role("textbox", name="Edit prompt")


def test_an_edited_prompt_becomes_a_second_version(talk: Tab) -> None:
    talk.message.fill("A draft")
    prompts(talk).first.hover()
    button(talk, "Edit prompt", 0).click()
    expect(prompts(talk).first.get_by_role("textbox")).to_have_value("Why is the sky blue?")
    expect(editor(talk)).to_be_focused()
    expect(prompts(talk).first.locator(".bubble")).to_be_hidden()
    editor(talk).fill("Why is it dark?")
    editor(talk).press("Enter")
    talk.expect_ending("complete")
    expect_prompts(talk, "Why is it dark?")
    expect(talk.message).to_have_value("A draft")
    expect(editor(talk)).to_have_count(0)
    expect(prompts(talk).first).to_contain_text("2 / 2")
    expect_to_be_seen_without_hovering(talk, prompts(talk).first.locator(".siblings"))
    button(talk, "Previous version").click()
    expect_prompts(talk, "Why is the sky blue?", "And at night?")
    talk.reload()
    expect_prompts(talk, "Why is the sky blue?", "And at night?")
    expect(prompts(talk).first).to_contain_text("1 / 2")
    expect_to_be_seen_without_hovering(talk, prompts(talk).first.locator(".siblings"))


def expect_to_be_seen_without_hovering(tab: Tab, element: Locator) -> None:
    tab.page.mouse.move(0, 0)
    tab.message.focus()
    expect(element).to_be_visible()
    for target in (element, element.locator("..")):
        expect(target).to_have_css("opacity", "1")
    expect(tab.page.locator(".prompt [data-edit]").first).to_have_css("opacity", "0")


@pytest.mark.thorough
def test_the_last_prompt_is_edited_by_keyboard(talk: Tab) -> None:
    talk.message.press("ArrowUp")
    expect(editor(talk)).to_be_focused()
    editor(talk).press("ArrowUp")  # moves within the text from now on
    expect(editor(talk)).to_have_value("And at night?")
    editor(talk).fill("And by day?")
    talk.page.keyboard.press("Tab")
    expect(button(talk, "Cancel")).to_be_focused()
    talk.page.keyboard.press("Tab")
    talk.page.keyboard.press("Enter")
    expect_prompts(talk, "Why is the sky blue?", "And by day?")
    expect(talk.message).to_have_value("")


@pytest.mark.thorough
def test_escape_cancels_an_edit_and_stops_no_reply(talk: Tab, upstream: FakeUpstream) -> None:
    upstream.script(role(), delta("Half"), Stall())
    talk.ask("And then?")
    expect(talk.answer).to_have_text("Half")
    talk.message.fill("A draft")
    button(talk, "Edit prompt", 1).click()
    expect(editor(talk)).to_have_value("And at night?")
    editor(talk).press("Enter")
    expect(talk.problem).to_contain_text("still being written")
    editor(talk).press("Escape")
    expect(editor(talk)).to_have_count(0)
    expect(button(talk, "Edit prompt", 1)).to_be_focused()
    expect(talk.message).to_have_value("A draft")
    talk.expect_ending("streaming")
    talk.message.press("Escape")
    talk.expect_ending("stopped")


@pytest.mark.thorough
def test_a_reload_loses_neither_an_edit_nor_the_draft(talk: Tab) -> None:
    talk.page.wait_for_url("**/c/**")
    talk.message.fill("A draft")
    button(talk, "Edit prompt").click()
    expect(editor(talk)).to_have_value("And at night?")
    editor(talk).fill("And by da")
    talk.reload()
    expect(editor(talk)).to_have_value("And by da")
    expect(talk.message).to_have_value("A draft")
    editor(talk).press("Escape")
    expect(editor(talk)).to_have_count(0)
    talk.reload()
    expect(talk.message).to_have_value("A draft")
    expect(editor(talk)).to_have_count(0)


@pytest.mark.thorough
def test_an_edit_survives_a_redraw_of_the_thread(talk: Tab, desk: Desk) -> None:
    beside = desk.open(talk.page.url.removeprefix(desk.url))
    button(talk, "Edit prompt", 0).click()
    expect(editor(talk)).to_be_focused()
    editor(talk).fill("Why is the sea blue?")
    choose(beside, prompts(beside).last, "Delete")
    expect(prompts(talk)).to_have_count(1)
    expect(editor(talk)).to_have_value("Why is the sea blue?")
    expect(editor(talk)).to_be_focused()


@pytest.mark.thorough
def test_the_edit_of_a_deleted_prompt_goes_to_the_message_box(talk: Tab, desk: Desk) -> None:
    beside = desk.open(talk.page.url.removeprefix(desk.url))
    talk.message.press("ArrowUp")
    editor(talk).fill("And by day?")
    choose(beside, prompts(beside).last, "Delete")
    expect(prompts(talk)).to_have_count(1)
    expect(editor(talk)).to_have_count(0)
    expect(talk.message).to_have_value("And by day?")


@pytest.mark.thorough
def test_a_refused_edit_remains_an_edit(site: Site, sit_down: SitDown) -> None:
    with FakeUpstream() as upstream:
        upstream.models = ["alpha", "beta"]
        with site.server(OPENAI_BASE_URL=upstream.base_url, OPENAI_API_KEY="sk") as server:
            tab = sit_down(site.person(), url=server.url).open()
            tab.ask("Why?")
            tab.expect_ending("complete")
            tab.page.locator("#model option").first.evaluate("one => { one.value = '999/none'; }")
            button(tab, "Edit prompt").click()
            editor(tab).fill("Why not?")
            editor(tab).press("Enter")
            expect(tab.problem).to_contain_text("no longer available")
            expect(editor(tab)).to_have_value("Why not?")
            expect(tab.message).to_have_value("")
            button(tab, "Cancel").click()
            expect_prompts(tab, "Why?")


# Retrying


@pytest.mark.thorough
def test_another_models_reply_is_a_second_version(site: Site, sit_down: SitDown) -> None:
    with FakeUpstream() as upstream:
        upstream.models = ["alpha", "beta"]
        with site.server(OPENAI_BASE_URL=upstream.base_url, OPENAI_API_KEY="sk") as server:
            tab = sit_down(site.person(), url=server.url).open()
            tab.ask("Why?")
            tab.expect_ending("complete")
            choose(tab, tab.reply, "Retry with…")
            sheet = tab.page.get_by_role("dialog", name="Choose a model")
            expect(sheet.get_by_role("option", selected=True)).to_have_text("alpha")
            sheet.get_by_role("option", name="beta").click()
            expect(tab.reply).to_contain_text("2 / 2")
            tab.expect_ending("complete")
            models = [request.body["model"] for request in upstream.chat_requests]
            assert models == ["alpha", "beta"]
            expect(tab.page.get_by_role("combobox", name="Model")).to_have_value(
                re.compile("alpha")
            )
            tab.page.close()


@pytest.mark.thorough
def test_who_chooses_no_other_model_is_back_at_the_reply(talk: Tab) -> None:
    more = talk.reply.get_by_role("button", name="More actions for this reply")
    more.focus()
    talk.page.keyboard.press("Enter")
    expect(talk.page.get_by_role("menuitem", name="Retry with…")).to_be_focused()
    talk.page.keyboard.press("Enter")
    expect(talk.page.get_by_role("dialog", name="Choose a model")).to_be_visible()
    talk.page.keyboard.press("Escape")
    expect(more).to_be_focused()
    expect(talk.reply).not_to_contain_text("2 / 2")


# Forks


def test_a_fork_opens_and_back_returns_to_its_origin(talk: Tab) -> None:
    talk.page.wait_for_url("**/c/**")
    here = talk.page.url
    choose(talk, talk.page.locator("article").first, "Fork from here")
    expect(talk.page.locator("#title")).to_have_text("Why is the sky blue? (fork)")
    expect_prompts(talk, "Why is the sky blue?")
    expect(talk.sidebar.get_by_role("link", name="(fork)")).to_be_visible()
    assert talk.page.url != here
    talk.ask("And elsewhere?")
    talk.expect_ending("complete")
    expect_prompts(talk, "Why is the sky blue?", "And elsewhere?")
    talk.page.go_back()
    expect_prompts(talk, "Why is the sky blue?", "And at night?")


SETTLED = """document.getElementById("composer-state").dispatchEvent(
  new CustomEvent("htmx:after:settle", { bubbles: true, detail: { newContent: [] } })
)"""


@pytest.mark.thorough
def test_a_swap_while_back_awaits_its_page_keeps_the_address(talk: Tab) -> None:
    """As happens when a short reply ends on a slow machine."""
    page = talk.page
    page.wait_for_url("**/c/**")
    here = page.url
    choose(talk, page.locator("article").first, "Fork from here")
    expect_prompts(talk, "Why is the sky blue?")
    routes: list[Route] = []
    page.route(here, lambda route: routes.append(route))
    with page.expect_request(here):
        page.evaluate("history.back()")
    page.evaluate(SETTLED)
    assert page.url == here
    routes[0].continue_()
    expect_prompts(talk, "Why is the sky blue?", "And at night?")


# Deleting


def test_a_deletion_is_undone_by_keyboard(talk: Tab, desk: Desk) -> None:
    beside = desk.open(talk.page.url.removeprefix(desk.url))
    prompts(talk).first.get_by_role("button", name="More actions for this prompt").focus()
    talk.page.keyboard.press("Enter")
    expect(talk.page.get_by_role("menuitem", name="Copy as Markdown")).to_be_focused()
    talk.page.keyboard.press("End")
    expect(talk.page.get_by_role("menuitem", name="Delete")).to_be_focused()
    talk.page.keyboard.press("Enter")
    for each_tab in (talk, beside):
        expect_prompts(each_tab)
    undo = talk.page.get_by_role("status").filter(has_text="4 messages deleted.")
    expect(undo.get_by_role("button", name="Undo")).to_be_focused()
    expect(beside.page.get_by_role("button", name="Undo")).to_have_count(0)
    talk.page.keyboard.press("Enter")
    for each_tab in (talk, beside):
        expect_prompts(each_tab, "Why is the sky blue?", "And at night?")
    expect(undo).to_have_count(0)
    expect(talk.message).to_be_focused()


@pytest.mark.thorough
def test_a_reply_is_deleted_alone_and_its_prompt_answered_again(talk: Tab) -> None:
    choose(talk, talk.reply, "Delete")
    expect(talk.page.get_by_text("Reply deleted.")).to_be_visible()
    expect(talk.page.locator("article")).to_have_count(1)
    button(talk, "Answer this prompt").click()
    expect(talk.page.locator("article")).to_have_count(2)
    talk.expect_ending("complete")
    # gone after the next action
    expect(talk.page.get_by_role("button", name="Undo")).to_have_count(0)


@pytest.mark.thorough
def test_an_emptied_conversation_can_be_continued(talk: Tab) -> None:
    talk.page.wait_for_url("**/c/**")
    here = talk.page.url
    choose(talk, prompts(talk).first, "Delete")
    expect_prompts(talk)
    talk.reload()
    expect(talk.page.locator("#title")).to_have_text("Why is the sky blue?")
    talk.ask("Once more")
    talk.expect_ending("complete")
    expect_prompts(talk, "Once more")
    assert talk.page.url == here


@pytest.mark.thorough
def test_a_message_is_edited_and_deleted_on_a_phone(sit_down: SitDown, alice: Person) -> None:
    tab = sit_down(alice, phone={"width": 390, "height": 844}).open()
    tab.message.fill("Why?")
    tab.send.tap()
    tab.expect_ending("complete")
    button(tab, "Edit prompt").tap()
    expect(editor(tab)).to_have_value("Why?")
    editor(tab).fill("Why not?")
    button(tab, "Save").tap()
    expect_prompts(tab, "Why not?")
    tab.expect_ending("complete")
    for name in (
        "Edit prompt",
        "Previous version",
        "More actions for this prompt",
        "More actions for this reply",
    ):
        box = button(tab, name).bounding_box()
        assert box
        assert min(box["width"], box["height"]) >= 40
        assert box["x"] + box["width"] <= 390
    button(tab, "More actions for this reply").tap()
    tab.page.get_by_role("menuitem", name="Delete").tap()
    tab.page.get_by_role("button", name="Undo").tap()
    expect(tab.page.locator("article")).to_have_count(1)
