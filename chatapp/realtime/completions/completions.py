"""Sends requests of people's scripts to models; `Completions` knows those that are running."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from functools import partial
from uuid import UUID, uuid4

from channels.db import database_sync_to_async
from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from chatapp import metrics
from chatapp.models import ModelChoice, Refused, Upstream, Usage, User
from chatapp.models.billing.usage import milliseconds
from chatapp.models.conversations.api_chats import ApiAnswer
from chatapp.models.platform.upstream_failures import FAILURES, UpstreamFailure
from chatapp.realtime.completions.requests import REVOKED, ApiRequest, CompletionRequest
from chatapp.realtime.generation import run_in_write_thread
from chatapp.realtime.generation.fallback import Fallbacks
from chatapp.realtime.generation.retries import RequestFailed, with_retries
from chatapp.realtime.generation.unsaved import UnsavedAnswer, book
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.wire.errors import UpstreamError
from chatapp.upstream.wire.events import Event, UsageOptionRefused
from chatapp.upstream.wire.parameter_refusals import find_refusal
from chatapp.upstream.wire.reply import Ending

logger = logging.getLogger(__name__)

BOOK_AGAIN_SECONDS = 0.5
RESTARTING = "The server is restarting. Send the request again in a moment."
LAST_SECONDS = 5.0  # to book what stopped requests cost
TOO_MANY = "You have {} requests running already. Wait for one to finish."

OnEvents = Callable[[list[Event]], Awaitable[None]]  # takes the events of one read


_booking: set[asyncio.Task[None]] = set()  # keeps references, as their callers may leave


class Restarting(Refused):
    """This process is about to stop."""


class TooMany(Refused):
    """The person has too many requests running."""


class Completion:
    """One request and the answer to it. Await `run` once; `stop` may be called at any time."""

    def __init__(self, request: ApiRequest, client: UpstreamClient) -> None:
        self.request = request
        self.answer = UnsavedAnswer(client, request.reservation)
        self.usage = Usage.empty()  # once `run` has returned
        self.stopped = ""  # a sentence that says why it was stopped
        self.ending = Ending.ABANDONED
        self._client = client
        self._fallbacks = Fallbacks(request, ApiRequest.for_model, ApiRequest.take_over)
        self._deadline: asyncio.Timeout | None = None
        self._stopped_as = Ending.ABANDONED
        self._started_at = time.monotonic()
        self._first_token: float | None = None

    async def run(self, on_events: OnEvents) -> None:
        """Read the answer; call `on_events` with its events. What it cost is booked in any case.

        Cancelling this closes the upstream request at once.
        """
        try:
            async with asyncio.timeout(self._seconds_left) as self._deadline:
                await with_retries(partial(self._ask, on_events), _wait_quietly, self._fall_back)
            over = self.answer.is_over_budget
            self.ending = Ending.OVER_BUDGET if over else self.answer.reply.ending
        except TimeoutError:
            self.stopped, self.ending = self.stopped or REVOKED, self._stopped_as
        finally:
            self._deadline = None
            booking = asyncio.create_task(self._book())
            _booking.add(booking)
            booking.add_done_callback(_booking.discard)
            await asyncio.shield(booking)

    def stop(self, sentence: str, ending: Ending) -> None:
        """Close the upstream request and let `run` return."""
        if self._deadline and not self.stopped:
            self.stopped, self._stopped_as = sentence, ending
            self._deadline.reschedule(asyncio.get_running_loop().time())

    @property
    def has_arrived(self) -> bool:
        return any(choice.has_arrived for choice in self.answer.choices)

    @property
    def saves(self) -> bool:
        """Whether the chat is saved when it has ended."""
        has_ended_well = self.has_arrived or self.ending is Ending.NO_ANSWER
        return self.request.completion_request.chat is not None and has_ended_well

    @property
    def _seconds_left(self) -> float | None:
        expires_at = self.request.completion_request.token.expires_at
        return (expires_at - timezone.now()).total_seconds() if expires_at else None

    async def _ask(self, on_events: OnEvents) -> None:
        """Send the request once. Raises `RequestFailed` if it failed before anything arrived."""
        request, answer, options = self.request, self.answer, self.request.options
        answer.cost.end_try(answer.choices)
        stream = answer.ask(request.upstream, request.model, request.history, options)
        async with aclosing(stream) as batches:
            async for events in batches:
                self._note_events(events)
                await answer.budget.grow()
                await on_events(events)
        error = answer.reply.error
        if self.has_arrived or (error is None and answer.reply.ending is not Ending.CUT_OFF):
            return
        if error and await self._is_respelled(error):
            await self._ask(on_events)
            return
        raise RequestFailed(error)

    def _note_events(self, events: list[Event]) -> None:
        if any(isinstance(event, UsageOptionRefused) for event in events):
            self.request.upstream.takes_usage_option = False
        if self._first_token is None and self.has_arrived:
            self._first_token = self._seconds
            name = self.request.upstream.name
            metrics.time_to_first_token.labels(name).observe(self._first_token)

    async def _is_respelled(self, error: UpstreamError) -> bool:
        """Learn which fields the model refuses; return whether all have another name."""
        upstream, model = self.request.upstream, self.request.model
        refusal = find_refusal(error, self.request.options.parameters)
        if (
            refusal is None
            or refusal.of_value
            or not upstream.has_other_names(model, refusal.fields)
        ):
            return False
        upstream.learn_refusals(model, refusal.fields)
        await run_in_write_thread(
            partial(Upstream.remember_refusals, upstream.pk, model, refusal.fields)
        )
        return upstream.has_other_names(model, refusal.fields)

    async def _fall_back(self, error: UpstreamError | None) -> bool:
        """Go on with a fallback of the model that failed; return whether there is one."""
        spent = self.answer.cost.usage(self.answer.choices)
        spent.ending = self.answer.reply.ending
        request = await self._fallbacks.next(error, spent)
        if request is None:
            return False
        self.request = request
        self.answer = UnsavedAnswer(self._client, request.reservation)
        return True

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._started_at

    async def _book(self) -> None:
        upstream = self.request.upstream
        metrics.endings.labels(upstream.name, self.ending).inc()
        self.usage = self.answer.cost.usage(self.answer.choices)
        self.usage.ending = self.ending
        self.usage.first_token_ms = milliseconds(self._first_token)
        self.usage.duration_ms = milliseconds(self._seconds)
        while True:
            try:
                await run_in_write_thread(self._store)
            except (OperationalError, InterfaceError) as error:
                logger.error("The usage of a request waits for the database: %s", error)
                await asyncio.sleep(BOOK_AGAIN_SECONDS)
            else:
                return

    @transaction.atomic
    def _store(self) -> None:
        request = self.request
        self._store_chat()
        upstream, error = request.upstream, self.answer.reply.error
        asked_by = (request.pk, request.completion_request.person, upstream, request.model)
        book(partial(self.usage.charge_request, *asked_by), upstream)
        if self.ending in FAILURES:
            UpstreamFailure.count_failure(upstream.pk, error.kind if error else self.ending)
        if not upstream.takes_usage_option:
            Upstream.objects.filter(pk=upstream.pk).update(takes_usage_option=False)

    def _store_chat(self) -> None:
        """Save the chat if the script wants that, and if there is anything of an answer."""
        chat, person = self.request.completion_request.chat, self.request.completion_request.person
        if chat is None or not self.saves:
            return
        # Locked before it is booked: a person who is erased meanwhile must not get a new chat.
        if User.objects.select_for_update().filter(pk=person).exists():
            chat.store(person, self._answer)

    @property
    def _answer(self) -> ApiAnswer:
        request = self.request
        return ApiAnswer(
            request.pk,
            request.upstream,
            request.model,
            request.failed_models,
            self.answer.choices,
            self.ending,
            request.began_at,
            self._first_token,
            self._seconds,
        )


async def _wait_quietly(_error: UpstreamError, _seconds: float, _number: int) -> None:
    """Say nothing about a retry: a script waits for the answer or the last error."""


class Completions:
    """The requests of scripts that run in this process."""

    def __init__(self, process: UUID, client: UpstreamClient) -> None:
        self._process = process
        self._client = client
        self._running: dict[Completion, asyncio.Task[object]] = {}
        self._beginning: Counter[int] = Counter()  # by person
        self._has_ended = False

    def __len__(self) -> int:
        return len(self._running)

    async def begin(self, completion_request: CompletionRequest, choice: ModelChoice) -> Completion:
        """Reserve budget for a request and return it, to be run. Raises `Refused`."""
        if self._has_ended:
            raise Restarting(RESTARTING)
        limit = settings.CHATAPP_REPLIES_PER_PERSON
        mine = [
            completion
            for completion in self._running
            if completion.request.completion_request.person == completion_request.person
        ]
        # Those that begin count, too: many may arrive before the first is running.
        if len(mine) + self._beginning[completion_request.person] >= limit:
            raise TooMany(TOO_MANY.format(limit))
        key = uuid4()
        self._beginning[completion_request.person] += 1
        try:
            request = await run_in_write_thread(
                partial(ApiRequest.begin, completion_request, choice, self._process, key)
            )
        except asyncio.CancelledError:  # the thread may have reserved it all the same
            await run_in_write_thread(partial(ApiRequest.forget, key))
            raise
        finally:
            self._beginning -= Counter({completion_request.person: 1})  # removes those without any
        return Completion(request, self._client)

    @contextmanager
    def running(self, completion: Completion) -> Iterator[None]:
        """Count the completion as running, until its answer has been sent."""
        task = asyncio.current_task()
        assert task
        self._running[completion] = task
        try:
            yield
        finally:
            del self._running[completion]

    async def recheck_access(self, people: set[int] | None) -> None:
        """Stop the requests of those who may not send them any more; None means everybody's."""
        for completion in list(self._running):
            if people is None or completion.request.completion_request.person in people:
                try:
                    await database_sync_to_async(completion.request.check)()
                except Refused as refused:
                    completion.stop(str(refused), Ending.ABANDONED)

    async def end(self, seconds: float) -> None:
        """Accept no more requests, give those running some time, then stop them."""
        self._has_ended = True
        if self._running:
            await asyncio.wait(self._running.values(), timeout=seconds)
        for completion in list(self._running):
            completion.stop(RESTARTING, Ending.INTERRUPTED)
        if self._running:
            await asyncio.wait(self._running.values(), timeout=LAST_SECONDS)
