"""Closes the tabs and ends the replies, summaries and requests of people who have lost access.

An event only triggers a query: the database says whether a person is gone or a session has ended.
In addition, everybody is checked once a minute.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable
from contextvars import Context

from channels.db import database_sync_to_async
from django.db import Error

from chatapp.realtime.completions import Completions
from chatapp.realtime.generation import Generation
from chatapp.realtime.summarising import RunningSummary
from chatapp.realtime.viewers import Viewer, Viewers
from chatapp.rendering import pool
from chatapp.sessions import validity
from chatapp.upstream.wire.reply import Ending

logger = logging.getLogger(__name__)

POLL_SECONDS = 45.0  # between checks of everybody, which end within the minute
# From a change to the check of sessions: someone who changed their password receives the new cookie
# meanwhile, and many changes at once cost one check. Removed accounts are found before that.
SETTLE_SECONDS = 0.25
TRY_AGAIN_SECONDS = 1.0
SIGNED_OUT = "The summary was cancelled when you signed out in the tab that asked for it."
SESSIONS_AT_ONCE = 200  # so that no check blocks the database thread for long


class Revocation:
    """Rechecks who may keep the viewers, replies and summaries of this worker."""

    def __init__(
        self,
        viewers: Viewers,
        replies: Iterable[Generation],
        summaries: Iterable[RunningSummary] = (),
        completions: Completions | None = None,
    ) -> None:
        self.requested = 0  # number of requested checks
        self._checking: asyncio.Task[None] | None = None
        self._viewers = viewers
        self._replies = replies
        self._summaries = summaries
        self._completions = completions
        self._people: set[int] = set()  # to be checked
        self._check_everybody = False

    def recheck_access(self, people: Iterable[int] | None) -> None:
        """Check these people soon; None means everybody."""
        self.requested += 1
        self._people.update(people or ())
        self._check_everybody = self._check_everybody or people is None
        if not self._checking or self._checking.done():
            own = Context()  # not the context of the request that signs out
            self._checking = asyncio.create_task(self._check_until_done(), context=own)

    async def run(self) -> None:
        """Check everybody once a minute, until cancelled."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            self.recheck_access(None)

    async def until_checked(self) -> None:
        """Wait until all requested checks are done."""
        if self._checking:
            await self._checking

    def close(self) -> None:
        if self._checking:
            self._checking.cancel()

    async def _check_until_done(self) -> None:
        while self._people or self._check_everybody:
            people: set[int] | None = set()
            try:
                await self._check_people(self._people)
                if self._completions:
                    changed = None if self._check_everybody else set(self._people)
                    await self._completions.recheck_access(changed)
                await asyncio.sleep(SETTLE_SECONDS)
                people = None if self._check_everybody else self._people
                self._people, self._check_everybody = set(), False
                await self._check_sessions(people)
            except Error as error:
                logger.info("Sessions are checked when the database is back: %s", error)
                self._people |= people or set()
                self._check_everybody = self._check_everybody or people is None
                await asyncio.sleep(TRY_AGAIN_SECONDS)

    async def _check_sessions(self, people: set[int] | None) -> None:
        replies = [
            candidate
            for candidate in self._replies
            if people is None or _get_owner(candidate) in people
        ]
        summaries = [
            candidate
            for candidate in self._summaries
            if people is None or candidate.user_id in people
        ]
        await self._check_people(
            {_get_owner(candidate) for candidate in replies}
            | {candidate.user_id for candidate in summaries}
        )
        viewers = [
            candidate
            for candidate in self._viewers
            if people is None or candidate.user_id in people
        ]
        owners = {candidate.session_key: _get_owner(candidate) for candidate in replies}
        owners |= {summary.session_key: summary.user_id for summary in summaries}
        owners |= {viewer.session_key: viewer.user_id for viewer in viewers}
        keys = list(owners)
        for start in range(0, len(keys), SESSIONS_AT_ONCE):
            part = {key: owners[key] for key in keys[start : start + SESSIONS_AT_ONCE]}
            result = await database_sync_to_async(validity.check_access)((), part)
            await self._close(
                [candidate for candidate in viewers if candidate.session_key in part], result
            )
            for reply in replies:
                # Tabs of other sessions may go on watching, but no grace applies to closed tabs.
                if reply.session_key in result.ended_sessions:
                    reply.audience.forget_who_left()
            for summary in summaries:
                if summary.session_key in result.ended_sessions:
                    summary.cancel(SIGNED_OUT)

    async def _check_people(self, people: Collection[int]) -> None:
        """Close the tabs and replies of those who are gone, without waiting for sessions."""
        if not people:
            return
        result = await database_sync_to_async(validity.check_access)(set(people), {})
        if result.missing_people:
            pool.forget()  # the rendered texts of people who are gone
        await self._close(
            [viewer for viewer in self._viewers if viewer.user_id in result.missing_people], result
        )
        for reply in self._replies:
            if _get_owner(reply) in result.missing_people:
                reply.stop(Ending.ABANDONED)
        for summary in self._summaries:
            if summary.user_id in result.missing_people:
                summary.cancel()

    async def _close(self, viewers: Iterable[Viewer], result: validity.AccessCheck) -> None:
        for viewer in viewers:
            if code := result.code(viewer.user_id, viewer.session_key):
                try:
                    await viewer.close(code)
                except Exception:  # a failing tab must not keep the others open
                    logger.exception("Could not close a tab")


def _get_owner(reply: Generation) -> int:
    return reply.message.conversation.user_id
