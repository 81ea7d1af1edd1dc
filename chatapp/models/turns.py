"""Turns: what a person asks for, stored together with the reply to come.

A person is given by their `User`, and whatever is asked about is looked for in what is theirs.
`worker` is the process in which the reply will stream; without one nothing new is stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID, uuid4

from django.conf import settings
from django.db import IntegrityError, transaction

from chatapp.models import branches, purses
from chatapp.models.conversations import TEMPORARY, Conversation
from chatapp.models.held import GONE, held
from chatapp.models.messages import Message
from chatapp.models.purses import Purse
from chatapp.models.refusals import Refused
from chatapp.models.review_policies import ReviewPolicy
from chatapp.models.said import Branch
from chatapp.models.statements import Query, new
from chatapp.models.tool_servers import ToolServer
from chatapp.models.upstreams import ModelChoice, Upstream
from chatapp.models.users import User
from chatapp.upstream.wire.estimates import Asked
from chatapp.upstream.wire.history import History


@dataclass(frozen=True)
class Turn:
    """A stored prompt and the reply to come, with as much of what they follow as is sent."""

    before: Branch
    prompt: Message
    reply: Message
    tool_servers: Sequence[ToolServer] = ()  # whose tools its model may call
    instructions: str = ""  # which the model is told first
    is_repeated: bool = False
    is_retry: bool = False  # of a prompt that was there, as its other replies were
    others: Sequence["Turn"] = ()  # of the same prompt, asked of other models at the same time
    purse: Purse | None = None  # where limits concern the reply
    policy: ReviewPolicy | None = None  # that the conversation was begun under, where it begins

    @property
    def replies(self) -> list[Message]:
        """All that answer the prompt now."""
        return [self.reply, *(turn.reply for turn in self.others)]

    @property
    def head(self) -> UUID:
        """What a page shows last that shows it, see `View.head`."""
        return self.prompt.pk if self.others else self.reply.pk

    @property
    def conversation(self) -> Conversation:
        return self.prompt.conversation

    @property
    def history(self) -> History:
        """What the upstream is sent."""
        prompt = History.of(self.prompt.as_chat_messages(self.reply))
        said = self.before.history(self.reply).followed_by(prompt)
        if not self.instructions:
            return said
        return History.of([{"role": "system", "content": self.instructions}]).followed_by(said)


@dataclass(frozen=True)
class Prompt:
    """What a person asks a model."""

    text: str
    model: ModelChoice
    conversation: UUID | None = None  # where there is none, one begins
    parent: UUID | None = None  # the reply that it follows
    id: UUID | None = None  # made by the page, so that it is stored once
    is_continuation: bool = False  # which has no text
    is_temporary: bool = False  # the conversation that begins
    project: UUID | None = None  # in which a new conversation begins
    others: Sequence[ModelChoice] = ()  # models that are asked at the same time

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
        is_same = namesake.conversation.user_id == user.pk and namesake.content == self.text
        if is_same and namesake.deleted_at is None:
            end = namesake.conversation.standing(namesake.pk).end
            return Turn(Branch(), namesake, end or namesake, is_repeated=True)
        return self._begin(user, worker, uuid4())  # whoever made up that id takes no harm

    def _begin(self, user: User, worker: UUID | None, pk: UUID) -> Turn:
        asked = [self.model, *self.others]
        streamed_by = _admitted(user, worker, len(asked))
        upstreams = [Upstream.offering(model, user.pk) for model in asked]
        (first, model), *others = zip(upstreams, (one.name for one in asked), strict=True)
        with transaction.atomic():
            conversation, before = self._place(user)
            prompt, *replies = conversation.ask(
                pk,
                self.text,
                before.end,
                first,
                model,
                streamed_by,
                is_continuation=self.is_continuation,
                others=others,
            )
            policy = None if before.end else ReviewPolicy.of(conversation)
            admitted = _paid(user, before, prompt, replies)
        turn, *beside = (
            Turn(
                before,
                prompt,
                reply,
                _tool_servers(upstream, user),
                conversation.instructions,
                purse=admitted.get(reply.pk),
            )
            for upstream, reply in zip(upstreams, replies, strict=True)
        )
        for reply in replies:
            reply.siblings = replies
        return replace(turn, others=beside, policy=policy)

    def _place(self, user: User) -> tuple[Conversation, Branch]:
        """Where it is asked, and what it follows."""
        if self.conversation:
            conversation = Conversation.held(user, self.conversation)
            return conversation, conversation.said(self.parent)
        # Where that project is gone, or never was this person's, it begins all the same.
        project = user.projects.filter(pk=self.project).first() if self.project else None
        title = TEMPORARY if self.is_temporary else Conversation.title_of(self.text)
        begun = new(
            Conversation, user=user, title=title, project=project, is_temporary=self.is_temporary
        )
        return begun, Branch()


@dataclass(frozen=True)
class Continuation:
    """What a person asks a model to go on with: a reply that is not whole."""

    reply: UUID
    model: ModelChoice
    id: UUID | None = None  # as a prompt's

    def store(self, user: User, worker: UUID | None) -> Turn:
        """The turn that goes on, as a prompt that nobody typed; raises `Refused`."""
        replies = Message.objects.of(user).filter(role=Message.Role.ASSISTANT)
        reply = replies.filter(pk=self.reply).defer("logprobs").first()
        if reply is None:
            raise Refused(GONE)
        if not reply.can_be_continued:
            raise Refused("That reply is whole, or is being written: nothing of it is missing.")
        if reply.children.filter(deleted_at=None).exclude(pk=self.id or reply.pk).exists():
            raise Refused("The conversation has gone on from that reply. Reload the page.")
        prompt = Prompt("", self.model, reply.conversation_id, reply.pk, self.id, True)
        return prompt.store(user, worker)


@dataclass(frozen=True)
class Edit(Prompt):
    """What a person asks in place of an earlier prompt, which stays beside it."""

    edited: UUID | None = None

    def _place(self, user: User) -> tuple[Conversation, Branch]:
        if self.edited is None:
            return super()._place(user)
        edited = held(user, self.edited)
        if not edited.is_prompt or edited.is_continuation:
            raise Refused("Only what you typed can be changed.")
        conversation = edited.conversation
        return conversation, conversation.said_until(edited.parent_id)


@dataclass(frozen=True)
class Retry:
    """What a person asks a model once more: a prompt, which a reply to it may stand for."""

    message: UUID
    model: ModelChoice

    def store(self, user: User, worker: UUID | None) -> Turn:
        """The turn of one more reply to the prompt; raises `Refused`."""
        streamed_by = _admitted(user, worker)
        upstream = Upstream.offering(self.model, user.pk)
        with transaction.atomic():
            named = held(user, self.message)
            prompt = named if named.is_prompt else named.parent
            assert prompt
            conversation = prompt.conversation = named.conversation
            reply = conversation.answer(prompt, upstream, self.model.name, streamed_by)
            reply.siblings = branches.siblings(conversation.pk, [reply])[prompt.pk]
            before = conversation.said_until(prompt.parent_id)
            purse = _paid(user, before, prompt, [reply]).get(reply.pk)
        servers = _tool_servers(upstream, user)
        return Turn(
            before,
            prompt,
            reply,
            servers,
            conversation.instructions,
            is_retry=True,
            purse=purse,
        )


def _admitted(user: User, worker: UUID | None, count: int = 1) -> UUID:
    """The worker, where it may write so many more replies for this person; raises `Refused`."""
    if worker is None:
        raise Refused("The server is restarting. Your text is kept: send it again in a moment.")
    most = settings.CHATAPP_REPLIES_PER_PERSON
    if _WRITTEN_FOR.count(user.pk) + count > most:
        raise Refused(
            f"{most} replies are being written for you already. "
            "Stop one, or wait for its end; your text is kept."
        )
    return worker


def _paid(
    user: User, before: Branch, prompt: Message, replies: Sequence[Message]
) -> Mapping[UUID, Purse]:
    """What the replies may use, by their ids, where limits concern them; raises `Refused`."""

    def prompt_tokens(reply: Message) -> int:
        instructions = prompt.conversation.instructions
        history = Turn(before, prompt, reply, instructions=instructions).history
        return Asked.of(history).upper_tokens + purses.tools_of(reply.upstream_id)

    return purses.admit(user.pk, replies, prompt_tokens)


def _tool_servers(upstream: Upstream, user: User) -> list[ToolServer]:
    return ToolServer.all_enabled(user.pk) if upstream.offers_tools else []


_WRITTEN_FOR = Query(
    lambda user: Message.objects.streaming().filter(conversation__user=user).only("pk").order_by(),
    User._meta.pk,
)
