"""Asks a model until it answers, in a form that it takes, or until nothing more can be tried.

A request is sent again without what the model refused, after a pause if the upstream fails for the
moment, and to another model if an administrator has named one. Replies and requests over the API
are asked for in the same way.
"""

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import replace
from enum import Enum
from typing import Generic, TypeVar

from chatapp.models import Upstream
from chatapp.realtime.generation.answer import Answer
from chatapp.realtime.generation.fallback import Fallbacks, ModelRequest
from chatapp.realtime.generation.lessons import Lessons
from chatapp.realtime.generation.request import Request
from chatapp.realtime.generation.retries import QUICK_WAIT, TRIES, find_wait
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.requests.concessions import Concession

ASKED = TypeVar("ASKED", bound=ModelRequest)
ANSWER = TypeVar("ANSWER", bound=Answer)


class Outcome(Enum):
    """What follows from one request."""

    FINAL = "an answer, or an error that no other request would change"
    ANOTHER_FORM = "the model refused the form of the request and may take another"
    FAILED = "the upstream failed before anything arrived"


class Asking(ABC, Generic[ASKED, ANSWER]):
    """Asks for one answer. `asked` says what: a turn, or a request over the API."""

    possible_concessions: Collection[Concession] = frozenset(Concession)

    def __init__(self, asked: ASKED, answer: ANSWER, fallbacks: Fallbacks[ASKED]) -> None:
        self.asked = asked
        self.answer = answer
        self._fallbacks = fallbacks
        self._lessons = [Lessons(asked.upstream, asked.model)]  # a new one for each fallback

    @property
    def upstream(self) -> Upstream:
        """The upstream that is asked; a fallback may be another one."""
        return self.asked.upstream

    @abstractmethod
    async def prepare(self) -> Request:
        """Return the next request."""

    @abstractmethod
    async def send(self, request: Request) -> None:
        """Send a request and read its answer. Failures of the upstream end up in the answer."""

    def explain(self, request: Request, error: UpstreamError) -> UpstreamError:
        """Return the error with what the model refused of the request, if it says that."""
        return request.explain(error)

    @abstractmethod
    async def show_retry(self, error: UpstreamError, seconds: float, number: int) -> None:
        """Tell that a request failed and is sent again, as try `number`, after a pause."""

    @abstractmethod
    async def go_on_with(self, asked: ASKED) -> None:
        """Begin the answer again with another model."""

    def may_fall_back(self) -> bool:
        """Whether another model may answer, if there is one."""
        return True

    async def ask(self) -> None:
        """Send requests until there is an answer, or an error that is left in it.

        What failed before anything arrived is tried again, `TRIES` times at most. After one quick
        retry at most, another model is asked if there is one: nobody should wait for a model that
        fails while another one can answer. Its tries are counted from the beginning.
        """
        failures = 0
        while not await self._send():
            failures += 1
            error = self.answer.reply.error
            seconds = find_wait(error, failures)
            if (failures > 1 or seconds > QUICK_WAIT) and await self._fall_back(error):
                failures = 0
                continue
            if error is None or seconds == math.inf or failures == TRIES:
                return
            await self.show_retry(error, seconds, failures + 1)
            await asyncio.sleep(seconds)

    def store_lessons(self) -> None:
        """Store what the requests taught about the models, for all processes."""
        self._learn_from_answer()
        if self.answer.has_arrived:
            self.lessons.confirm()
        for lessons in self._lessons:
            lessons.store()

    @property
    def lessons(self) -> Lessons:
        """What the requests taught about the model that is asked now."""
        return self._lessons[-1]

    async def _send(self) -> bool:
        """Send a request, and again in other forms.

        Return False if it failed before anything had arrived, so that it may be tried again.
        """
        while True:
            request = await self.prepare()
            self.answer.begin_request(request.options.choices)
            await self.send(request)
            self._learn_from_answer()
            match self._judge_answer(request):
                case Outcome.FINAL:
                    return True
                case Outcome.FAILED:
                    return False

    def _judge_answer(self, request: Request) -> Outcome:
        reply = self.answer.reply
        if (error := reply.error) is None:
            return Outcome.FAILED if self.answer.was_lost else Outcome.FINAL
        if self._learns_of_effort(request, error):
            return Outcome.ANOTHER_FORM
        if request.is_too_long(error):
            if request.is_ours:
                self.lessons.learn_context(error.context_tokens)
            reply.error = replace(error, kind=ErrorKind.TOO_LONG)
            return Outcome.FINAL
        if self.answer.has_arrived:
            return Outcome.FINAL
        if request.learn_from(error, self.lessons, self.possible_concessions):
            return Outcome.ANOTHER_FORM
        reply.error = self.explain(request, error)
        return Outcome.FAILED if reply.error is error else Outcome.FINAL

    def _learns_of_effort(self, request: Request, error: UpstreamError) -> bool:
        """Learn of a refusal of tools together with reasoning; return whether it is news."""
        concession = Concession.TOOLS_WITH_EFFORT
        if (
            concession not in self.possible_concessions
            or not request.options.tools
            or not error.refuses_tools_with_effort
            or concession in self.upstream.concessions_to(self.asked.model)
        ):
            return False
        self.lessons.concede(concession)
        return True

    def _learn_from_answer(self) -> None:
        if self.answer.refused_usage_option:
            self.answer.refused_usage_option = False
            self.lessons.learn_usage_option()

    async def _fall_back(self, error: UpstreamError | None) -> bool:
        """Go on with a fallback of the model that failed; return whether there is one."""
        if not self.may_fall_back():
            return False
        spent = self.answer.usage
        spent.ending = self.answer.reply.ending
        asked = await self._fallbacks.next(error, spent)
        if asked is None:
            return False
        self.asked = asked
        self._lessons.append(Lessons(asked.upstream, asked.model))
        self.answer.restart()
        self.answer.budget.reservation = asked.reservation
        await self.go_on_with(asked)
        return True
