"""Actions on the branches of a conversation: delete, restore and fork.

Each shows its result in all tabs of the conversation, in every process.
"""

from chatapp.chat.submission import write_for_viewer
from chatapp.models import Conversation, Deletion, Fork, Restoration
from chatapp.realtime.viewers import Viewer, show_to
from chatapp.realtime.worker import worker
from chatapp.rendering import fragments


async def delete(viewer: Viewer, deletion: Deletion) -> None:
    """Delete a message and what follows it, and offer to undo it in this tab; raises `Refused`."""
    head = viewer.head
    deleted = await write_for_viewer(viewer, deletion.store)
    _announce_change(deleted.conversation)
    await viewer.show(fragments.deleted_fragment(deleted, head))


async def restore(viewer: Viewer, restoration: Restoration) -> None:
    """Restore deleted messages; raises `Refused`."""
    conversation = await write_for_viewer(viewer, restoration.store)
    viewer.shows_end = True
    _announce_change(conversation)
    await viewer.show(fragments.restored_fragment())


async def fork(viewer: Viewer, fork: Fork) -> None:
    """Copy the conversation and open the copy in the tab that asked for it; raises `Refused`.

    Others can write between its steps, and only one fork is made at a time, so no prompt waits
    longer than one step.
    """
    hourly = worker().stored_bytes[viewer.user_id]
    async with worker().one_fork_at_a_time:
        copying = await write_for_viewer(viewer, lambda user: fork.begin(user, hourly))
        while not await write_for_viewer(viewer, copying.step):
            pass
    conversation = copying.conversation
    tabs = worker().viewers.for_user(viewer.user_id)
    await show_to(tabs, fragments.sidebar_fragment(conversation, running=False, first=True))
    await viewer.show(fragments.onward_fragment(conversation))


def _announce_change(conversation: Conversation) -> None:
    worker().thread_changed(conversation.user_id, conversation.pk)
