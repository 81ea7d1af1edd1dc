"""The summaries that are being written, in any process, and what the tabs here show of them."""

import asyncio
from uuid import UUID

from chatapp.realtime.cluster import Bus
from chatapp.realtime.cluster.messages import SummaryEnded, SummaryProgress
from chatapp.realtime.viewers import Viewer, Viewers, show_to
from chatapp.rendering import fragments

SILENCE_SECONDS = 5.0  # of a process that reports every second
SILENT = (
    "The server that was writing a summary can't be reached any more. If the chat shows no "
    "summary, nothing was left out."
)


class SummaryReports:
    """Posts reports on the summaries that are written here, and takes those of other processes.

    Any report may be lost and any process may die, so tabs are told after some seconds of silence.
    """

    def __init__(self, bus: Bus, viewers: Viewers) -> None:
        self._bus = bus
        self._viewers = viewers
        self._running: dict[UUID, SummaryProgress] = {}  # by conversation
        self._silences: dict[UUID, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def post(self, user: int, report: SummaryProgress | SummaryEnded, to: Viewer) -> None:
        """Show a report in all tabs of the conversation, in every process, and in the tab `to`."""
        self._bus.post_to_user(user, report)
        await self.show_report(report, to)

    async def show_report(
        self, report: SummaryProgress | SummaryEnded, to: Viewer | None = None
    ) -> None:
        """Show a report in the tabs here that show the conversation."""
        conversation = report.conversation
        self._cancel_timer(conversation)
        viewers = set(self._viewers.showing(conversation))
        if isinstance(report, SummaryEnded):
            self._running.pop(conversation, None)
            viewers |= {to} if to and to in self._viewers else set()
            await show_to(viewers, fragments.summary_ended_fragment(conversation, report.note))
            return
        self._running[conversation] = report
        self.expect(conversation)
        await show_to(viewers, self.render_progress(conversation))

    def expect(self, conversation: UUID) -> None:
        """Tell the tabs of the conversation unless a report comes within some seconds."""
        if conversation not in self._silences:
            loop = asyncio.get_running_loop()
            self._silences[conversation] = loop.call_later(
                SILENCE_SECONDS, self._give_up, conversation
            )

    def render_progress(self, conversation: UUID) -> str:
        """Return what a tab of the conversation shows; "" if no summary of it is written."""
        if progress := self._running.get(conversation):
            return fragments.summary_progress_fragment(conversation, progress.model, progress.words)
        return ""

    def is_written_for(self, user: int) -> bool:
        return any(progress.user == user for progress in self._running.values())

    def close(self) -> None:
        for conversation in list(self._silences):
            self._cancel_timer(conversation)

    def _cancel_timer(self, conversation: UUID) -> None:
        if silence := self._silences.pop(conversation, None):
            silence.cancel()

    def _give_up(self, conversation: UUID) -> None:
        self._running.pop(conversation, None)
        del self._silences[conversation]
        task = asyncio.create_task(self._show_silence(conversation))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _show_silence(self, conversation: UUID) -> None:
        viewers = set(self._viewers.showing(conversation))
        await show_to(viewers, fragments.summary_ended_fragment(conversation, SILENT))
        for viewer in viewers:
            await viewer.catch_up(conversation, redraw=True)
