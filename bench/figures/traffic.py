"""Bytes to the browser for each token of an answer with prose, lists and code."""

import asyncio

from bench.answers import Order
from bench.driver import Browser, Tab
from bench.server import serving
from bench.table import Row, at_most

BYTES, TOLERANCE = 130.0, 0.1


async def measure(quick: bool) -> list[Row]:
    """Both lengths at a time, tokens further apart than a display frame, so each may be flushed."""
    (short, long), pace = ((500, 2000), 58.0) if quick else ((4000, 16000), 50.0)
    with serving() as server:
        async with Browser.signed_in(server) as browser:
            tabs = await browser.open_tabs(2)
            sizes = await asyncio.gather(
                _bytes_a_token(tabs[0], Order(1, short, pace, "mixed")),
                _bytes_a_token(tabs[1], Order(2, long, pace, "mixed")),
            )
    change = sizes[1] / sizes[0] - 1
    return [
        at_most(
            f"bytes a token, {short:,} five-byte tokens at {pace:g}/s", sizes[0], BYTES, "bytes"
        ),
        Row(
            f"bytes a token, {long:,} five-byte tokens at {pace:g}/s",
            f"{sizes[1]:.0f} bytes: {change:+.0%}",
            f"within {TOLERANCE:.0%} of the shorter",
            abs(change) <= TOLERANCE,
        ),
    ]


async def _bytes_a_token(tab: Tab, order: Order) -> float:
    """Of WebSocket payload, the frames that begin and end the reply included."""
    before = tab.payload_bytes
    tab.ask(order)
    if (ending := await tab.reply_ended()) != "complete":
        raise RuntimeError(f"{order} ended as {ending}")
    return (tab.payload_bytes - before) / order.tokens
