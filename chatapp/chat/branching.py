"""What a person does with the branches of a conversation besides asking: deletes and brings back,
and begins a conversation of its own from one.

Each is shown in all tabs of the conversation, wherever they are.
"""

from chatapp import frames
from chatapp.chat.asking import written
from chatapp.models import Conversation, Deletion, Fork, Restoration
from chatapp.viewers import Viewer, show_to
from chatapp.worker import worker


async def delete(viewer: Viewer, deletion: Deletion) -> None:
    """Raises `Refused`. The tab that did it offers to undo it."""
    head = viewer.head
    deleted = await written(viewer, deletion.store)
    _tell(deleted.conversation)
    await viewer.show(frames.deleted_frame(deleted, head))


async def restore(viewer: Viewer, restoration: Restoration) -> None:
    """Raises `Refused`."""
    conversation = await written(viewer, restoration.store)
    viewer.shows_end = True
    _tell(conversation)
    await viewer.show(frames.restored_frame())


async def fork(viewer: Viewer, fork: Fork) -> None:
    """Open the fork in the tab that asked for it; raises `Refused`.

    Between its steps others write, and of several forks one is made at a time, so that nobody's
    prompt waits for more than a step.
    """
    hourly = worker().stored_bytes[viewer.user_id]
    async with worker().one_fork_at_a_time:
        copying = await written(viewer, lambda user: fork.begin(user, hourly))
        while not await written(viewer, copying.step):
            pass
    conversation = copying.conversation
    tabs = worker().viewers.all_of(viewer.user_id)
    await show_to(tabs, frames.sidebar_frame(conversation, running=False, first=True))
    await viewer.show(frames.onward_frame(conversation))


def _tell(conversation: Conversation) -> None:
    worker().thread_changed(conversation.user_id, conversation.pk)
