"""Actions on what a conversation sends: leave out its oldest part, send it again, summarise it.

Each shows its result in all tabs of the conversation, in every process.
"""

from uuid import UUID

from chatapp.chat.submission import offered_models, write_for_viewer
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
from chatapp.realtime.viewers import Viewer
from chatapp.realtime.worker import worker
from chatapp.rendering import fragments

IN_THE_LIST = "The summary is ready, at the beginning of a new chat. You find it in the list."


async def change(viewer: Viewer, request: LeaveOut | SendAgain | EditSummary) -> None:
    """Change what is sent from the next prompt on; raises `Refused`."""
    conversation = await write_for_viewer(viewer, request.store)
    worker().thread_changed(conversation.user_id, conversation.pk)


async def summarise(viewer: Viewer, request: Summarise) -> None:
    """Begin to write a summary; raises `Refused`."""
    if worker().draining.has_begun:
        raise Refused("The server is restarting. Try again in a moment.")

    def begin(user: User) -> tuple[User, PlannedSummary]:
        return user, request.begin(user, worker().id)

    with worker().summaries.beginning(viewer.user_id):
        await offered_models([request.by], viewer.user_id)
        person, planned = await write_for_viewer(viewer, begin)

        async def show_stored(conversation: Conversation) -> str:
            if planned.for_new:
                return await _open(viewer, planned.conversation.pk, conversation)
            worker().thread_changed(conversation.user_id, conversation.pk)
            return ""

        worker().summaries.start(planned, person, viewer, show_stored)


def cancel(viewer: Viewer, conversation: UUID) -> None:
    """Cancel the summary that is being written of this conversation, in any process."""
    worker().summaries.stop(viewer.user_id, conversation)


async def _open(viewer: Viewer, before: UUID, conversation: Conversation) -> str:
    """Show a new conversation in the lists, and go there in the tab that asked for it.

    If that was reloaded or closed, go there in another tab that shows the conversation before it;
    without one, return what to tell the others.
    """
    worker().list_changed(viewer.user_id)
    tabs = [viewer] if viewer in worker().viewers else list(worker().viewers.showing(before))
    if not tabs:
        return IN_THE_LIST
    await tabs[0].show(fragments.onward_fragment(conversation))
    return ""
