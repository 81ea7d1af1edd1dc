"""What arrives of a running reply: journalled first, then folded into the reply, then shown."""

import time

from chatapp import metrics
from chatapp.models import Message
from chatapp.realtime.generation.answer import Answer
from chatapp.realtime.generation.budget_guard import BudgetGuard
from chatapp.realtime.generation.frame_scheduler import FrameScheduler
from chatapp.realtime.journal import Segment
from chatapp.rendering.fragments import LiveReply
from chatapp.upstream.wire.events import (
    AnswerDelta,
    AnswerWasReasoning,
    ChoiceEvent,
    Event,
    ReasoningDelta,
    RefusalDelta,
    ToolCallDelta,
    UsageOptionRefused,
    UsageReported,
)

MANY_EVENTS = 32  # in one read: more than a model writes at once


class Arrivals(Answer):
    """The answer of a reply as it arrives. `live` shows the first choice."""

    def __init__(
        self,
        message: Message,
        live: LiveReply,
        frames: FrameScheduler,
        journal: Segment,
        budget: BudgetGuard,
    ) -> None:
        super().__init__(budget)
        self.message = message
        self.live = live
        self.frames = frames
        self.journal = journal
        self.is_dirty = False  # since the latest checkpoint
        self.reads_for_usage_only = False
        self._started_at = time.monotonic()
        self._thinking_since: float | None = None

    @property
    def seconds(self) -> float:
        """The time since the reply began."""
        return time.monotonic() - self._started_at

    def apply_if_few(self, events: list[Event]) -> bool:
        """Apply the events of a read at once, unless there are so many that others would wait."""
        if self.reads_for_usage_only or len(events) > MANY_EVENTS:
            return False
        self.apply(events)
        return True

    def apply(self, events: list[Event]) -> None:
        """Journal, fold and show the events of one read."""
        read_at = time.monotonic()
        if self.reads_for_usage_only:
            events = [event for event in events if isinstance(event, UsageReported)]
        self.journal.append(events)
        for event in events:
            for choice in self.choices:
                choice.apply(event)
            if not isinstance(event, ChoiceEvent) or event.choice == 0:
                self._show(event)
        self.budget.count(events)
        self.is_dirty = True
        self.frames.soon(read_at)

    def end_thinking(self) -> None:
        if self._thinking_since and self.message.reasoning_duration is None:
            self.message.reasoning_duration = time.monotonic() - self._thinking_since

    def begin_round(self) -> None:
        super().begin_round()
        self.live.begin_round()

    def restart(self) -> None:
        super().restart()
        self.journal.restart()
        self.live.ask_another()

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
                self.live.answer_was_reasoning(self.reply.reasoning)
            case ToolCallDelta(index, call_id, name, arguments):
                self.end_thinking()
                self.live.write_call(index, call_id, name, arguments)
            case UsageOptionRefused():
                self.refused_usage_option = True

    def _show_text(self, region: str, text: str) -> None:
        if self.message.time_to_first_token is None:
            self.message.time_to_first_token = self.seconds
            upstream = self.message.upstream
            metrics.time_to_first_token.labels(upstream.name if upstream else "").observe(
                self.seconds
            )
        self.live.append(region, text)
