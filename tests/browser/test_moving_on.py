"""Responses to requests of one page that arrive while the person reads another."""

import pytest
from playwright.sync_api import WebSocketRoute, expect

from tests.browser.conftest import Desk, Tab
from tests.support.fake_upstream import FakeUpstream


class HeldFrames:
    """Holds back what the server sends to the page until it is let go."""

    def __init__(self, desk: Desk) -> None:
        self.frames: list[str | bytes] | None = None
        desk.context.route_web_socket("**/ws/**", self._pass_on)

    def _pass_on(self, socket: WebSocketRoute) -> None:
        self._socket = socket
        server = socket.connect_to_server()
        server.on_message(self._receive)

    def _receive(self, data: str | bytes) -> None:
        if self.frames is None:
            self._socket.send(data)
        else:
            self.frames.append(data)

    def let_go(self) -> None:
        frames, self.frames = self.frames, None
        for data in frames or ():
            self._socket.send(data)


@pytest.fixture
def held_frames(desk: Desk) -> HeldFrames:
    return HeldFrames(desk)


def test_a_late_turn_is_neither_shown_in_another_conversation_nor_sent_with_it(
    held_frames: HeldFrames, tab: Tab, upstream: FakeUpstream
) -> None:
    tab.ask("The first one")
    tab.expect_ending("complete")
    tab.page.get_by_role("link", name="New chat").click()
    expect(tab.page.locator("article")).to_have_count(0)
    held_frames.frames = []
    tab.ask("The second one")
    upstream.wait_for_request()
    upstream.wait_for_request()
    tab.sidebar.get_by_role("link", name="The first one").click()
    expect(tab.answer).to_have_text("Packets in flight")
    first = tab.page.url
    held_frames.let_go()
    link = tab.sidebar.get_by_role("link", name="The second one")
    expect(link).to_be_visible()
    expect(tab.page.locator(".prompt")).to_have_text("YouThe first one")
    expect(tab.page.locator("#title")).to_have_text("The first one")
    assert tab.page.url == first
    tab.ask("More of the first")
    expect(tab.page.locator(".prompt")).to_have_text(["YouThe first one", "YouMore of the first"])
    expect(tab.page.locator("article")).to_have_count(2)
    tab.expect_ending("complete")
    contents = [message["content"] for message in upstream.chat_requests[-1].body["messages"]]
    assert "The first one" in contents
    assert "The second one" not in contents
    link.click()
    expect(tab.page.locator(".prompt")).to_have_text(["YouThe second one"])
    tab.expect_ending("complete")
