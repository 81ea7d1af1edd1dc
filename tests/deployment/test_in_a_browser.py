"""Real Chromium at nginx in front of three servers: what a person sees during an outage."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.conftest import WITH_WINDOWS, Desk, Tab, launch_chromium
from tests.deployment.replies import WHOLE, WORDS, with_a_pause
from tests.deployment.services import Postgres
from tests.deployment.stack import Stack
from tests.support.fake_upstream import FakeUpstream, Pause, delta, role
from tests.support.live import Person, Server

# What Chromium and htmx log about a socket that could not be opened.
NETWORK = r"WebSocket connection to|ERR_|htmx:ws:error|503"


# At the end of the module it stops Playwright's event loop, which blocks the loops of other tests.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launch_chromium(playwright.chromium, WITH_WINDOWS)
        yield browser
        browser.close()


@pytest.fixture
def desk(chromium: Browser, stack: Stack, alice: Person) -> Iterator[Desk]:
    context = chromium.new_context(ignore_https_errors=True)
    desk = Desk(context, stack.nginx.url, alice)
    desk.expect_error(NETWORK)
    yield desk
    context.close()
    assert desk.list_unexpected_errors() == []


def half_a_reply(desk: Desk, upstream: FakeUpstream, pause: Pause) -> Tab:
    upstream.script(role(), *map(delta, WORDS[:20]), *with_a_pause(pause))
    tab = desk.open()
    tab.ask("Count")
    expect(tab.answer).to_contain_text("word19")
    return tab


def read_gauge(server: Server, name: str) -> float:
    """Return one of the server's gauges."""
    with server.visit() as client:
        text = client.get("/metrics", headers={"Authorization": "Bearer metrics"}).text
    [line] = [line for line in text.splitlines() if line.startswith(f"{name} ")]
    return float(line.split()[1])


def viewers(stack: Stack) -> list[float]:
    """Return the number of viewers of each server, sorted."""
    return sorted(read_gauge(server, "chatapp_viewers") for server in stack.servers)


def test_a_prompt_stays_in_the_composer_while_the_database_is_unavailable(
    desk: Desk, postgres: Postgres
) -> None:
    tab = desk.open()
    postgres.stop()
    tab.ask("Hello?")
    expect(tab.problem).to_contain_text("text is kept")
    expect(tab.message).to_have_value("Hello?")
    expect(tab.page.locator(".prompt")).to_have_count(0)
    postgres.start()
    while tab.message.input_value():  # refused until the server notices that the database is back
        tab.message.press("Enter")
        tab.page.wait_for_timeout(200)
    tab.expect_ending("complete")
    expect(tab.page.locator(".prompt")).to_have_count(1)


@pytest.mark.thorough
def test_a_tab_of_a_stopped_server_shows_everything_once(
    desk: Desk, stack: Stack, team_upstream: FakeUpstream
) -> None:
    pause = Pause()
    tab = half_a_reply(desk, team_upstream, pause)
    [owner] = [server for server in stack.servers if read_gauge(server, "chatapp_replies_running")]
    owner.begin_stop()
    owner.wait_for("Stopping")
    others = [server for server in stack.servers if server is not owner]
    while not any(read_gauge(server, "chatapp_viewers") for server in others):
        tab.page.wait_for_timeout(50)
    pause.release()
    tab.expect_ending("complete")
    expect(tab.answer).to_have_text(WHOLE.strip())
    expect(tab.reply).to_have_count(1)
    assert owner.wait() == 0


@pytest.mark.thorough
def test_the_notice_that_a_reply_cant_be_reached_comes_and_goes(
    desk: Desk, stack: Stack, team_upstream: FakeUpstream
) -> None:
    pause = Pause()
    tab = half_a_reply(desk, team_upstream, pause)
    other = desk.open(tab.page.url.removeprefix(desk.url))
    expect(other.answer).to_contain_text("word19")
    while viewers(stack) != [0, 1, 1]:  # nginx may choose the same server if others are busy
        other.reload()
    stack.redis.stop()
    expect(other.reply).to_contain_text("can't be reached right now")
    expect(tab.reply).not_to_contain_text("can't be reached right now")
    stack.redis.start()
    expect(other.reply).not_to_contain_text("can't be reached right now")
    pause.release()
    for each_tab in (tab, other):
        each_tab.expect_ending("complete")
        expect(each_tab.answer).to_have_text(WHOLE.strip())
