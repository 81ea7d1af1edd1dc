"""What is shared of a chat, by a link or in a project: a branch, and nothing beside it."""

from typing import Any, ClassVar, Protocol
from uuid import UUID

from chatapp.models.accounts.users import User
from chatapp.models.conversations import branches
from chatapp.models.conversations.images import FIRST_OF_TOOLS, ReplyImage
from chatapp.models.conversations.messages import Message
from chatapp.models.conversations.thread_pages import ThreadPage
from chatapp.models.files.attachments import Attachment
from chatapp.models.refusals import NotHere


class SharedView(Protocol):
    """A chat that others read: a `SharedChat`, or a `ProjectChat`."""

    COPIED: ClassVar[str]  # the audit log's name for copying it

    conversation: Any  # a `Conversation`
    shows_reasoning: Any  # whether it does, as for the others
    shows_tools: Any
    shows_files: Any
    shows_author: Any

    @property
    def conversation_id(self) -> Any: ...
    @property
    def message_id(self) -> Any: ...
    def is_open_to(self, user: User) -> bool: ...


def newest(link: SharedView) -> ThreadPage:
    """Return the newest messages of the branch."""
    return _branch(link).newest()


def before(link: SharedView, message: UUID) -> ThreadPage:
    """Return the messages before this one of the branch. Raises `NotHere`."""
    branch = _branch(link)
    if message not in _path(branch):
        raise NotHere
    return branch.before(message)


def whole(link: SharedView) -> tuple[list[UUID], UUID | None]:
    """Return the ids of all messages that are shown, parents first, and the last of the branch."""
    branch = _branch(link)
    path = branches.ancestors(branch.end.pk, branches.ANY)[::-1] if branch.end else []
    return [*path, *(one.pk for one in branch.together[1:])], branch.leaf


def attachment_of(link: SharedView, pk: UUID) -> Attachment:
    """Return an attached file of the branch. Raises `NotHere`."""
    files = Attachment.objects.defer("file__content__text")
    files = files.select_related("file__content__thumbnail", "message")
    found = files.filter(pk=pk, message__conversation=link.conversation_id).first()
    if not link.shows_files or found is None or found.message is None:
        raise NotHere
    _check(link, found.message)
    return found


def image_of(link: SharedView, reply: UUID, position: int) -> ReplyImage:
    """Return an image that came with a reply of the branch. Raises `NotHere`."""
    images = ReplyImage.objects.select_related("file", "message")
    of_chat = images.filter(message__conversation=link.conversation_id)
    found = of_chat.filter(message=reply, position=position).first()
    is_hidden = not link.shows_files or (position >= FIRST_OF_TOOLS and not link.shows_tools)
    if is_hidden or found is None:
        raise NotHere
    _check(link, found.message)
    return found


def _check(link: SharedView, message: Message) -> None:
    """Raise `NotHere` if the message was deleted or is not on the branch."""
    if message.deleted_at or message.pk not in _path(_branch(link)):
        raise NotHere


def _branch(link: SharedView) -> ThreadPage:
    """Return the branch without messages."""
    if link.message_id is None:
        standing: ThreadPage = link.conversation.standing()
        return standing
    end = Message.objects.only(*Message.KNOWN_BY).get(pk=link.message_id)
    return ThreadPage(link.conversation, [], end)


def _path(branch: ThreadPage) -> set[UUID]:
    """Return the ids of all messages of the branch, and of replies side by side at its end."""
    path = branches.ancestors(branch.end.pk, branches.ANY) if branch.end else []
    return {*path, *(one.pk for one in branch.together)}
