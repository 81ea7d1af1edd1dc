"""The shared part of a chat, by a link or in a project: a branch, and nothing beside it."""

from typing import Any, ClassVar, Protocol
from uuid import UUID

from chatapp.models.accounts.users import User
from chatapp.models.conversations.messages.images import FIRST_OF_TOOLS, ReplyImage
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.conversations.threads import branches
from chatapp.models.conversations.threads.thread_pages import ThreadPage
from chatapp.models.files.attachments import Attachment
from chatapp.models.refusals import ChatNotFound


class SharedView(Protocol):
    """A chat that others read: a `SharedChat`, or a `ProjectChat`."""

    COPY_ACTION: ClassVar[str]  # the audit log's name for copying it

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
    """Return the messages before this one of the branch. Raises `ChatNotFound`."""
    branch = _branch(link)
    if message not in _path(branch):
        raise ChatNotFound
    return branch.before(message)


def get_message_ids(link: SharedView) -> tuple[list[UUID], UUID | None]:
    """Return the ids of all messages that are shown, parents first, and the last of the branch."""
    branch = _branch(link)
    path = branches.ancestors(branch.end.pk, branches.NO_LIMIT)[::-1] if branch.end else []
    return [*path, *(reply.pk for reply in branch.together[1:])], branch.leaf


def get_attachment(link: SharedView, pk: UUID) -> Attachment:
    """Return an attached file of the branch. Raises `ChatNotFound`."""
    files = Attachment.objects.defer("file__content__text")
    files = files.select_related("file__content__thumbnail", "message")
    attachment = files.filter(pk=pk, message__conversation=link.conversation_id).first()
    if not link.shows_files or attachment is None or attachment.message is None:
        raise ChatNotFound
    _check(link, attachment.message)
    return attachment


def get_image(link: SharedView, reply: UUID, position: int) -> ReplyImage:
    """Return an image that came with a reply of the branch. Raises `ChatNotFound`."""
    images = ReplyImage.objects.select_related("file", "message")
    of_chat = images.filter(message__conversation=link.conversation_id)
    image = of_chat.filter(message=reply, position=position).first()
    is_hidden = not link.shows_files or (position >= FIRST_OF_TOOLS and not link.shows_tools)
    if is_hidden or image is None:
        raise ChatNotFound
    _check(link, image.message)
    return image


def _check(link: SharedView, message: Message) -> None:
    """Raise `ChatNotFound` if the message was deleted or is not on the branch."""
    if message.deleted_at or message.pk not in _path(_branch(link)):
        raise ChatNotFound


def _branch(link: SharedView) -> ThreadPage:
    """Return the branch without messages."""
    if link.message_id is None:
        page: ThreadPage = link.conversation.load_thread_page()
        return page
    end = Message.objects.only(*Message.BRANCH_FIELDS).get(pk=link.message_id)
    return ThreadPage(link.conversation, [], end)


def _path(branch: ThreadPage) -> set[UUID]:
    """Return the ids of all messages of the branch, and of replies side by side at its end."""
    path = branches.ancestors(branch.end.pk, branches.NO_LIMIT) if branch.end else []
    return {*path, *(reply.pk for reply in branch.together)}
