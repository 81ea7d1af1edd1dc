"""Writes a reply in rounds: asks the model, runs the tools that it calls, and asks again."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from channels.db import database_sync_to_async
from structlog.contextvars import bind_contextvars

from chatapp.catalogue import build_endpoint
from chatapp.models import ChatSettings, ToolServer, Turn, Usage
from chatapp.models.conversations.messages.rounds import Round, ToolRun
from chatapp.models.conversations.turns.takeovers import plan_takeover, take_over
from chatapp.reading.images import with_images
from chatapp.reading.tool_images import ToolImages
from chatapp.realtime.generation.arrivals import MANY_EVENTS, Arrivals
from chatapp.realtime.generation.asking import Asking
from chatapp.realtime.generation.fallback import Fallbacks
from chatapp.realtime.generation.options import build_options
from chatapp.realtime.generation.request import Request, adapt_history
from chatapp.realtime.generation.tool_runs import ToolRuns
from chatapp.tools import Tool
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.events import Failed
from chatapp.upstream.wire.requests.content import join_texts
from chatapp.upstream.wire.requests.dialects import ChatMessage
from chatapp.upstream.wire.requests.history import History

logger = logging.getLogger(__name__)

MAX_ROUNDS = 8
SECONDS_AN_EVENT = 0.0001  # to sleep after a large read: about as long as it took to decode


class Writer(Asking[Turn, Arrivals]):
    """Writes one reply."""

    def __init__(self, turn: Turn, client: UpstreamClient, arrivals: Arrivals) -> None:
        super().__init__(turn, arrivals, Fallbacks(turn, plan_takeover, take_over))
        self.message = turn.reply
        self._person = turn.conversation.user_id
        self._client = client
        self._history = turn.history
        # Those of the turn serve the first request only; they may have changed by the next.
        self._tool_servers: Sequence[ToolServer] | None = turn.tool_servers
        self._rounds: list[Round] = []
        self._tool_runs: ToolRuns | None = None
        self._tool_images = ToolImages(turn.reply.pk, self._person)
        self._is_streaming = False

    async def write(self) -> None:
        """Send requests until the model calls no more tools. Failures end up in the reply."""
        for _ in range(MAX_ROUNDS):
            await self.ask()
            if self.answer.reads_for_usage_only or not self.answer.reply.wants_tools:
                return
            self._tool_runs = ToolRuns(
                self.answer.reply.tool_calls,
                self._show_run,
                self._person,
                self._always_allows,
                self.asked.off_servers,
                self._tool_images.keep,
            )
            await self._tool_runs.finish()
            self._begin_round()
        message = f"the model called tools in {MAX_ROUNDS} rounds without answering"
        self.answer.reply.apply(Failed(UpstreamError(ErrorKind.TOO_MANY_ROUNDS, message)))

    def read_on_for_usage(self) -> bool:
        """Ignore everything from now on but the usage.

        Returns False, and changes nothing, if the upstream is not set up for it or the usage can
        no longer arrive.
        """
        answer = self.answer
        can_read_on = self.upstream.drains_stopped and self._is_streaming and not answer.reply.usage
        answer.reads_for_usage_only = can_read_on
        return can_read_on

    def decide(self, round: int, call: int, allowed: bool, always: bool) -> None:
        """Allow or deny a tool call of this round."""
        if self._tool_runs and round == len(self._rounds):
            self._tool_runs.decide(call, allowed, always)

    def update_message(self) -> Usage:
        """Copy all that has arrived to the message; return the usage of all rounds together."""
        self.answer.is_dirty = False
        self.message.copy_progress(self.answer.reply, self._runs())
        usage = self.answer.usage
        self.message.usage_so_far = usage.as_record()
        return usage

    def cancel_tools(self) -> None:
        for run in self._runs():
            run.cancel_unfinished()

    async def prepare(self) -> Request:
        servers, self._tool_servers = self._tool_servers, None
        options, conceded = await build_options(self.asked, servers)
        if conceded:
            extras = self.message.earlier_extras
            self.message.earlier_extras = replace(extras, conceded=conceded)
        history = adapt_history(self._history, self.upstream, self.asked.model)
        side = self.upstream.image_side
        return Request(
            self.upstream, self.asked.model, history, options, self.asked.parameters, side
        )

    async def send(self, request: Request) -> None:
        answer, upstream, model = self.answer, request.upstream, request.model
        try:
            messages = await self._build_messages(request)
        except OSError as error:
            self._fail_for_file(error)
            return
        size, options = request.size, request.options
        request.options = await answer.budget.admit_request(
            size, answer.cost.ended_usage, options, upstream, model
        )
        if len(request.options.tools) < len(options.tools):
            size = request.size
        answer.cost.begin_try(size)
        answer.journal.ask(size, request.options.choices)
        opened = self._client.stream(
            build_endpoint(upstream), model, messages, request.options, answer.apply_if_few
        )
        async with opened as batches:
            self._is_streaming = True
            async for events in batches:
                answer.apply(events)
                if len(events) > MANY_EVENTS:
                    await asyncio.sleep(len(events) * SECONDS_AN_EVENT)
                if answer.reads_for_usage_only and answer.reply.usage:
                    break
        self._is_streaming = False

    async def _build_messages(self, request: Request) -> Sequence[ChatMessage]:
        """Return what is sent. Raises `OSError` if a file can't be read."""
        if request.joins_parts:
            return join_texts(request.history.messages)
        return await with_images(request.history, request.upstream.image_side)

    def _fail_for_file(self, error: OSError) -> None:
        """End the reply before anything was sent."""
        logger.warning("Nothing was sent, because a file could not be read: %s", error)
        is_lost = isinstance(error, FileNotFoundError)
        kind = ErrorKind.FILE_LOST if is_lost else ErrorKind.FILE_UNREADABLE
        self.answer.apply([Failed(UpstreamError(kind))])

    async def show_retry(self, error: UpstreamError, seconds: float, number: int) -> None:
        self.answer.live.tell_of_retry(error, seconds, number)
        await self.answer.frames.now()

    def may_fall_back(self) -> bool:
        """A later round of tool calls goes on with the model that called them."""
        return not self._rounds and not self.answer.reads_for_usage_only

    async def go_on_with(self, asked: Turn) -> None:
        bind_contextvars(upstream=self.upstream.name)
        self._history, self._tool_servers = asked.history, asked.tool_servers
        await self.answer.frames.now()

    async def _always_allows(self, tool: Tool) -> bool:
        conversation = self.asked.conversation.pk
        allows = database_sync_to_async(ChatSettings.allows)
        is_allowed: bool = await allows(conversation, tool.name, tool.definition)
        return is_allowed

    async def _show_run(self, index: int, run: ToolRun) -> None:
        self.answer.journal.run(index, run)
        self.answer.live.show_run(index, run)
        self.answer.is_dirty = True
        await self.answer.frames.now()

    def _begin_round(self) -> None:
        """Keep the finished round and add its results to the history of the next request."""
        answer = self.answer
        self.lessons.confirm()
        finished = Round.of(answer.reply, self._runs(), answer.cost.end_round(answer.choices))
        answer.journal.end_round(finished)
        self._rounds.append(finished)
        self.message.keep_round(finished, answer.reply)
        reasoning_field = self.message.earlier_extras.reasoning_field
        repeated = finished.as_chat_messages(
            reasoning_field, with_extras=True, files=self._tool_images.files
        )
        self._history = self._history.concatenate(History.of(repeated))
        self._tool_runs = None
        answer.begin_round()

    def _runs(self) -> list[ToolRun]:
        if self._tool_runs:
            return self._tool_runs.runs
        return [ToolRun.of(call) for call in self.answer.reply.tool_calls]
