"""A lost connection, and what a person keeps meanwhile."""

import re

import pytest
from django.template.loader import render_to_string
from playwright.sync_api import Page, Route, WebSocket, expect

from chatapp.server.adapter.socket_protocol import BEAT, BEAT_ANSWER
from tests.browser.conftest import NETWORK, SitDown, Tab
from tests.browser.test_chat import TEXT, WORDS
from tests.support.fake_upstream import FakeUpstream, Pause, Stall, delta, done, finish, role, usage
from tests.support.line import Line
from tests.support.live import Person
from tests.support.program import WAIT_SECONDS

AT_ONCE_MS = 3000  # sooner than a silent network is noticed


def test_after_a_loss_every_word_is_shown_once(
    sit_down: SitDown, line: Line, alice: Person, upstream: FakeUpstream
) -> None:
    desk = sit_down(alice, line.url)
    desk.expect_error(NETWORK)
    tab = desk.open()
    first, second = Pause(), Pause()
    upstream.script(
        role(),
        *map(delta, WORDS[:20]),
        first,
        *map(delta, WORDS[20:40]),
        second,
        *map(delta, WORDS[40:]),
        finish(),
        usage(),
        done(),
    )
    tab.ask("Count")
    expect(tab.answer).to_contain_text("word19")
    line.cut()
    expect(tab.connection).to_contain_text("Connection lost")
    first.release()
    assert second.reached.wait(WAIT_SECONDS)
    line.mend()
    expect(tab.answer).to_contain_text("word39")
    expect(tab.connection).to_be_hidden()
    second.release()
    tab.expect_ending("complete")
    expect(tab.answer).to_have_text(TEXT)


def test_a_prompt_sent_while_disconnected_is_sent_once(
    sit_down: SitDown, line: Line, alice: Person, upstream: FakeUpstream
) -> None:
    desk = sit_down(alice, line.url)
    desk.expect_error(NETWORK)
    tab = desk.open()
    line.cut()
    expect(tab.connection).to_contain_text("Connection lost")
    tab.ask("Into the void")
    expect(tab.page.locator(".prompt")).to_have_count(1)
    line.mend()
    tab.expect_ending("complete")
    expect(tab.page.locator(".prompt")).to_have_count(1)
    expect(tab.answer).to_have_text("Packets in flight")
    assert len(upstream.chat_requests) == 1


def streaming(upstream: FakeUpstream) -> tuple[Pause, Pause]:
    """Script twenty words, and twenty more after each of two pauses."""
    first, second = Pause(), Pause()
    upstream.script(
        role(),
        *map(delta, WORDS[:20]),
        first,
        *map(delta, WORDS[20:40]),
        second,
        *map(delta, WORDS[40:]),
        finish(),
        usage(),
        done(),
    )
    return first, second


@pytest.mark.thorough
def test_a_silent_network_is_reported_within_five_seconds(
    sit_down: SitDown, line: Line, alice: Person, upstream: FakeUpstream
) -> None:
    desk = sit_down(alice, line.url)
    desk.expect_error(NETWORK)
    tab = Tab(desk.context.new_page())
    tab.page.clock.install()
    tab.page.goto(line.url)
    tab.until_connected()
    first, second = streaming(upstream)
    tab.ask("Count")
    expect(tab.answer).to_contain_text("word19")
    line.hush()
    tab.page.clock.run_for(4500)
    expect(tab.connection).to_contain_text("Connection lost.")
    tab.page.clock.run_for(5000)
    expect(tab.connection).to_contain_text(re.compile(r"Trying again in \d+ s…$"))
    first.release()
    line.mend()
    expect(tab.answer).to_contain_text("word39")
    expect(tab.connection).to_be_hidden()
    second.release()
    tab.expect_ending("complete")
    expect(tab.answer).to_have_text(TEXT)


@pytest.mark.thorough
def test_an_idle_visible_page_notices_too_and_a_working_socket_is_kept(
    sit_down: SitDown, line: Line, alice: Person
) -> None:
    desk = sit_down(alice, line.url)
    desk.expect_error(NETWORK)
    tab = Tab(desk.context.new_page())
    beats = HeartbeatRecorder(tab.page)
    tab.page.goto(line.url)
    tab.until_connected()
    beats.for_seconds(12)
    assert len(beats.sockets) == 1
    line.hush()
    tab.page.clock.run_for(4500)
    expect(tab.connection).to_contain_text("Connection lost.")


@pytest.mark.thorough
def test_an_untouched_page_notices_as_soon_and_a_hidden_one_sends_no_heartbeats(
    sit_down: SitDown, line: Line, alice: Person
) -> None:
    desk = sit_down(alice, line.url)
    desk.expect_error(NETWORK)
    tab = Tab(desk.context.new_page())
    beats = HeartbeatRecorder(tab.page)
    tab.page.goto(line.url)
    tab.until_connected()
    beats.for_seconds(120)
    assert 30 <= len(beats.asked) <= 60
    set_visibility(tab, "hidden")
    before = len(beats.asked)
    beats.for_seconds(60)
    assert len(beats.asked) == before
    set_visibility(tab, "visible")
    beats.until_answered()
    assert len(beats.asked) == before + 1
    beats.for_seconds(60)
    line.hush()
    tab.page.clock.run_for(4500)
    expect(tab.connection).to_contain_text("Connection lost.")


