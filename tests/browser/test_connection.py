"""What a person keeps when the connection is lost."""

from playwright.sync_api import expect

from tests.browser.conftest import SitDown
from tests.browser.test_chat import TEXT, WORDS
from tests.fake_upstream import FakeUpstream, Pause, delta, done, finish, role, usage
from tests.live import WAIT_SECONDS, Line, Person

# What Chromium and htmx say of a socket that could not be opened.
NETWORK = r"WebSocket connection to|ERR_|htmx:ws:error"


def test_after_a_loss_every_word_is_there_once(
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


def test_a_prompt_sent_while_the_connection_is_down_is_asked_once(
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
