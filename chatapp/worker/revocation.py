"""Tabs are closed, and replies ended, of people who may not go on with them.

Whoever hears that something has changed about a person asks for a look; the database says what has
become of them. Everybody is looked at once a minute besides.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable
from contextvars import Context

from channels.db import database_sync_to_async
from django.db import Error

from chatapp import rendering
from chatapp.access import sessions
from chatapp.generation import Generation
from chatapp.upstream.wire.reply import Ending
from chatapp.viewers import Viewer, Viewers

logger = logging.getLogger(__name__)

LOOK_SECONDS = 60.0  # between looks at everybody
# From a change to the look at sessions: whoever changed a password gets their new cookie meanwhile,
# and many changes at once cost one look. Who is gone is seen before that.
SETTLE_SECONDS = 0.25
TRY_AGAIN_SECONDS = 1.0
SESSIONS_AT_ONCE = 200  # so that no look holds the database's thread for long


class Revocation:
    """Of the viewers and the replies of this worker."""

    def __init__(self, viewers: Viewers, replies: Iterable[Generation]) -> None:
        self.asked = 0  # how often a look was asked for
        self._looking: asyncio.Task[None] | None = None
        self._viewers = viewers
        self._replies = replies
        self._people: set[int] = set()  # who are to be looked at
        self._is_everybodys_turn = False

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

    async def until_seen(self) -> None:
        """Returns when everybody was looked at for whom that was asked."""
        if self._looking:
            await self._looking

    def close(self) -> None:
        if self._looking:
            self._looking.cancel()

    async def _look_until_seen(self) -> None:
        while self._people or self._is_everybodys_turn:
            people: set[int] | None = set()
            try:
                await self._look_at_people(self._people)
                await asyncio.sleep(SETTLE_SECONDS)
                people = None if self._is_everybodys_turn else self._people
                self._people, self._is_everybodys_turn = set(), False
                await self._look_at_all(people)
            except Error as error:
                logger.info("Sessions are looked at when the database is back: %s", error)
                self._people |= people or set()
                self._is_everybodys_turn = self._is_everybodys_turn or people is None
                await asyncio.sleep(TRY_AGAIN_SECONDS)

    async def _look_at_all(self, people: set[int] | None) -> None:
        replies = [one for one in self._replies if people is None or _person_of(one) in people]
        await self._look_at_people({_person_of(one) for one in replies})
        viewers = [one for one in self._viewers if people is None or one.user_id in people]
        held = {one.session_key: _person_of(one) for one in replies}
        held |= {viewer.session_key: viewer.user_id for viewer in viewers}
        keys = list(held)
        for start in range(0, len(keys), SESSIONS_AT_ONCE):
            part = {key: held[key] for key in keys[start : start + SESSIONS_AT_ONCE]}
            seen = await database_sync_to_async(sessions.look)((), part)
            await self._close([one for one in viewers if one.session_key in part], seen)
            for reply in replies:
                # What is read on another session goes on for its tabs, and for nobody who left.
                if reply.session_key in seen.ended:
                    reply.audience.forget_who_left()

    async def _look_at_people(self, people: Collection[int]) -> None:
        """Whether any of them is gone. That is seen at once: nothing is to settle first."""
        if not people:
            return
        seen = await database_sync_to_async(sessions.look)(set(people), {})
        if seen.gone:
            rendering.forget()  # what was made of their texts
        await self._close([one for one in self._viewers if one.user_id in seen.gone], seen)
        for reply in self._replies:
            if _person_of(reply) in seen.gone:
                reply.stop(Ending.ABANDONED)

    async def _close(self, viewers: Iterable[Viewer], seen: sessions.Look) -> None:
        for viewer in viewers:
            if code := seen.code(viewer.user_id, viewer.session_key):
                try:
                    await viewer.close(code)
                except Exception:  # whatever is wrong with one, the others are closed
                    logger.exception("A tab could not be closed")


def _person_of(reply: Generation) -> int:
    return reply.message.conversation.user_id