class HeartbeatRecorder:
    """A page's heartbeats and their answers, with a clock that waits for answers."""

    def __init__(self, page: Page) -> None:
        self.sockets: list[WebSocket] = []
        self.asked: list[str | bytes] = []
        self.answered: list[str | bytes] = []
        self._page = page
        page.clock.install()
        page.on("websocket", self._listen)

    def for_seconds(self, seconds: int) -> None:
        for _ in range(seconds):
            self._page.clock.run_for(1000)
            self.until_answered()

    def until_answered(self) -> None:
        self._page.evaluate("0")  # a round trip, after which all earlier events have arrived
        while len(self.answered) < len(self.asked):
            self.sockets[-1].wait_for_event("framereceived")

    def _listen(self, socket: WebSocket) -> None:
        self.sockets.append(socket)
        socket.on("framesent", self._record_beat)
        socket.on("framereceived", self._record_answer)

    def _record_beat(self, text: str | bytes) -> None:
        if text == BEAT.decode():
            self.asked.append(text)

    def _record_answer(self, text: str | bytes) -> None:
        if text == BEAT_ANSWER:
            self.answered.append(text)


def set_visibility(tab: Tab, state: str) -> None:
    """Set the page's visibility, since Chromium without a window never hides a page itself."""
    properties = {"visibilityState": state, "hidden": state == "hidden"}
    tab.page.evaluate(
        """properties => {
          for (const [name, value] of Object.entries(properties)) {
            Object.defineProperty(document, name, { value, configurable: true });
          }
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        properties,
    )


@pytest.mark.thorough
def test_an_unreachable_server_is_reported_until_it_is_back(
    sit_down: SitDown, line: Line, alice: Person, upstream: FakeUpstream
) -> None:
    desk = sit_down(alice, line.url)
    desk.expect_error(NETWORK)
    tab = desk.open()
    tab.ask("The first one")
    tab.expect_ending("complete")
    line.cut()
    tab.page.get_by_role("link", name="New chat").click()
    expect(tab.problem).to_contain_text("Can't reach the server")
    expect(tab.answer).to_have_text("Packets in flight")
    line.mend()
    expect(tab.problem).to_be_hidden()
    expect(tab.connection).to_be_hidden()


@pytest.mark.thorough
def test_a_silent_connection_is_replaced_while_the_network_works(
    sit_down: SitDown, line: Line, alice: Person, upstream: FakeUpstream
) -> None:
    """As after switching networks, or at a proxy that forgot the connection."""
    desk = sit_down(alice, line.url)
    desk.expect_error(NETWORK)
    tab = desk.open()
    first, second = streaming(upstream)
    tab.ask("Count")
    expect(tab.answer).to_contain_text("word19")
    line.forget()
    first.release()
    expect(tab.answer).to_contain_text("word39")
    second.release()
    tab.expect_ending("complete")
    expect(tab.answer).to_have_text(TEXT)


@pytest.mark.thorough
def test_stop_in_a_silent_network_is_kept_and_sent_later(
    sit_down: SitDown, line: Line, alice: Person, upstream: FakeUpstream
) -> None:
    desk = sit_down(alice, line.url)
    desk.expect_error(NETWORK)
    tab = desk.open()
    upstream.script(role(), delta("Half of it"), Stall())
    tab.ask("Go on")
    request = upstream.wait_for_request()
    expect(tab.answer).to_have_text("Half of it")
    line.hush()
    tab.stop.click()
    expect(tab.connection).to_contain_text("The reply will be stopped as soon as it is back.")
    line.forget()
    line.mend()
    assert request.wait_for_close().was_streaming
    tab.expect_ending("stopped")
    expect(tab.connection).to_be_hidden()


@pytest.mark.thorough
def test_a_prompt_in_a_silent_network_is_sent_once(
    sit_down: SitDown, line: Line, alice: Person, upstream: FakeUpstream
) -> None:
    desk = sit_down(alice, line.url)
    desk.expect_error(NETWORK)
    tab = desk.open()
    line.hush()
    tab.ask("Into the void")
    expect(tab.connection).to_contain_text("Connection lost")
    line.mend()
    tab.expect_ending("complete")
    expect(tab.page.locator(".prompt")).to_have_count(1)
    assert len(upstream.chat_requests) == 1


def test_offline_and_online_events_take_effect_at_once(
    sit_down: SitDown, line: Line, alice: Person, upstream: FakeUpstream
) -> None:
    desk = sit_down(alice, line.url)
    desk.expect_error(NETWORK)
    tab = desk.open()
    line.hush()
    desk.context.set_offline(True)
    expect(tab.connection).to_contain_text("Connection lost", timeout=AT_ONCE_MS)
    line.mend()
    desk.context.set_offline(False)
    expect(tab.connection).to_be_hidden(timeout=AT_ONCE_MS)
    tab.until_connected()


@pytest.mark.thorough
def test_a_page_without_database_reloads_once_it_is_back(sit_down: SitDown) -> None:
    away = render_to_string("503.html", {"retry_after": 10})
    is_away = True

    def answer(route: Route) -> None:
        if is_away:
            route.fulfill(status=503, body=away, content_type="text/html")
        else:
            route.continue_()

    desk = sit_down()
    desk.expect_error("503")
    page = desk.context.new_page()
    page.clock.install()
    page.route("**/accounts/login/", answer)
    page.goto(f"{desk.url}/accounts/login/")
    with page.expect_response(lambda response: response.status == 503):
        page.clock.run_for(10_000)
    expect(page.get_by_role("heading", name="Back in a moment")).to_be_visible()
    is_away = False
    page.clock.run_for(10_000)
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
