"""Asks a model until it answers, in a form that it takes, or until nothing more can be tried.

A request is sent again without what the model refused, after a pause if the upstream fails for the
moment, and to another model if an administrator has named one. Replies and requests over the API
are asked for in the same way.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import replace
from typing import Generic, TypeVar

from chatapp.models import Upstream
from chatapp.realtime.generation.answer import Answer
from chatapp.realtime.generation.fallback import Fallbacks, ModelRequest
from chatapp.realtime.generation.lessons import Lessons
from chatapp.realtime.generation.request import Request
from chatapp.realtime.generation.retries import RequestFailed, with_retries
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.requests.concessions import Concession

ASKED = TypeVar("ASKED", bound=ModelRequest)
ANSWER = TypeVar("ANSWER", bound=Answer)


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
        """Send requests until there is an answer, or an error that is left in it."""
        await with_retries(self._send, self.show_retry, self._fall_back)

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

    async def _send(self) -> None:
        """Send a request, and again in other forms. Raises `RequestFailed`."""
        while True:
            request = await self.prepare()
            self.answer.begin_request(request.options.choices)
            await self.send(request)
            self._learn_from_answer()
            if not self._check_answer(request):
                return

    def _check_answer(self, request: Request) -> bool:
        """Return whether the model refused the form of the request, and may take another.

        Raises `RequestFailed` if the request failed before anything had arrived.
        """
        reply = self.answer.reply
        if (error := reply.error) is None:
            if self.answer.was_lost:
                raise RequestFailed(None)
            return False
        if self._learns_of_effort(request, error):
            return True
        if request.is_too_long(error):
            if request.is_ours:
                self.lessons.learn_context(error.context_tokens)
            reply.error = replace(error, kind=ErrorKind.TOO_LONG)
            return False
        if self.answer.has_arrived:
            return False
        if request.learn_from(error, self.lessons, self.possible_concessions):
            return True
        reply.error = self.explain(request, error)
        if reply.error is error:
            raise RequestFailed(error)
        return False

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
