"""What every worker does about once a minute, whoever else does it too."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial

from django.db import Error
from django.utils import timezone

from chatapp.generation import stored
from chatapp.models import Price, Upstream, ledger, releasing
from chatapp.upstream.known_prices import known_prices
from chatapp.upstream.wire.model_list import ListedModel

logger = logging.getLogger(__name__)

SECONDS = 60.0
SETTLED_FOR = timedelta(days=2)  # in which the process of a reply may still save it again

Chore = Callable[[], Awaitable[object]]


async def complete_ledger() -> None:
    """Of what a process of the version before has booked, while an upgrade runs."""
    while await stored(ledger.complete):
        pass


async def release_holds() -> None:
    """Of replies that nobody ends any more; and forgets those that ended long ago."""
    while await stored(releasing.release_lost):
        pass
    long_ago = timezone.now() - SETTLED_FOR
    while await stored(partial(releasing.forget_settled, long_ago)):
        pass


async def keep_prices(upstream: Upstream, listed: Sequence[ListedModel]) -> None:
    """Whose list says something else than this process has heard before. Of what it does not price
    the library's figures are kept, where it knows the gateway."""
    unpriced = [one.id for one in listed if one.price is None]
    try:
        await stored(partial(Price.hear, upstream.pk, listed))
        if known := await known_prices(upstream.base_url, unpriced):
            await stored(partial(Price.hear, upstream.pk, known, Price.Source.LIBRARY))
    except Error as error:
        logger.warning("What models cost is kept when a list says it again: %s", error)
    except (OSError, ValueError) as error:
        logger.warning("Nobody could be asked what the models of %s cost: %s", upstream, error)


async def keep_up(*chores: Chore) -> None:
    """Until cancelled; not at once, since after a restart tabs come back first."""
    while True:
        await asyncio.sleep(SECONDS)
        for chore in chores:
            try:
                await chore()
            except Error as error:
                logger.warning("The upkeep waits for the database: %s", error)
            except Exception:  # of one chore; the others are done
                logger.exception("The upkeep failed")
