"""Actions on what a conversation sends: leave out its oldest part, send it again, summarise it.

Each shows its result in all tabs of the conversation, in every process.
"""

from uuid import UUID

from chatapp.chat.submission import offered_models, written
from chatapp.models import (
    Conversation,
    EditSummary,
    LeaveOut,
    PlannedSummary,
    Refused,
    SendAgain,
    Summarise,
    User,
)
from chatapp.realtime.viewers import Viewer, show_to
from chatapp.realtime.worker import worker
from chatapp.rendering import fragments


async def change(viewer: Viewer, request: LeaveOut | SendAgain | EditSummary) -> None:
    """Change what is sent from the next prompt on; raises `Refused`."""
    conversation = await written(viewer, request.store)
    worker().thread_changed(conversation.user_id, conversation.pk)


async def summarise(viewer: Viewer, request: Summarise) -> None:
    """Begin to write a summary; raises `Refused`."""
    if worker().draining.has_begun:
        raise Refused("The server is restarting. Try again in a moment.")
    worker().summaries.check_free(viewer.user_id)
    await offered_models([request.by], viewer.user_id)

    def begin(user: User) -> tuple[User, PlannedSummary]:
        return user, request.begin(user, worker().id)

    person, planned = await written(viewer, begin)

    async def ended(conversation: Conversation) -> None:
        if planned.for_new:
            await _open(viewer, conversation)
        else:
            worker().thread_changed(conversation.user_id, conversation.pk)

    async def failed(sentence: str) -> None:
        await viewer.show(fragments.problem_fragment(sentence))

    worker().summaries.check_free(viewer.user_id)
    worker().summaries.start(planned, person, _report, ended, failed)


def cancel(viewer: Viewer, conversation: UUID) -> None:
    """Cancel the summary that is being written of this conversation."""
    worker().summaries.cancel(viewer.user_id, conversation)


async def _report(planned: PlannedSummary, words: int | None) -> None:
    showing = worker().viewers.showing(planned.conversation.pk)
    await show_to(list(showing), fragments.summary_progress_fragment(planned, words))


async def _open(viewer: Viewer, conversation: Conversation) -> None:
    """Show a new conversation in the lists, and go there in the tab that asked for it."""
    tabs = worker().viewers.all_of(viewer.user_id)
    await show_to(tabs, fragments.sidebar_fragment(conversation, running=False, first=True))
    await viewer.show(fragments.onward_fragment(conversation))
