"""Sends a reply's requests to the upstream and folds the events into rounds, running tools in
between."""

import asyncio
import logging
import time
from collections.abc import Collection, Sequence
from dataclasses import replace

from channels.db import database_sync_to_async
from structlog.contextvars import bind_contextvars

from chatapp import metrics
from chatapp.catalogue import build_endpoint
from chatapp.models import ChatSettings, ToolServer, Turn, Upstream, Usage
from chatapp.models.conversations.costs import Cost
from chatapp.models.conversations.rounds import Round, ToolRun
from chatapp.models.conversations.takeovers import plan_takeover, take_over
from chatapp.parameters.values import find_parameter_names, quote_value
from chatapp.realtime.generation.budget_guard import BudgetGuard
from chatapp.realtime.generation.fallback import Fallbacks
from chatapp.realtime.generation.frame_scheduler import FrameScheduler
from chatapp.realtime.generation.images import with_images
from chatapp.realtime.generation.requests import adapt_history, build_options, possible_concessions
from chatapp.realtime.generation.retries import RequestFailed, with_retries
from chatapp.realtime.generation.tool_images import ToolImages
from chatapp.realtime.generation.tool_runs import ToolRuns
from chatapp.realtime.journal import Segment
from chatapp.rendering.fragments import LiveReply
from chatapp.tools import Tool
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.wire.concessions import Concession, concession_for
from chatapp.upstream.wire.content import has_parts, join_texts
from chatapp.upstream.wire.dialects import ChatMessage, RequestOptions
from chatapp.upstream.wire.errors import ErrorKind, UpstreamError
from chatapp.upstream.wire.estimates import PromptSize
from chatapp.upstream.wire.events import (
    AnswerDelta,
    AnswerWasReasoning,
    ChoiceEvent,
    Event,
    Failed,
    ReasoningDelta,
    RefusalDelta,
    ToolCallDelta,
    UsageOptionRefused,
    UsageReported,
)
from chatapp.upstream.wire.history import History
from chatapp.upstream.wire.parameter_refusals import ParameterRefusal, find_refusal
from chatapp.upstream.wire.reply import Ending, Reply

logger = logging.getLogger(__name__)

MAX_ROUNDS = 8
# After a read with this many events, sleep for about as long as it took to decode them.
MANY_EVENTS = 32
SECONDS_AN_EVENT = 0.0001


