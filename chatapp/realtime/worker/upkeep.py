"""Chores that every worker runs about once a minute; all are safe to run in several workers."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial

from django.db import Error
from django.utils import timezone

from chatapp.models import Price, Upstream
from chatapp.models.conversations import ledger, releasing
from chatapp.realtime.generation import stored
from chatapp.upstream.known_prices import known_prices
from chatapp.upstream.wire.model_list import ListedModel

logger = logging.getLogger(__name__)

SECONDS = 60.0
SETTLED_FOR = timedelta(days=2)  # until then a reply's process may still save it again

Chore = Callable[[], Awaitable[object]]


async def complete_ledger() -> None:
    """Complete the ledger rows that a process of the previous version wrote during an upgrade."""
    while await stored(ledger.complete):
        pass


async def release_holds() -> None:
    """Release the reservations of lost replies, and forget those settled long ago."""
    while await stored(releasing.release_lost):
        pass
    long_ago = timezone.now() - SETTLED_FOR
    while await stored(partial(releasing.forget_settled, long_ago)):
        pass


async def keep_prices(upstream: Upstream, listed: Sequence[ListedModel]) -> Sequence[ListedModel]:
    """Store the prices in an upstream's model list when they have changed.

    For models listed without a price, store the price library's figures if it knows the gateway,
    and return them.
    """
    unpriced = [one.id for one in listed if one.price is None]
    try:
        await stored(partial(Price.hear, upstream.pk, listed))
        if known := await known_prices(upstream.base_url, unpriced):
            await stored(partial(Price.hear, upstream.pk, known, Price.Source.LIBRARY))
        return known
    except Error as error:
        logger.warning("Could not store model prices; the next model list retries: %s", error)
    except (OSError, ValueError) as error:
        logger.warning("Could not look up the prices of %s's models: %s", upstream, error)
    return ()


async def run_upkeep(*chores: Chore) -> None:
    """Run the chores once a minute until cancelled.

    The first run is a minute after the start, because reconnecting tabs come first.
    """
    while True:
        await asyncio.sleep(SECONDS)
        for chore in chores:
            try:
                await chore()
            except Error as error:
                logger.warning("A periodic task waits for the database: %s", error)
            except Exception:  # a failing chore must not hold up the others
                logger.exception("A periodic task failed")
