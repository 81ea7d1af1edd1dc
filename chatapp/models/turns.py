"""Turns: what a person asks for, stored together with the reply to come.

A person is given by their `User`, and whatever is asked about is looked for in what is theirs.
`worker` is the process in which the reply will stream; without one nothing new is stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

from django.conf import settings
from django.db import IntegrityError, transaction

from chatapp.models.conversations import Conversation
from chatapp.models.messages import Message
from chatapp.models.refusals import Refused
from chatapp.models.statements import Query
from chatapp.models.tool_servers import ToolServer
from chatapp.models.upstreams import ModelChoice, Upstream
from chatapp.models.users import User

GONE = "That reply is not here any more. Reload the page."


@dataclass(frozen=True)
class Turn:
    """A stored prompt and the reply to come, with as much of what they follow as is sent."""

    thread: list[Message]
    tool_servers: Sequence[ToolServer] = ()  # whose tools its model may call
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
        """What the upstream is sent."""
        earlier = self.thread[:-1]
        return [one for message in earlier for one in message.as_chat_messages(self.reply)]


@dataclass(frozen=True)
class Prompt:
    """What a person asks a model."""

    text: str
    model: ModelChoice
    conversation: UUID | None = None  # where there is none, one begins
    parent: UUID | None = None  # the reply that it follows
    id: UUID | None = None  # made by the page, so that it is stored once
    is_continuation: bool = False  # which has no text

    def store(self, user: User, worker: UUID | None) -> Turn:
        """The turn of a new prompt, or of one that was stored already, perhaps just now.

        A tab that lost its socket sends its prompt again, and another worker may be storing it.
        Raises `Refused`.
        """
        try:
            return self._begin(user, worker, self.id or uuid4())
        except (Refused, IntegrityError):  # looked for only now, since most prompts are new
            if self.id is None:
                raise
            namesake = Message.objects.filter(pk=self.id).select_related("conversation").first()
            if namesake is None:
                raise
        if namesake.conversation.user_id == user.pk and namesake.content == self.text:
            return Turn(namesake.conversation.thread(namesake.pk), is_repeated=True)
        return self._begin(user, worker, uuid4())  # whoever made up that id takes no harm

    def _begin(self, user: User, worker: UUID | None, pk: UUID) -> Turn:
        streamed_by = _admitted(user, worker)
        upstream = Upstream.offering(self.model)
        with transaction.atomic():
            conversation = self._conversation_of(user)
            thread = conversation.said(self.parent) if self.conversation else []
            parent = thread[-1] if thread else None
            prompt, reply = conversation.ask(
                pk,
                self.text,
                parent,
                upstream,
                self.model.name,
                streamed_by,
                is_continuation=self.is_continuation,
            )
        return Turn([*thread, prompt, reply], _tool_servers(upstream))

    def _conversation_of(self, user: User) -> Conversation:
        if self.conversation:
            return Conversation.own(user, self.conversation)
        return Conversation(user=user, title=Conversation.title_of(self.text))


@dataclass(frozen=True)
class Continuation:
    """What a person asks a model to go on with: a reply that is not whole."""

    reply: UUID
    model: ModelChoice
    id: UUID | None = None  # as a prompt's

    def store(self, user: User, worker: UUID | None) -> Turn:
        """The turn that goes on, as a prompt that nobody typed; raises `Refused`."""
        replies = Message.objects.filter(role=Message.Role.ASSISTANT, conversation__user=user)
        reply = replies.filter(pk=self.reply).defer("logprobs").first()
        if reply is None:
            raise Refused(GONE)
        if not reply.can_be_continued:
            raise Refused("That reply is whole, or is being written: nothing of it is missing.")
        if reply.children.exclude(pk=self.id or reply.pk).exists():
            raise Refused("The conversation has gone on from that reply. Reload the page.")
        prompt = Prompt("", self.model, reply.conversation_id, reply.pk, self.id, True)
        return prompt.store(user, worker)


@dataclass(frozen=True)
class Retry:
    """What a person asks a model once more: the prompt of a reply that is there already."""

    reply: UUID
    model: ModelChoice

    def store(self, user: User, worker: UUID | None) -> Turn:
        """The turn of one more reply to the prompt; raises `Refused`."""
        prompts = Message.objects.filter(role=Message.Role.USER, conversation__user=user)
        prompt = prompts.filter(children=self.reply).select_related("conversation").first()
        if prompt is None:
            raise Refused(GONE)
        streamed_by = _admitted(user, worker)
        upstream = Upstream.offering(self.model)
        conversation = prompt.conversation
        reply = conversation.answer(prompt, upstream, self.model.name, streamed_by)
        thread = conversation.thread(reply.pk)
        thread[-1].upstream = upstream  # whose key is read
        return Turn(thread, _tool_servers(upstream))


def _admitted(user: User, worker: UUID | None) -> UUID:
    """The worker, where it may write one more reply for this person; raises `Refused`."""
    if worker is None:
        raise Refused("The server is restarting. Your text is kept: send it again in a moment.")
    most = settings.CHATAPP_REPLIES_PER_PERSON
    if _WRITTEN_FOR.count(user.pk) >= most:
        raise Refused(
            f"{most} replies are being written for you already. "
            "Stop one, or wait for its end; your text is kept."
        )
    return worker


def _tool_servers(upstream: Upstream) -> list[ToolServer]:
    return ToolServer.all_enabled() if upstream.offers_tools else []


_WRITTEN_FOR = Query(
    lambda user: Message.objects.streaming().filter(conversation__user=user).only("pk").order_by(),
    User._meta.pk,
)
