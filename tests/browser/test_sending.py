"""Text that a person sent is always either in the thread or in a composer."""

import json
import re

import pytest
from playwright.sync_api import Route, WebSocketRoute, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.support.fake_upstream import FakeUpstream, Pause, delta, done, finish, role
from tests.support.line import Line
from tests.support.live import Person, Site
from tests.support.profile import sample_params

# What Chromium and htmx log about an unreachable server.
NETWORK = r"WebSocket connection to|ERR_|htmx:ws:error|Failed to fetch"
LIMIT = 1000


def send_at_once(*tabs: Tab) -> None:
    """Press Send in each tab before any tab receives another's prompt."""
    at = tabs[0].page.evaluate("Date.now() + 500")
    press = "at => { setTimeout(() => document.querySelector('.send').click(), at - Date.now()); }"
    for tab in tabs:
        tab.page.evaluate(press, at)


@pytest.mark.parametrize("number", sample_params(range(4)))
def test_only_one_of_two_simultaneous_prompts_is_sent_and_the_other_is_returned(
    desk: Desk, tab: Tab, upstream: FakeUpstream, number: int
) -> None:
    tab.ask("The beginning")
    tab.expect_ending("complete")
    other = desk.open(tab.page.url.removeprefix(desk.url))
    tab.ask("A turn that comes to both, by one frame")
    expect(other.page.locator("article")).to_have_count(2)
    for each_tab in (tab, other):
        each_tab.expect_ending("complete")
    tabs = {"One text": tab, "Another text": other}
    pause = Pause()
    upstream.script(role(), pause, delta("Here."), finish(), done())
    for text, each_tab in tabs.items():
        each_tab.message.fill(text)
    send_at_once(tab, other)
    assert pause.reached.wait(10)
    for each_tab in tabs.values():
        expect(each_tab.page.locator(".prompt")).to_have_count(3)
        expect(each_tab.page.locator(".pending")).to_have_count(0)
    taken = tab.page.locator(".prompt .bubble").last.inner_text()
    for text, each_tab in tabs.items():
        expect(each_tab.message).to_have_value("" if text == taken else text)
        if text != taken:
            expect(each_tab.problem).to_contain_text("A reply is still being written here.")
    pause.release()
    tab.expect_ending("complete")


@pytest.mark.thorough
def test_two_new_chats_begun_simultaneously_are_two(
    desk: Desk, tab: Tab, upstream: FakeUpstream
) -> None:
    """A tab that was duplicated, or restored from the cache, has the same page as the first."""
    html = tab.page.content()
    other = Tab(desk.context.new_page())
    other.page.route("**/", lambda route: route.fulfill(body=html, content_type="text/html"))
    other.page.goto(desk.url)
    other.until_connected()
    for text, each_tab in (("One text", tab), ("Another text", other)):
        each_tab.message.fill(text)
    send_at_once(tab, other)
    for text, each_tab in (("One text", tab), ("Another text", other)):
        each_tab.page.wait_for_url("**/c/**")
        each_tab.expect_ending("complete")
        expect(each_tab.page.locator(".prompt")).to_have_text(f"You{text}")
        expect(each_tab.message).to_have_value("")
    assert tab.page.url != other.page.url


def test_a_refused_prompt_is_put_above_what_was_typed_meanwhile(
    sit_down: SitDown, line: Line, alice: Person, upstream: FakeUpstream
) -> None:
    desk = sit_down(alice, line.url)
    desk.expect_error(NETWORK)
    tab = desk.open()
    option = tab.page.locator("#model option").first
    option.evaluate("option => { option.value += '-no-more'; }")
    line.hush()
    tab.ask("What was sent")
    desk.context.set_offline(True)  # sooner than a silent network is noticed
    expect(tab.connection).to_contain_text("Connection lost")
    tab.message.fill("What was typed")
    line.mend()
    desk.context.set_offline(False)
    expect(tab.problem).to_contain_text("no longer available")
    expect(tab.message).to_have_value("What was sent\n\nWhat was typed")
    expect(tab.page.locator(".prompt")).to_have_count(0)
    assert not upstream.chat_requests


