"""Renaming and deleting a conversation, as all open tabs show it."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Desk, Tab
from tests.browser.test_moving_on import HeldFrames
from tests.support.fake_upstream import FakeUpstream, Stall, delta, role

POST = """async ([path, fields]) => {
  const csrfmiddlewaretoken = document.querySelector("[name=csrfmiddlewaretoken]").value;
  const body = new URLSearchParams({ csrfmiddlewaretoken, ...fields });
  return (await fetch(path, { method: "POST", body, headers: { "HX-Request": "true" } })).status;
}"""


@pytest.fixture
def sky(tab: Tab, upstream: FakeUpstream) -> str:
    """The path of a conversation that the tab shows."""
    tab.ask("Why is the sky blue?")
    tab.expect_ending("complete")
    return "/c/" + read_path(tab)


def post(page: Page, path: str, **fields: str) -> None:
    assert page.evaluate(POST, [path, fields]) == 200


def trash(page: Page, path: str) -> None:
    pk = path.split("/")[2]
    post(page, "/conversations/change/", action="trash", ids=pk)


@pytest.mark.thorough
def test_a_new_title_appears_everywhere_at_once(desk: Desk, tab: Tab, sky: str) -> None:
    beside, same = desk.open(), desk.open(sky)
    title = "<b>Skies</b>, 'quoted' & more"
    post(beside.page, f"{sky}rename/", title=title)
    for each_tab in (tab, same):
        expect(each_tab.page.locator("#title")).to_have_text(title)
        expect(each_tab.page).to_have_title(f"{title} · chatapp")
    for each_tab in (tab, same, beside):
        expect(each_tab.sidebar.get_by_role("link", name=title)).to_be_visible()
    expect(beside.page.locator("#title")).to_have_text("New chat")


def read_path(tab: Tab) -> str:
    """Return the end of the address of the conversation shown."""
    return tab.page.url.partition("/c/")[2]


def test_a_deleted_conversation_is_replaced_by_a_new_chat_in_every_tab(
    desk: Desk, tab: Tab, sky: str, upstream: FakeUpstream
) -> None:
    beside, same = desk.open(), desk.open(sky)
    beside.message.fill("typed for a new chat")
    same.message.fill("typed for the sky")
    trash(tab.page, sky)
    for each_tab in (tab, same):
        expect(each_tab.page.locator("#title")).to_have_text("New chat")
        expect(each_tab.page.locator("#messages > *")).to_have_count(0)
        expect(
            each_tab.page.get_by_role("heading", name="What would you like to know?")
        ).to_be_visible()
        expect(each_tab.problem).to_contain_text("was deleted")
        expect(each_tab.page).to_have_url(f"{desk.url}/")
        expect(each_tab.page).to_have_title("New chat · chatapp")
    for each_tab in (tab, same, beside):
        expect(each_tab.sidebar.get_by_role("link")).to_have_count(0)
    expect(same.message).to_have_value("typed for the sky")
    expect(beside.message).to_have_value("typed for a new chat")
    expect(beside.problem).to_be_hidden()
    same.message.press("Enter")
    same.expect_ending("complete")
    expect(same.page).not_to_have_url(desk.url + sky)
    same.reload()
    expect(same.page.locator(".prompt")).to_have_count(1)


@pytest.mark.thorough
def test_deleting_a_streaming_conversation_closes_the_upstream_request(
    desk: Desk, tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("Half a reply"), Stall())
    tab.ask("Why?")
    expect(tab.answer).to_have_text("Half a reply")
    request = upstream.chat_requests[0]
    beside = desk.open()
    trash(beside.page, f"/c/{read_path(tab)}")
    assert request.wait_for_close().was_streaming
    expect(tab.page.locator("#messages > *")).to_have_count(0)
    expect(tab.stop).to_be_hidden()


@pytest.mark.thorough
def test_a_tab_that_has_moved_on_keeps_what_it_shows(
    held_frames: HeldFrames, tab: Tab, sky: str
) -> None:
    frames: list[str | bytes] = []
    held_frames.frames = frames
    trash(tab.page, sky)
    while not any("data-gone" in str(frame) for frame in frames):
        tab.page.wait_for_timeout(20)
    tab.page.get_by_role("link", name="New chat").click()
    expect(tab.page.locator("article")).to_have_count(0)
    tab.message.fill("Something else")
    held_frames.let_go()
    expect(tab.sidebar.get_by_role("link")).to_have_count(0)
    expect(tab.message).to_have_value("Something else")
    expect(tab.problem).to_be_hidden()


@pytest.fixture
def held_frames(desk: Desk) -> HeldFrames:
    return HeldFrames(desk)
