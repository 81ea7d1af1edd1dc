"""The limit can be driven like the app, and passes on every token."""

import time
from collections.abc import Callable

import pytest

from bench.answers import Order
from bench.driver import Browser, Tab
from bench.server import limiting

pytestmark = pytest.mark.server


async def test_each_token_of_each_reply_arrives() -> None:
    with limiting() as limit:
        async with Browser.signed_in(limit) as browser:
            tabs = await browser.open_tabs(3)
            for tab in tabs:
                tab.ask(Order(browser.next_number(), tokens=200, pace=10_000))
            assert {await tab.reply_ended() for tab in tabs} == {"complete"}
            assert [len(tab.latencies) for tab in tabs] == [200] * 3


@pytest.mark.parametrize("end", [Tab.stop, lambda tab: tab.socket.close()], ids=["stop", "close"])
async def test_stopping_or_leaving_closes_the_upstream_request(
    end: Callable[[Tab], object],
) -> None:
    with limiting() as limit:
        async with Browser.signed_in(limit) as browser:
            tab = await browser.open_tab()
            order = Order(browser.next_number(), tokens=100_000)
            tab.ask(order)
            await tab.reply_began()
            end(tab)
            assert (await browser.wait_for_request(order, closed=True)).closed_at


async def test_the_usage_of_all_its_processes_is_counted() -> None:
    with limiting() as limit:
        assert limit.resident_mib() > 1
        assert 0 < limit.cpu_seconds() < time.monotonic()