def test_a_prompt_that_never_arrived_is_in_its_box_after_a_reload(
    desk: Desk, upstream: FakeUpstream
) -> None:
    is_lost = True

    def pass_on(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        socket.on_message(lambda text: None if is_lost and "prompt" in text else server.send(text))

    desk.context.route_web_socket("**/ws/**", pass_on)
    tab = desk.open()
    tab.ask("Into the void")
    expect(tab.page.locator(".pending")).to_have_count(1)
    tab.reload()
    expect(tab.message).to_have_value("Into the void")
    is_lost = False
    tab.message.press("Enter")
    tab.expect_ending("complete")
    expect(tab.message).to_have_value("")
    assert len(upstream.chat_requests) == 1


def test_a_prompt_sent_again_after_a_lost_answer_is_processed_once(
    tab: Tab, upstream: FakeUpstream
) -> None:
    tab.ask("Only once")
    tab.expect_ending("complete")
    answered = tab.page.url
    sent = tab.page.locator(".prompt").get_attribute("data-message")
    account = tab.page.locator("meta[name=account]").get_attribute("content")
    draft = json.dumps({"text": "", "sent": [sent, "Only once"]})
    tab.page.evaluate(
        "([key, draft]) => localStorage.setItem(key, draft)",
        [f"chatapp:{account}:draft:new", draft],
    )
    tab.page.goto(tab.page.url.partition("/c/")[0])
    expect(tab.message).to_have_value("Only once")
    tab.message.press("Enter")
    tab.page.wait_for_url(answered)
    expect(tab.answer).to_have_text("Packets in flight")
    assert len(upstream.chat_requests) == 1


@pytest.mark.thorough
def test_each_tab_keeps_its_draft_and_a_new_tab_takes_one_left_over(desk: Desk, tab: Tab) -> None:
    other = desk.open()
    tab.message.fill("The one's")
    other.message.fill("The other's")
    tab.reload()
    expect(tab.message).to_have_value("The one's")
    other.reload()
    expect(other.message).to_have_value("The other's")
    other.page.close()
    third = desk.open()
    expect(third.message).to_have_value("The other's")
    third.message.fill("")
    third.reload()
    expect(third.message).to_have_value("")


@pytest.mark.thorough
def test_a_draft_stays_with_its_conversation(tab: Tab, upstream: FakeUpstream) -> None:
    tab.ask("The first one")
    tab.expect_ending("complete")
    tab.message.fill("More of it")
    tab.page.get_by_role("link", name="New chat").click()
    expect(tab.page.locator("article")).to_have_count(0)
    expect(tab.message).to_have_value("")
    tab.message.fill("Something else")
    tab.sidebar.get_by_role("link", name="The first one").click()
    expect(tab.message).to_have_value("More of it")
    tab.page.get_by_role("link", name="New chat").click()
    expect(tab.message).to_have_value("Something else")


@pytest.mark.thorough
@pytest.mark.parametrize("by", ["Enter", "button"])
def test_a_prompt_sent_before_the_modules_have_loaded_is_sent_afterwards(
    desk: Desk, upstream: FakeUpstream, by: str
) -> None:
    upstream.script(role(), delta("Here."), finish(), done())
    tab = Tab(desk.context.new_page())
    on_their_way: list[Route] = []
    tab.page.route(re.compile(r"/js/(?!preload)"), lambda route: on_their_way.append(route))
    tab.page.goto(desk.url, wait_until="commit")
    tab.message.press_sequentially("So soon?")
    if by == "Enter":
        tab.message.press("Enter")
    else:
        tab.send.click()
    expect(tab.message).to_have_value("So soon?")
    for route in on_their_way:
        route.continue_()
    tab.expect_ending("complete")
    expect(tab.page.locator(".prompt .bubble")).to_have_text("So soon?")
    expect(tab.message).to_have_value("")
    assert len(upstream.chat_requests) == 1


@pytest.mark.thorough
def test_text_over_the_limit_is_refused_whole(
    site: Site, sit_down: SitDown, upstream: FakeUpstream
) -> None:
    server = site.server(
        OPENAI_BASE_URL=upstream.base_url,
        OPENAI_API_KEY="sk-very-secret",
        CHATAPP_MAX_PROMPT_CHARACTERS=str(LIMIT),
    )
    with server:
        tab = sit_down(site.person(), server.url).open()
        text = "\U0001f600" * LIMIT + "!"
        tab.message.fill(text)
        tab.message.press("Enter")
        expect(tab.problem).to_contain_text(
            "This message has 1,001 characters; the limit is 1,000."
        )
        expect(tab.problem).to_have_role("alert")
        expect(tab.message).to_have_value(text)
        assert not upstream.chat_requests
        tab.message.press("Backspace")
        tab.message.press("Enter")
        tab.expect_ending("complete")
        [request] = upstream.chat_requests
        assert request.body["messages"][-1]["content"] == text[:-1]
        tab.page.close()  # before its server stops


@pytest.mark.thorough
def test_text_too_long_for_the_browsers_storage_is_refused_whole(tab: Tab) -> None:
    tab.page.evaluate(
        """const box = document.getElementById("message");
        box.value = "A line of a log.\\n".repeat(360_000);
        box.dispatchEvent(new InputEvent("input", { bubbles: true }));
        document.querySelector(".send").click();"""
    )
    expect(tab.problem).to_contain_text("This message has 6,120,000 characters")
    assert tab.page.evaluate("document.getElementById('message').value.length") == 6_120_000
