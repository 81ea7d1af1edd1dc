"""Tabs are closed, and replies ended, of people who may not go on with them.

Whoever hears that something has changed about a person asks for a look; the database says what has
become of them. Everybody is looked at once a minute besides.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable
from contextvars import Context

from channels.db import database_sync_to_async
from django.db import Error

from chatapp import sessions
from chatapp.generation.audience import Tab
from chatapp.generation.generation import Generation
from chatapp.generation.tabs import Tabs
from chatapp.upstream.reply import Ending

logger = logging.getLogger(__name__)

LOOK_SECONDS = 60.0  # between looks at everybody
# From a change to the look at it: whoever changed a password gets their new cookie meanwhile, and
# many changes at once cost one look.
SETTLE_SECONDS = 0.25
TRY_AGAIN_SECONDS = 1.0
TABS_AT_ONCE = 200  # so that no look holds the database's thread for long


class Revocation:
    """Of the tabs and the replies of this process."""

    def __init__(self, tabs: Tabs, replies: Callable[[], Collection[Generation]]) -> None:
        self.asked = 0  # how often a look was asked for
        self._tabs = tabs
        self._replies = replies
        self._people: set[int] = set()  # who are to be looked at
        self._is_everybodys_turn = False
        self._looking: asyncio.Task[None] | None = None

    def look_again_at(self, people: Iterable[int] | None) -> None:
        """Looks at these people soon; at everybody, where it is None."""
        self.asked += 1
        self._people.update(people or ())
        self._is_everybodys_turn = self._is_everybodys_turn or people is None
        if not self._looking or self._looking.done():
            own = Context()  # not that of whoever signs out
            self._looking = asyncio.create_task(self._look_until_seen(), context=own)

    async def run(self) -> None:
        """Looks at everybody once a minute, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.look_again_at(None)

    def close(self) -> None:
        if self._looking:
            self._looking.cancel()

    async def _look_until_seen(self) -> None:
        while self._people or self._is_everybodys_turn:
            await asyncio.sleep(SETTLE_SECONDS)
            people = None if self._is_everybodys_turn else self._people
            self._people, self._is_everybodys_turn = set(), False
            try:
                await self._look_at(people)
            except Error as error:
                logger.info("Sessions are looked at when the database is back: %s", error)
                self._people |= people or set()
                self._is_everybodys_turn = self._is_everybodys_turn or people is None
                await asyncio.sleep(TRY_AGAIN_SECONDS)

    async def _look_at(self, people: set[int] | None) -> None:
        await self._look_at_replies(people)
        tabs = [tab for tab in self._tabs if people is None or tab.user_id in people]
        for start in range(0, len(tabs), TABS_AT_ONCE):
            await self._look_at_tabs(tabs[start : start + TABS_AT_ONCE])

    async def _look_at_replies(self, people: set[int] | None) -> None:
        writing = {_person_of(reply) for reply in self._replies()}
        asked = writing if people is None else writing & people
        if not asked:
            return
        seen = await database_sync_to_async(sessions.look)(asked, {})
        for reply in self._replies():
            if _person_of(reply) in seen.gone:
                reply.stop(Ending.ABANDONED)

    async def _look_at_tabs(self, tabs: list[Tab]) -> None:
        held = {tab.session_key: tab.user_id for tab in tabs}
        seen = await database_sync_to_async(sessions.look)((), held)
        for tab in tabs:
            if code := seen.code(tab.user_id, tab.session_key):
                try:
                    await tab.close(code)
                except Exception:  # whatever is wrong with one tab, the others are closed
                    logger.exception("A tab could not be closed")


def _person_of(reply: Generation) -> int:
    return reply.message.conversation.user_id
