"""Chores that every worker runs about once a minute; all are safe to run in several workers."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial

from django.db import Error
from django.utils import timezone

from chatapp.models import Price, Upstream
from chatapp.models.conversations.threads import ledger, releasing
from chatapp.realtime.generation import run_in_write_thread
from chatapp.upstream.known_prices import find_known_models
from chatapp.upstream.wire.model_list import ListedModel

logger = logging.getLogger(__name__)

SECONDS = 60.0
SETTLED_FOR = timedelta(days=2)  # until then a reply's process may still save it again

Chore = Callable[[], Awaitable[object]]


async def complete_ledger() -> None:
    """Complete the ledger rows that a process of the previous version wrote during an upgrade."""
    while await run_in_write_thread(ledger.complete):
        pass


async def release_holds() -> None:
    """Release the reservations of lost replies, and forget those settled long ago."""
    while await run_in_write_thread(releasing.release_lost_holds):
        pass
    long_ago = timezone.now() - SETTLED_FOR
    while await run_in_write_thread(partial(releasing.delete_settled_holds, long_ago)):
        pass


async def store_prices(
    upstream: Upstream, listed_models: Sequence[ListedModel]
) -> Sequence[ListedModel]:
    """Store the prices in an upstream's model list when they have changed.

    For models listed without a price, store the price library's figures if it knows the gateway,
    and return them.
    """
    unpriced = [model.id for model in listed_models if model.price is None]
    try:
        await run_in_write_thread(partial(Price.update_from_list, upstream.pk, listed_models))
        if library_prices := await find_known_models(upstream.base_url, unpriced):
            await run_in_write_thread(
                partial(Price.update_from_list, upstream.pk, library_prices, Price.Source.LIBRARY)
            )
        return library_prices
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
