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
from chatapp.models import ModelChoice, Refused, Usage, User
from chatapp.models.billing.usage import milliseconds
from chatapp.models.conversations.turns.api_chats import ApiAnswer
from chatapp.models.platform.upstream_failures import FAILURES, UpstreamFailure
from chatapp.realtime.completions.requests import REVOKED, ApiRequest, CompletionRequest
from chatapp.realtime.generation import run_in_write_thread
from chatapp.realtime.generation.asking import Asking
from chatapp.realtime.generation.fallback import Fallbacks
from chatapp.realtime.generation.request import Request
from chatapp.realtime.generation.unsaved import UnsavedAnswer, book
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.wire.errors.upstream_error import UpstreamError
from chatapp.upstream.wire.events import Event
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.requests.concessions import Concession

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


class Completion(Asking[ApiRequest, UnsavedAnswer]):
    """One request and the answer to it. Await `run` once; `stop` may be called at any time."""

    # The others would change what the script has sent.
    possible_concessions = frozenset({Concession.PARTS})

    def __init__(self, request: ApiRequest, client: UpstreamClient) -> None:
        answer = UnsavedAnswer(client, request.reservation)
        fallbacks = Fallbacks(request, ApiRequest.for_model, ApiRequest.take_over)
        super().__init__(request, answer, fallbacks)
        self.usage = Usage.empty()  # once `run` has returned
        self.stopped = ""  # a sentence that says why it was stopped
        self.ending = Ending.ABANDONED
        self._show_events: OnEvents | None = None
        self._deadline: asyncio.Timeout | None = None
        self._stopped_as = Ending.ABANDONED
        self._started_at = time.monotonic()
        self._first_token: float | None = None

    async def run(self, show_events: OnEvents) -> None:
        """Read the answer; call `show_events` with its events. What it cost is booked in any case.

        Cancelling this closes the upstream request at once.
        """
        self._show_events = show_events
        try:
            async with asyncio.timeout(self._seconds_left) as self._deadline:
                await self.ask()
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
    def saves(self) -> bool:
        """Whether the chat is saved when it has ended."""
        has_ended_well = self.answer.has_arrived or self.ending is Ending.NO_ANSWER
        return self.asked.completion_request.chat is not None and has_ended_well

    async def prepare(self) -> Request:
        request = self.asked
        return Request(
            request.upstream,
            request.model,
            request.history,
            request.options,
            request.completion_request.parameters,
            is_ours=False,
        )

    async def send(self, request: Request) -> None:
        assert self._show_events
        async with aclosing(self.answer.read(request)) as batches:
            async for events in batches:
                if self._first_token is None and self.answer.has_arrived:
                    self._first_token = self._seconds
                    name = request.upstream.name
                    metrics.time_to_first_token.labels(name).observe(self._first_token)
                await self.answer.budget.grow()
                await self._show_events(events)

    def explain(self, request: Request, error: UpstreamError) -> UpstreamError:
        """Return the error in the upstream's words, which name what the script has sent."""
        return error

    async def show_retry(self, error: UpstreamError, seconds: float, number: int) -> None:
        """Say nothing: a script waits for the answer or the last error."""

    async def go_on_with(self, asked: ApiRequest) -> None:
        """Do nothing more: chunks name the model that writes them."""

    @property
    def _seconds_left(self) -> float | None:
        expires_at = self.asked.completion_request.token.expires_at
        return (expires_at - timezone.now()).total_seconds() if expires_at else None

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._started_at

    async def _book(self) -> None:
        metrics.endings.labels(self.upstream.name, self.ending).inc()
        self.usage = self.answer.usage
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
                break
        try:
            await run_in_write_thread(self.store_lessons)
        except (OperationalError, InterfaceError) as error:
            logger.warning("What a request taught about a model is lost: %s", error)

    @transaction.atomic
    def _store(self) -> None:
        request = self.asked
        self._store_chat()
        upstream, error = request.upstream, self.answer.reply.error
        asked_by = (request.pk, request.completion_request.person, upstream, request.model)
        book(partial(self.usage.charge_request, *asked_by), upstream)
        if self.ending in FAILURES:
            UpstreamFailure.count_failure(upstream.pk, error.kind if error else self.ending)

    def _store_chat(self) -> None:
        """Save the chat if the script wants that, and if there is anything of an answer."""
        chat, person = self.asked.completion_request.chat, self.asked.completion_request.person
        if chat is None or not self.saves:
            return
        # Locked before it is booked: a person who is erased meanwhile must not get a new chat.
        if User.objects.select_for_update().filter(pk=person).exists():
            chat.store(person, self._build_answer())

    def _build_answer(self) -> ApiAnswer:
        request = self.asked
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
            if completion.asked.completion_request.person == completion_request.person
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
            if people is None or completion.asked.completion_request.person in people:
                try:
                    await database_sync_to_async(completion.asked.check)()
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
