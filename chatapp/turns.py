"""What a person asks for, stored: prompts, retries, and a conversation as it is shown.

All of it is synchronous; `asked` is a form's cleaned data. Raises `Refused` where it can't be, and
`StillStreaming` where a reply is being written.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import IntegrityError, transaction

from chatapp.models import Conversation, Message, StillStreaming, Upstream, User

NOT_OFFERED = "This model is not offered any more. Choose another."


class Refused(Exception):
    """Why an action was not taken, as a sentence for the person."""


@dataclass(frozen=True)
class Turn:
    """A stored prompt and the reply to come."""

    thread: list[Message]
    is_repeated: bool = False

    @property
    def prompt(self) -> Message:
        return self.thread[-2]

    @property
    def reply(self) -> Message:
        return self.thread[-1]

    @property
    def conversation(self) -> Conversation:
        return self.reply.conversation

    @property
    def history(self) -> list[Mapping[str, object]]:
        earlier = self.thread[:-1]
        return [one for message in earlier for one in message.as_chat_messages(self.reply)]


@dataclass(frozen=True)
class View:
    """A conversation as it is shown: one branch, through the reply that streams where one does."""

    conversation: Conversation
    thread: list[Message]
    streaming: Message | None  # in whatever process

    @property
    def head(self) -> Message | None:
        return self.thread[-1] if self.thread else None


def store_prompt(user: User, asked: dict[str, Any], process: UUID | None) -> Turn:
    """The turn of a new prompt, or of one that was stored already, perhaps just now.

    A tab that lost its socket sends its prompt again, and another process may be storing it. The
    reply will stream in `process`; without one nothing new is stored.
    """
    with suppress(StillStreaming, IntegrityError):
        return _stored_prompt(user, asked) or _store_new_prompt(user, asked, process)
    return _stored_prompt(user, asked) or _store_new_prompt(user, asked, process)


def store_retry(user: User, asked: dict[str, Any], process: UUID | None) -> Turn:
    """The turn of one more reply to the prompt of a reply, which will stream in `process`."""
    conversation = user.conversations.filter(messages=asked["reply"]).first()
    prompt = conversation and conversation.messages.filter(children=asked["reply"]).first()
    if not conversation or not prompt:
        raise Refused("That reply is not here any more. Reload the page.")
    _refuse_too_many(user)
    upstream, model = _upstream_of(asked["model"])
    reply = conversation.answer(prompt, upstream, model, _open(process))
    thread = conversation.thread(reply.pk)
    thread[-1].upstream = upstream  # whose key is read
    return Turn(thread)


def view(user: User, pk: UUID, head: UUID | None) -> View:
    """A conversation of this person's, through `head` where no reply streams in it."""
    conversation = _own_conversation(user, pk)
    streaming = conversation.messages.streaming().first()
    through = streaming.pk if streaming else head
    return View(conversation, conversation.thread(through), streaming)


def _store_new_prompt(user: User, asked: dict[str, Any], process: UUID | None) -> Turn:
    here = _open(process)
    _refuse_too_many(user)
    upstream, model = _upstream_of(asked["model"])
    with transaction.atomic():
        if asked["conversation"]:
            conversation = _own_conversation(user, asked["conversation"])
        else:
            title = Conversation.title_of(asked["message"])
            conversation = Conversation(user=user, title=title)
        thread = conversation.thread(asked["parent"]) if asked["conversation"] else []
        parent = thread[-1] if thread else None
        prompt, reply = conversation.ask(
            asked["prompt"] or uuid4(), asked["message"], parent, upstream, model, here
        )
    return Turn([*thread, prompt, reply])


def _stored_prompt(user: User, asked: dict[str, Any]) -> Turn | None:
    """The turn of a prompt that was stored before its socket was lost."""
    asked_before = Message.objects.filter(pk=asked["prompt"])
    if not asked_before.exists():
        return None
    prompt = asked_before.select_related("conversation").get()
    if prompt.conversation.user_id != user.pk or prompt.content != asked["message"]:
        asked["prompt"] = None
        return None
    return Turn(prompt.conversation.thread(prompt.pk), is_repeated=True)


def _open(process: UUID | None) -> UUID:
    if process is None:
        raise Refused("The server is restarting. Your text is kept: send it again in a moment.")
    return process


def _refuse_too_many(user: User) -> None:
    running = Message.objects.streaming().filter(conversation__user=user)
    if running.count() >= settings.CHATAPP_REPLIES_PER_PERSON:
        raise Refused(
            f"{settings.CHATAPP_REPLIES_PER_PERSON} replies are being written for you already. "
            "Stop one, or wait for its end; your text is kept."
        )


def _own_conversation(user: User, pk: UUID) -> Conversation:
    conversation = user.conversations.filter(pk=pk).first()
    if conversation is None:
        raise Refused("This conversation is not here any more. Start a new chat.")
    return conversation


def _upstream_of(choice: tuple[int, str]) -> tuple[Upstream, str]:
    upstream = Upstream.objects.filter(pk=choice[0], enabled=True).first()
    named = upstream.offered_models.split() if upstream else []
    if upstream is None or (named and choice[1] not in named):
        raise Refused(NOT_OFFERED)
    if upstream.secret_problem:
        raise Refused(upstream.secret_problem)
    return upstream, choice[1]
