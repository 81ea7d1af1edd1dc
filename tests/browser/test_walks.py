"""Random walks with two tabs, a connection that is cut, silent or forgotten, refusals and reloads:
in any order, text that was sent is always in the thread or in a composer."""

import random

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.browser.test_sending import NETWORK
from tests.support.fake_upstream import FakeUpstream
from tests.support.line import Line
from tests.support.live import Person

pytestmark = pytest.mark.thorough

STEPS = 25
SEND = """([text, model]) => {
  const box = document.getElementById("message"), option = document.querySelector("#model option");
  box.value += text;
  box.dispatchEvent(new InputEvent("input", { bubbles: true }));
  option.value += model;
  document.querySelector(".send").click();
  option.value = option.value.replace(model, "");
}"""


class Walk:
    """Two tabs of one conversation, and what was sent from them."""

    def __init__(self, desk: Desk, line: Line, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - not for secrets
        self.line = line
        self.sent: list[str] = []
        first = desk.open()
        first.ask("The beginning")
        first.expect_ending("complete")
        first.page.wait_for_url("**/c/**")
        self.path = first.page.url.removeprefix(line.url)
        self.tabs = [first, desk.open(self.path)]

    def step(self) -> None:
        tab = self.random.choice(self.tabs)
        sending = (self.send, self.send_from_both, self.send_what_is_refused)
        others = (self.disturb, self.mend, self.wait, self.wait, self.reload)
        self.random.choice((*sending, *others))(tab)

    def send(self, tab: Tab, model: str = "") -> None:
        """Add text to what is in the box, and send all of it."""
        text = f"text{len(self.sent)}."
        self.sent.append(text)
        tab.page.evaluate(SEND, [text, model])

    def send_from_both(self, tab: Tab) -> None:
        for each_tab in self.tabs:
            self.send(each_tab)

    def send_what_is_refused(self, tab: Tab) -> None:
        self.send(tab, "-no-more")

    def disturb(self, tab: Tab) -> None:
        self.random.choice((self.line.cut, self.line.hush, self.line.forget))()

    def mend(self, tab: Tab) -> None:
        self.line.mend()

    def wait(self, tab: Tab) -> None:
        tab.page.wait_for_timeout(self.random.choice((20, 200, 1000)))

    def reload(self, tab: Tab) -> None:
        self.line.cut()  # or the page would wait for a silent connection
        self.line.mend()
        tab.page.goto(self.line.url + self.path)

    def end(self) -> str:
        """Reconnect everything; return the text of all threads and composers."""
        self.line.cut()
        self.line.mend()
        texts = []
        for tab in self.tabs:
            tab.until_connected()
            expect(tab.page.locator(".pending, [data-ending=streaming]")).to_have_count(0)
            texts += [tab.message.input_value(), tab.page.locator("#messages").inner_text()]
        return "\n".join(texts)


@pytest.mark.parametrize("seed", range(4))
def test_no_text_that_was_sent_is_lost(
    sit_down: SitDown, line: Line, alice: Person, upstream: FakeUpstream, seed: int
) -> None:
    desk = sit_down(alice, line.url)
    desk.expect_error(NETWORK)
    walk = Walk(desk, line, seed)
    for _ in range(STEPS):
        walk.step()
    contents = walk.end()
    # Text sent upstream is in the conversation, though perhaps on a branch that neither tab shows.
    contents += "".join(str(request.body["messages"][-1]) for request in upstream.chat_requests)
    assert [text for text in walk.sent if text not in contents] == []
