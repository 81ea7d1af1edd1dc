"""Back and Forward show again what was shown there, as it was left."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Route, WebSocketRoute, expect

from tests.browser.conftest import Desk, Tab
from tests.support.fake_upstream import FakeUpstream, Pause, delta, done, finish, role
from tests.support.profile import sample_params

LONG = [f"Line {number} of a long answer.\n\n" for number in range(80)]


def shows(tab: Tab, title: str) -> None:
    """Check everything that names the chat: thread, heading, window title and sidebar."""
    is_new = title == "New chat"
    expect(tab.page.locator("#title")).to_have_text(title)
    expect(tab.page.locator(".prompt .typed")).to_have_text([] if is_new else [title])
    expect(tab.page).to_have_title(f"{title} · chatapp")
    current = tab.sidebar.locator("[aria-current]")
    expect(current).to_have_count(0 if is_new else 1)
    if is_new:
        assert tab.page.url.rstrip("/").count("/") == 2
    else:
        assert tab.page.url.endswith(current.get_attribute("href") or "?")


def new_chat(tab: Tab) -> None:
    tab.page.get_by_role("link", name="New chat").first.click()
    shows(tab, "New chat")


@pytest.fixture
def two(tab: Tab) -> Tab:
    """A tab with two chats, about the sky and about the sea."""
    tab.ask("The sky")
    tab.expect_ending("complete")
    new_chat(tab)
    tab.ask("The sea")
    tab.expect_ending("complete")
    shows(tab, "The sea")
    return tab


def link(tab: Tab, title: str) -> Locator:
    return tab.sidebar.get_by_role("link", name=title)


def test_back_and_forward_go_through_everything_opened(two: Tab) -> None:
    link(two, "The sky").click()
    shows(two, "The sky")
    new_chat(two)
    two.page.get_by_role("button", name=re.compile("^Account")).click()
    two.page.get_by_role("link", name="Help").click()
    expect(two.page.get_by_role("heading", name="Help", exact=True)).to_be_visible()
    for title in ("New chat", "The sky", "The sea"):
        two.page.go_back()
        shows(two, title)
    for title in ("The sky", "New chat"):
        two.page.go_forward()
        shows(two, title)
    two.page.go_back()
    shows(two, "The sky")
    two.until_connected()
    two.ask("Of the sky")
    expect(two.page.locator("article")).to_have_count(2)
    two.expect_ending("complete")


def scroll_to(tab: Tab, text: str) -> None:
    tab.page.get_by_text(text, exact=True).evaluate("line => line.scrollIntoView()")
    expect(tab.page.get_by_role("button", name="Latest")).to_be_visible()


def measure_top(tab: Tab, text: str) -> float:
    box = tab.page.get_by_text(text, exact=True).bounding_box()
    assert box
    return box["y"]


@pytest.fixture
def reading(tab: Tab, upstream: FakeUpstream) -> Tab:
    """A tab scrolled to the middle of a long reply."""
    tab.ask("The sky")
    tab.expect_ending("complete")
    new_chat(tab)
    upstream.script(role(), *map(delta, LONG), finish(), done())
    tab.ask("The sea")
    tab.expect_ending("complete")
    scroll_to(tab, "Line 30 of a long answer.")
    return tab


def go_away_and_back(tab: Tab) -> None:
    link(tab, "The sky").click()
    shows(tab, "The sky")
    tab.page.go_back()
    shows(tab, "The sea")


def leave_and_come_back(tab: Tab) -> None:
    tab.page.goto(f"{tab.page.url.partition('/c/')[0]}/help/")
    tab.page.go_back()
    tab.until_connected()


@pytest.mark.parametrize(
    "come_back", sample_params([go_away_and_back, leave_and_come_back, Tab.reload])
)
def test_coming_back_restores_the_scroll_position(
    reading: Tab, come_back: Callable[[Tab], None]
) -> None:
    before = measure_top(reading, "Line 30 of a long answer.")
    come_back(reading)
    expect(reading.page.get_by_role("button", name="Latest")).to_be_visible()
    assert measure_top(reading, "Line 30 of a long answer.") == pytest.approx(before, abs=2)


@pytest.mark.thorough
def test_opening_a_chat_again_shows_its_end(reading: Tab) -> None:
    for title in ("The sky", "The sea"):
        link(reading, title).click()
        shows(reading, title)
    expect(reading.page.get_by_text("Line 79 of a long answer.")).to_be_in_viewport()


@pytest.mark.thorough
def test_a_streaming_reply_is_left_and_found_again(two: Tab, upstream: FakeUpstream) -> None:
    pause = Pause()
    upstream.script(role(), delta("First"), pause, delta(" and last."), finish(), done())
    two.ask("Slowly")
    expect(two.answer).to_have_text("First")
    link(two, "The sky").click()
    shows(two, "The sky")
    two.page.go_back()
    expect(two.answer).to_have_text("First")
    expect(two.stop).to_be_visible()
    pause.release()
    expect(two.answer).to_have_text("First and last.")
    two.expect_ending("complete")


class Slow:
    """Holds responses of conversation pages until they are let go."""

    def __init__(self, desk: Desk) -> None:
        self.held: dict[str, Route] = {}
        self.holds = False
        desk.context.route("**/c/*/", self._hold)
        desk.context.route(f"{desk.url}/", self._hold)

    def _hold(self, route: Route) -> None:
        if self.holds:
            self.held[route.request.url] = route
        else:
            route.continue_()

    def let_go(self, tab: Tab, url: str) -> None:
        while url not in self.held:
            tab.page.wait_for_timeout(10)
        with tab.page.expect_response(url):
            self.held.pop(url).continue_()


@pytest.mark.thorough
def test_the_last_of_two_chats_opened_is_shown(desk: Desk, two: Tab) -> None:
    slow = Slow(desk)
    sea = two.page.url
    sky = f"{desk.url}{link(two, 'The sky').get_attribute('href')}"
    new_chat(two)
    slow.holds = True
    link(two, "The sky").click()
    link(two, "The sea").click()
    slow.let_go(two, sea)
    shows(two, "The sea")
    slow.let_go(two, sky)
    two.page.evaluate("new Promise(requestAnimationFrame)")
    shows(two, "The sea")


@pytest.mark.thorough
def test_going_back_before_a_page_has_arrived_discards_it(desk: Desk, two: Tab) -> None:
    slow = Slow(desk)
    sea = two.page.url
    sky = f"{desk.url}{link(two, 'The sky').get_attribute('href')}"
    new_chat(two)
    slow.holds = True
    link(two, "The sky").click()
    two.page.evaluate("history.back()")
    slow.let_go(two, sky)
    slow.let_go(two, sea)
    shows(two, "The sea")


class LateFrames:
    """Holds frames until they are let go. Create it before the tab."""

    def __init__(self, desk: Desk) -> None:
        self.holds = False
        self._held: list[tuple[WebSocketRoute, str | bytes]] = []
        desk.context.route_web_socket(re.compile("/ws/"), self._forward)

    def _forward(self, socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        socket.on_message(server.send)
        server.on_message(lambda frame: self._hold(socket, frame))

    def _hold(self, socket: WebSocketRoute, frame: str | bytes) -> None:
        if self.holds:
            self._held.append((socket, frame))
        else:
            socket.send(frame)

    def let_go(self, tab: Tab) -> None:
        while not self._held:
            tab.page.wait_for_timeout(10)
        self.holds = False
        for socket, frame in self._held:
            socket.send(frame)


@pytest.fixture
def late(desk: Desk) -> LateFrames:
    return LateFrames(desk)


@pytest.mark.thorough
@pytest.mark.parametrize("ask_in", ["The sky", "New chat"])
def test_late_frames_do_not_change_the_address_after_back(
    desk: Desk, late: LateFrames, two: Tab, upstream: FakeUpstream, ask_in: str
) -> None:
    sea = two.page.url
    two.page.get_by_role("link", name=ask_in).first.click()
    shows(two, ask_in)
    two.until_connected()
    slow = Slow(desk)
    slow.holds = late.holds = True
    upstream.forget()
    two.ask("And the land?")
    upstream.wait_for_request()
    two.page.evaluate("history.back()")
    late.let_go(two)
    expect(two.page.locator(".prompt .typed").last).to_have_text("And the land?")
    assert two.page.url == sea
    slow.let_go(two, sea)
    shows(two, "The sea")