class Writer:
    """Writes one reply. `reply` is the current round, `others` are that round's other choices."""

    def __init__(
        self,
        turn: Turn,
        client: UpstreamClient,
        live: LiveReply,
        frames: FrameScheduler,
        journal: Segment,
        budget: BudgetGuard,
    ) -> None:
        self.message = turn.reply
        self.reply = Reply()
        self.others: list[Reply] = []
        self.is_dirty = False
        self.refused_usage_option = False
        # What models refused of requests, by the primary key of the upstream and the model.
        self.refused_images: list[tuple[int, str]] = []
        self.refused_fields: list[tuple[int, str, Collection[str]]] = []
        # Concessions to models in the same way: those that helped, and the last one until it does.
        self._helpful: list[tuple[int, str, Concession]] = []
        self._untried: tuple[int, str, Concession] | None = None
        self._turn = turn
        self.refused_context = False
        self.person = turn.conversation.user_id
        self._history = turn.history
        self._tool_servers: Sequence[ToolServer] | None = turn.tool_servers
        self._fallbacks = Fallbacks(turn, plan_takeover, take_over)
        self._cost = Cost()
        self.budget = budget
        self._journal = journal
        self._rounds: list[Round] = []
        self._tool_runs: ToolRuns | None = None
        self._tool_images = ToolImages(turn.reply.pk, self.person)
        self._client = client
        self._live = live
        self._frames = frames
        self._started_at = time.monotonic()
        self._thinking_since: float | None = None
        self._is_streaming = False
        self._sent_parts = False
        self._sent_parameters: Collection[str] = ()
        self._reads_for_usage_only = False

    async def write(self) -> None:
        """Send requests until the model calls no more tools. Failures end up in the reply."""
        for _ in range(MAX_ROUNDS):
            await with_retries(self._ask, self._show_retry, self._fall_back)
            if self._reads_for_usage_only or not self.reply.wants_tools:
                return
            self._tool_runs = ToolRuns(
                self.reply.tool_calls,
                self._show_run,
                self.person,
                self._always_allows,
                self._turn.off_servers,
                self._tool_images.keep,
            )
            await self._tool_runs.finish()
            self._begin_round()
        message = f"the model called tools in {MAX_ROUNDS} rounds without answering"
        self.reply.apply(Failed(UpstreamError(ErrorKind.TOO_MANY_ROUNDS, message)))

    @property
    def upstream(self) -> Upstream:
        """The upstream that is asked; a fallback may be another one."""
        assert self.message.upstream
        return self.message.upstream

    def read_on_for_usage(self) -> bool:
        """Ignore everything from now on but the usage.

        Returns False, and changes nothing, if the upstream is not set up for it or the usage can
        no longer arrive.
        """
        can_read_on = self.upstream.drains_stopped and self._is_streaming and not self.reply.usage
        self._reads_for_usage_only = can_read_on
        return can_read_on

    def decide(self, round: int, call: int, allowed: bool, always: bool) -> None:
        """Allow or deny a tool call of this round."""
        if self._tool_runs and round == len(self._rounds):
            self._tool_runs.decide(call, allowed, always)

    def update_message(self) -> Usage:
        """Copy all that has arrived to the message; return the usage of all rounds together."""
        self.is_dirty = False
        self.message.copy_progress(self.reply, self._runs())
        usage = self._cost.usage(self._choices)
        self.message.usage_so_far = usage.as_record()
        return usage

    def cancel_tools(self) -> None:
        for run in self._runs():
            run.cancel_unfinished()

    def end_thinking(self) -> None:
        if self._thinking_since and self.message.reasoning_duration is None:
            self.message.reasoning_duration = time.monotonic() - self._thinking_since

    @property
    def learned_concessions(self) -> list[tuple[int, str, Concession]]:
        """The concessions with which models answered: the last one after each refusal."""
        last = [self._untried] if self._untried and self._has_arrived else []
        return [*self._helpful, *last]

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started_at

    async def _ask(self) -> None:
        """Send one request.

        Raises `RequestFailed` if it failed before anything had arrived.
        """
        options = await self._options()
        self._cost.end_try(self._choices)
        self.reply = Reply()
        self.others = [Reply(choice) for choice in range(1, options.choices)]
        await self._read_stream(options)
        error = self.reply.error
        if error and options.tools and self._learns_of_effort(error):
            await self._ask()
            return
        refusal = find_refusal(error, self._sent_parameters) if error else None
        names = find_parameter_names(refusal.fields, self._turn.parameters) if refusal else []
        # A maximum output of the chat may be what doesn't fit.
        if error and error.exceeds_context and "max_output_tokens" not in names:
            self.refused_context = True
            self.reply.error = replace(error, kind=ErrorKind.TOO_LONG)
            return
        if self._has_arrived or (error is None and self.reply.ending is not Ending.CUT_OFF):
            return
        if error is None:
            raise RequestFailed(None)
        possible = possible_concessions(self._sent_history, options, self._sent_parts)
        if self._sent_history.images and (error.refuses_images or error.refuses_parts):
            self.refused_images.append((self.upstream.pk, self.message.model))
            self.upstream.learn_image_refusal(self.message.model)
            if (
                self._sent_history.images
            ):  # those that a person attached, or an administrator insists
                self.reply.error = replace(error, kind=ErrorKind.NO_IMAGES)
            else:
                await self._ask()
        elif refusal and self._is_respelled(refusal):
            await self._ask()
        elif refusal and names:
            value = quote_value(names[0], self._turn.parameters) if refusal.of_value else ""
            kind = ErrorKind.NO_PARAMETER
            self.reply.error = replace(error, kind=kind, param=" ".join(names), code=value)
        elif concession := concession_for(error, possible):
            is_lasting = concession is not Concession.TOOLS or error.refuses_all_tools
            self._concede(concession, is_lasting)
            await self._ask()
        else:
            raise RequestFailed(error)

    def _learns_of_effort(self, error: UpstreamError) -> bool:
        """Learn of a refusal of tools together with reasoning; return whether it is news."""
        if Concession.TOOLS_WITH_EFFORT in self._concessions or not error.refuses_tools_with_effort:
            return False
        self._concede(Concession.TOOLS_WITH_EFFORT)
        return True

    def _concede(self, concession: Concession, is_lasting: bool = True) -> None:
        """Make a concession in this reply, and in later ones if it `is_lasting`."""
        model = self.message.model
        self.upstream.learn_concession(model, concession)
        self._untried = (self.upstream.pk, model, concession) if is_lasting else None

    async def _fall_back(self, error: UpstreamError | None) -> bool:
        """Go on with a fallback of the model that failed; return whether there is one.

        A later round of tool calls goes on with the model that called them.
        """
        if self._rounds or self._reads_for_usage_only:
            return False
        spent = self._cost.usage(self._choices)
        spent.ending = self.reply.ending
        turn = await self._fallbacks.next(error, spent)
        if turn is None:
            return False
        bind_contextvars(upstream=self.upstream.name)
        self._turn = turn
        self._history, self._tool_servers = turn.history, turn.tool_servers
        self.budget.reservation = turn.reservation
        self._cost = Cost()
        self.reply, self.others = Reply(), []
        self.refused_usage_option, self._untried = False, None
        self._journal.restart()
        self._live.ask_another()
        await self._frames.now()
        return True

    async def _options(self) -> RequestOptions:
        # Those of the turn serve the first request only; they may have changed by the next.
        servers, self._tool_servers = self._tool_servers, None
        options, conceded = await build_options(self._turn, servers)
        if conceded:
            extras = self.message.earlier_extras
            self.message.earlier_extras = replace(extras, conceded=conceded)
        return options

    def _is_respelled(self, refusal: ParameterRefusal) -> bool:
        """Learn which fields the model refuses; return whether all have another name."""
        if refusal.of_value:
            return False
        model, fields = self.message.model, refusal.fields
        self.refused_fields.append((self.upstream.pk, model, fields))
        self.upstream.learn_refusals(model, fields)
        return self.upstream.has_other_names(model, fields)

    async def _read_stream(self, options: RequestOptions) -> None:
        endpoint = build_endpoint(self.upstream)
        model = self.message.model
        history = self._sent_history
        try:
            messages = await self._messages(history)
        except OSError as error:
            self._fail_for_file(error)
            return
        side = self.upstream.image_side
        size = PromptSize.of(history, options.tools, side)
        admitted_options = await self.budget.admit_request(
            size, self._cost.ended_usage, options, self.upstream, model
        )
        if len(admitted_options.tools) < len(options.tools):
            size = PromptSize.of(history, image_side=side)
        options = admitted_options
        self._sent_parameters = options.parameters.keys()
        self._cost.begin_try(size)
        self._journal.ask(size, options.choices)
        opened = self._client.stream(endpoint, model, messages, options, self._apply_if_few)
        async with opened as batches:
            self._is_streaming = True
            async for events in batches:
                if self._reads_for_usage_only:
                    events = [event for event in events if isinstance(event, UsageReported)]
                self._apply_events(events)
                if len(events) > MANY_EVENTS:  # more than a model writes at once
                    await asyncio.sleep(len(events) * SECONDS_AN_EVENT)
                if self._reads_for_usage_only and self.reply.usage:
                    break
        self._is_streaming = False

    async def _messages(self, history: History) -> Sequence[ChatMessage]:
        """Return what is sent. Raises `OSError` if a file can't be read."""
        if Concession.PARTS in self._concessions and not history.images:
            self._sent_parts = False
            return join_texts(history.messages)
        self._sent_parts = has_parts(history.messages)
        return await with_images(history, self.upstream.image_side)

    def _fail_for_file(self, error: OSError) -> None:
        """End the reply before anything was sent."""
        logger.warning("Nothing was sent, because a file could not be read: %s", error)
        is_lost = isinstance(error, FileNotFoundError)
        kind = ErrorKind.FILE_LOST if is_lost else ErrorKind.FILE_UNREADABLE
        self._apply_events([Failed(UpstreamError(kind))])

    def _apply_if_few(self, events: list[Event]) -> bool:
        if self._reads_for_usage_only or len(events) > MANY_EVENTS:
            return False
        self._apply_events(events)
        return True

    def _apply_events(self, events: list[Event]) -> None:
        """Journal, fold and show the events of one read."""
        read_at = time.monotonic()
        self._journal.append(events)
        for event in events:
            self._apply(event)
        self.budget.count(events)
        self.is_dirty = True
        self._frames.soon(read_at)

    def _apply(self, event: Event) -> None:
        self.reply.apply(event)
        for other in self.others:
            other.apply(event)
        if not isinstance(event, ChoiceEvent) or event.choice == 0:
            self._show(event)

    def _show(self, event: Event) -> None:
        match event:
            case AnswerDelta(text):
                self.end_thinking()
                self._show_text("answer", text)
            case ReasoningDelta(text):
                self._thinking_since = self._thinking_since or time.monotonic()
                self._show_text("reasoning", text)
            case RefusalDelta(text):
                self.end_thinking()
                self._show_text("refusal", text)
            case AnswerWasReasoning():
                self._live.answer_was_reasoning(self.reply.reasoning)
            case ToolCallDelta(index, call_id, name, arguments):
                self.end_thinking()
                self._live.write_call(index, call_id, name, arguments)
            case UsageOptionRefused():
                self.refused_usage_option = True
                self.upstream.takes_usage_option = False

    def _show_text(self, region: str, text: str) -> None:
        if self.message.time_to_first_token is None:
            self.message.time_to_first_token = self.seconds
            metrics.time_to_first_token.labels(self.upstream.name).observe(self.seconds)
        self._live.append(region, text)

    async def _always_allows(self, tool: Tool) -> bool:
        conversation = self._turn.conversation.pk
        allows = database_sync_to_async(ChatSettings.allows)
        is_allowed: bool = await allows(conversation, tool.name, tool.definition)
        return is_allowed

    async def _show_run(self, index: int, run: ToolRun) -> None:
        self._journal.run(index, run)
        self._live.show_run(index, run)
        self.is_dirty = True
        await self._frames.now()

    async def _show_retry(self, error: UpstreamError, seconds: float, number: int) -> None:
        self._live.tell_of_retry(error, seconds, number)
        await self._frames.now()

    def _begin_round(self) -> None:
        """Keep the finished round and add its results to the history of the next request."""
        self._helpful, self._untried = self.learned_concessions, None
        finished = Round.of(self.reply, self._runs(), self._cost.end_round(self._choices))
        self._journal.end_round(finished)
        self._rounds.append(finished)
        self.message.keep_round(finished, self.reply)
        reasoning_field = self.message.earlier_extras.reasoning_field
        repeated = finished.as_chat_messages(
            reasoning_field, with_extras=True, files=self._tool_images.files
        )
        self._history = self._history.concatenate(History.of(repeated))
        self._tool_runs = None
        self.reply, self.others = Reply(), []
        self._live.begin_round()

    def _runs(self) -> list[ToolRun]:
        if self._tool_runs:
            return self._tool_runs.runs
        return [ToolRun.of(call) for call in self.reply.tool_calls]

    @property
    def _concessions(self) -> Collection[str]:
        return self.upstream.concessions_to(self.message.model)

    @property
    def _sent_history(self) -> History:
        return adapt_history(self._history, self.upstream, self.message.model)

    @property
    def _choices(self) -> list[Reply]:
        return [self.reply, *self.others]

    @property
    def _has_arrived(self) -> bool:
        return self.reply.has_arrived
