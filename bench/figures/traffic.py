"""Bytes sent to the browser for each token of an answer with prose, lists and code."""

import asyncio

from bench.answers import Order
from bench.beside import Pair
from bench.driver import Browser, Tab
from bench.server import limiting, serving
from bench.table import Row

BYTES, TOLERANCE = 130.0, 0.1


async def measure(quick: bool) -> list[Row]:
    """Both lengths at once, with tokens further apart than a display frame, so that each may be
    flushed."""
    (short, long), pace = ((500, 2000), 58.0) if quick else ((4000, 16000), 50.0)
    with serving() as app, limiting() as limit:
        async with Browser.signed_in(app) as at_app, Browser.signed_in(limit) as at_limit:
            sizes = await asyncio.gather(
                _bytes_a_token(await at_app.open_tab(), Order(1, short, pace, "mixed")),
                _bytes_a_token(await at_app.open_tab(), Order(2, long, pace, "mixed")),
                _bytes_a_token(await at_limit.open_tab(), Order(1, short, pace, "mixed")),
            )
    change = sizes[1] / sizes[0] - 1
    figure = f"bytes a token, {short:,} five-byte tokens at {pace:g}/s"
    return [
        Pair([sizes[0]], [sizes[2]]).at_most(figure, "bytes", 0, bar=BYTES),
        Row(
            f"bytes a token, {long:,} five-byte tokens at {pace:g}/s",
            f"{sizes[1]:.0f} bytes: {change:+.0%}",
            f"within {TOLERANCE:.0%} of the shorter",
            abs(change) <= TOLERANCE,
        ),
    ]


async def _bytes_a_token(tab: Tab, order: Order) -> float:
    """Return bytes of WebSocket payload per token, including the frames that begin and end the
    reply."""
    before = tab.payload_bytes
    tab.ask(order)
    if (ending := await tab.reply_ended()) != "complete":
        raise RuntimeError(f"{order} ended as {ending}")
    return (tab.payload_bytes - before) / order.tokens
