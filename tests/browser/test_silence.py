"""A model that is silent for long: the page counts the seconds without moving."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Desk, Tab
from tests.support.fake_upstream import FakeUpstream, Pause, delta, done, finish, role


def test_the_page_counts_the_seconds_of_silence(desk: Desk, upstream: FakeUpstream) -> None:
    thinking, stuck = Pause(), Pause()
    upstream.script(role(), thinking, delta("First."), stuck, delta(" Then."), finish(), done())
    tab = Tab(desk.context.new_page())
    tab.page.clock.install()
    tab.page.goto(desk.url)
    tab.until_connected()
    tab.ask("Why?")
    waiting = tab.reply.locator(".waiting")
    expect(waiting).to_have_text(re.compile("^Waiting for the model…$"))
    tab.page.clock.fast_forward(12_000)
    expect(waiting).to_have_text(re.compile(r"^Waiting for the model…1[2-5] s$"))
    expect(waiting.locator(".silence")).to_be_visible()
    tab.page.clock.fast_forward(60_000)
    expect(waiting).to_have_text(re.compile(r"…7[2-7] s$"))

    thinking.release()
    expect(tab.answer).to_have_text("First.")
    expect(waiting).to_be_hidden()
    tab.page.clock.fast_forward(14_000)
    expect(waiting.locator(".silence")).to_have_text(
        re.compile(r"^Nothing received for 1[4-8] s…$")
    )
    expect(waiting).to_be_visible()
    expect(waiting.locator("> :not(.silence)")).to_be_hidden()

    stuck.release()
    tab.expect_ending("complete")
    expect(tab.answer).to_have_text("First. Then.")
    expect(waiting).to_have_count(0)


@pytest.mark.thorough
def test_after_a_reload_counting_continues_from_the_servers_value(
    desk: Desk, upstream: FakeUpstream
) -> None:
    thinking = Pause()
    upstream.script(role(), thinking, delta("So."), finish(), done())
    tab = desk.open()
    tab.ask("Why?")
    expect(tab.reply.locator(".waiting")).to_have_count(1)
    upstream.wait_for_request()
    silent_for = 0.0
    while silent_for < 2:
        tab.reload()
        seconds = tab.reply.locator(".waiting").get_attribute("data-silent-for")
        assert seconds
        assert float(seconds) >= silent_for
        silent_for = float(seconds)
    thinking.release()
    tab.expect_ending("complete")


@pytest.mark.thorough
def test_the_wait_for_a_retry_is_counted_down(desk: Desk, upstream: FakeUpstream) -> None:
    upstream.fail(429, {"error": {"message": "slow down"}}, {"retry-after": "50"})
    tab = Tab(desk.context.new_page())
    tab.page.clock.install()
    tab.page.goto(desk.url)
    tab.until_connected()
    tab.ask("Why?")
    waiting = tab.reply.locator(".waiting")
    notice = "The model is rate-limited. Trying again"
    expect(waiting).to_have_text(re.compile(rf"^{notice} in (50|4\d) s \(try 2\)…$"))
    tab.page.clock.fast_forward(30_000)
    expect(waiting).to_have_text(re.compile(rf"^{notice} in (20|1\d) s \(try 2\)…$"))
    tab.page.clock.fast_forward(40_000)
    expect(waiting).to_have_text(re.compile(rf"^{notice} now \(try 2\)…\s?[12]\d s$"))

    # A reload asks the server, whose clock says that there is time left.
    tab.reload()
    expect(waiting).to_have_text(re.compile(rf"^{notice} in \d+ s \(try 2\)…$"))
    tab.stop.click()
    tab.expect_ending("stopped")
