"""Turns: a person's prompt, stored together with the reply that will answer it.

Every lookup starts from the `User` who asks, so nobody reaches another person's messages. `worker`
is the process that will stream the reply; if it is None, nothing new is stored.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid4

from django.conf import settings
from django.db import IntegrityError, transaction

from chatapp.db.statements import Query, build
from chatapp.models.accounts.users import User
from chatapp.models.billing import reservations
from chatapp.models.billing.context_windows import context_window
from chatapp.models.billing.reservations import Reservation
from chatapp.models.billing.tool_tokens import get_tool_tokens
from chatapp.models.conversations import branches
from chatapp.models.conversations.branch_history import BranchHistory
from chatapp.models.conversations.chat_settings import ChatSettings
from chatapp.models.conversations.context_cuts import ContextCut
from chatapp.models.conversations.conversation import Conversation
from chatapp.models.conversations.locked_message import GONE, locked_message
from chatapp.models.conversations.messages import Message
from chatapp.models.conversations.projects import Project
from chatapp.models.conversations.prompt_need import describe_need
from chatapp.models.conversations.request_settings import RequestSettings
from chatapp.models.conversations.titled import TEMPORARY
from chatapp.models.files.attachments import Attachment, attach
from chatapp.models.library.presets import Preset
from chatapp.models.platform.installation import Installation
from chatapp.models.platform.tool_servers import ToolServer
from chatapp.models.platform.upstreams import ModelChoice, Upstream
from chatapp.models.policies.review_policies import ReviewPolicy
from chatapp.models.refusals import Refused, TooLittleForPrompt
from chatapp.parameters.values import remove_parameters
from chatapp.upstream.wire.estimates import BYTES_PER_TOKEN, MIDDLE, PromptSize
from chatapp.upstream.wire.history import History

NO_PRESET = "This preset no longer exists. Choose another one, or none. Your text is kept."
TOO_LONG = (
    "With its files, this has about {:,} tokens, and {name} takes {most:,}. Send only some of the "
    "pages, remove a file, or choose another model; your text and your files are kept."
)
TOO_LONG_PRESET = (
    "With the files of its preset, this has about {:,} tokens, and {name} takes {most:,}. Choose "
    "another model or preset; your text is kept."
)


@dataclass(frozen=True)
class Turn:
    """A stored prompt, the reply to come, and the part of the branch that is sent with them."""

    before: BranchHistory
    prompt: Message
    reply: Message
    tool_servers: Sequence[ToolServer] = ()  # whose tools the model may call
    request_settings: RequestSettings | None = None  # the system message and the parameters
    off_servers: Sequence[int] = ()  # the chat's
    is_repeated: bool = False
    is_retry: bool = False  # of an existing prompt, which has other replies already
    others: Sequence["Turn"] = ()  # the same prompt, sent to other models at the same time
    reservation: Reservation | None = None  # if limits apply to the reply
    policy: ReviewPolicy | None = None  # if the turn begins a conversation: its policy
    finishes: bool = False  # even if the person closes the tab

    @property
    def replies(self) -> list[Message]:
        """All replies that answer the prompt in this turn."""
        return [self.reply, *(turn.reply for turn in self.others)]

    @property
    def head(self) -> UUID:
        """The last message on a page that shows this turn, see `View.head`."""
        return self.prompt.pk if self.others else self.reply.pk

    @property
    def conversation(self) -> Conversation:
        return self.prompt.conversation

    @property
    def upstream(self) -> Upstream:
        """The upstream that is asked."""
        assert self.reply.upstream
        return self.reply.upstream

    @property
    def model(self) -> str:
        return self.reply.model

    @property
    def history(self) -> History:
        """The messages that the upstream is sent."""
        prompt = History.of(self.prompt.as_chat_messages(self.reply))
        messages = self.before.history(self.reply).concatenate(prompt)
        return self.request_settings.add_to_history(messages) if self.request_settings else messages

    @property
    def parameters(self) -> Mapping[str, object]:
        """The parameters that the chat sets; see `parameters.values`."""
        return self.request_settings.parameters if self.request_settings else {}


@dataclass(frozen=True)
class Prompt:
    """A person's prompt to a model."""

    text: str
    model: ModelChoice
    conversation: UUID | None = None  # None begins a new one
    parent: UUID | None = None  # the reply that it follows
    id: UUID | None = None  # chosen by the page, so that the prompt is stored only once
    is_continuation: bool = False  # has no text
    is_temporary: bool = False  # for a new conversation
    project: UUID | None = None  # for a new conversation
    others: Sequence[ModelChoice] = ()  # further models that are sent the prompt
    files: Sequence[UUID] = ()  # attachments of the draft, in order
    preset: UUID | None = None  # for a new conversation
    # For a new conversation; None if they are those of the preset.
    system_prompt: str | None = None
    parameters: Mapping[str, object] | None = None
    chosen: Mapping[str, object] = field(default_factory=dict)  # at the composer
    settings_of: ModelChoice | None = None  # whose they are; None if they are for all models
    draft: Mapping[str, object] | None = None  # what was set before, as `ChatSettings.own`
    off_servers: Sequence[int] = ()  # as in `ChatSettings`, for a new conversation

    def store(self, user: User, worker: UUID | None) -> Turn:
        """Store the prompt, or find it if it is stored already, and return its turn.

        A tab that lost its socket sends its prompt again, perhaps while another worker is storing
        it. Raises `Refused`.
        """
        try:
            return self._begin(user, worker, self.id or uuid4())
        except (Refused, IntegrityError):  # look for it only now, since most prompts are new
            if self.id is None:
                raise
            namesake = Message.objects.filter(pk=self.id).select_related("conversation").first()
            if namesake is None:
                raise
        is_same = namesake.conversation.user_id == user.pk and namesake.content == self.text
        if is_same and namesake.deleted_at is None:
            end = namesake.conversation.load_thread_page(namesake.pk).end
            return Turn(BranchHistory(), namesake, end or namesake, is_repeated=True)
        return self._begin(user, worker, uuid4())  # the id is taken by another prompt

    def _begin(self, user: User, worker: UUID | None, pk: UUID) -> Turn:
        chosen_models = [self.model, *self.others]
        streamed_by = _admit_replies(user, worker, len(chosen_models))
        upstreams = [Upstream.get_for_choice(model, user.pk) for model in chosen_models]
        (first, model), *others = zip(
            upstreams, (choice.name for choice in chosen_models), strict=True
        )
        with transaction.atomic():
            conversation, before, settings = self._find_branch(user)
            attached = self._attachments(user) if self.files else []
            reply_settings = RequestSettings.for_models(settings, chosen_models, user)
            prompt, *replies = conversation.ask(
                pk,
                self.text,
                before.end,
                first,
                model,
                streamed_by,
                is_continuation=self.is_continuation,
                file_count=len(attached),
                others=others,
                request_settings=[
                    own_settings.pk if own_settings else None for own_settings in reply_settings
                ],
            )
            if settings.is_new:
                settings.store()
            for reply, own_settings in zip(replies, reply_settings, strict=True):
                reply.siblings, reply.request_settings = replies, own_settings
                if own_settings:
                    own_settings.store()
            attach(attached, prompt.pk)
            prompt.load_files()
            policy = None if before.end else ReviewPolicy.at(conversation.created_at)
            if attached or any(
                own_settings and own_settings.file_parts for own_settings in reply_settings
            ):
                _check_contexts(before, prompt, replies)
            admitted = _reserve(user, before, prompt, replies)
        off_servers = settings.off_servers or ()
        turn, *beside = (
            Turn(
                before,
                prompt,
                reply,
                tool_servers(upstream, user.pk, reply.request_settings, off_servers),
                request_settings=reply.request_settings,
                off_servers=off_servers,
                reservation=admitted.get(reply.pk),
                finishes=_finishes(conversation, user),
            )
            for upstream, reply in zip(upstreams, replies, strict=True)
        )
        return replace(turn, others=beside, policy=policy)

    def _get_title_text(self, user: User) -> str:
        """Return the text, or else the name of the first file."""
        if self.text.strip() or not self.files:
            return self.text
        first = user.attachments.filter(pk=self.files[0]).first()
        return first.name if first else ""

    def _attachments(self, user: User, edited_message: UUID | None = None) -> list[Attachment]:
        """Return the attachments to send; those of `edited_message` may be among them."""
        limit = settings.CHATAPP_FILES_PER_MESSAGE
        if len(self.files) > limit:
            raise Refused(f"A message can have {limit} files at most. Remove some.")
        return user.attachments.lock_for_sending(self.files, edited_message)

    def _find_branch(self, user: User) -> tuple[Conversation, BranchHistory, ChatSettings]:
        """Return the conversation of the prompt, the branch that it follows, and its settings."""
        if self.conversation:
            conversation = Conversation.get_for_update(user, self.conversation)
            before = conversation.history_through(self.parent)
            return conversation, before, ChatSettings.for_conversation(conversation)
        project = None
        if self.project:  # if it is gone or isn't open to this person, the chat begins without one
            project = Project.objects.writable_by(user).filter(pk=self.project).first()
        title = (
            TEMPORARY if self.is_temporary else Conversation.build_title(self._get_title_text(user))
        )
        begun = build(
            Conversation, user=user, title=title, project=project, is_temporary=self.is_temporary
        )
        return begun, BranchHistory(), self._new_settings(begun, user)

    def _new_settings(self, begun: Conversation, user: User) -> ChatSettings:
        settings = ChatSettings(conversation=begun)
        may_read = True
        if self.preset:
            preset = Preset.objects.open_to(user).filter(pk=self.preset).first()
            if preset is None:
                raise Refused(NO_PRESET)
            settings.preset_version = preset.newest
            may_read = preset.is_readable(user)
        if may_read:
            settings.own = self.draft or {}
            before, parameters = settings.for_model(self.settings_of), self.parameters
            settings.set_own(
                before.instructions if self.system_prompt is None else self.system_prompt,
                before.sent_parameters if parameters is None else parameters,
                self.settings_of,
            )
            settings.choose(self.chosen)
        if self.off_servers:
            settings.switch_off(self.off_servers)
        return settings


@dataclass(frozen=True)
class Continuation:
    """A request to continue a reply that is incomplete."""

    reply: UUID
    model: ModelChoice
    id: UUID | None = None  # as in `Prompt`

    def store(self, user: User, worker: UUID | None) -> Turn:
        """Store a prompt without text that asks for the rest; return its turn. Raises `Refused`."""
        replies = Message.objects.for_user(user).filter(role=Message.Role.ASSISTANT)
        reply = replies.filter(pk=self.reply).defer("logprobs").first()
        if reply is None:
            raise Refused(GONE)
        if not reply.can_be_continued:
            raise Refused("That reply is complete or still being written. Nothing to continue.")
        if ContextCut.objects.filter(message=reply, is_lifted=False).exists():
            raise Refused("That reply is not sent to the model. Send it again first.")
        if reply.children.filter(deleted_at=None).exclude(pk=self.id or reply.pk).exists():
            raise Refused("The chat has moved on since that reply. Reload the page.")
        prompt = Prompt("", self.model, reply.conversation_id, reply.pk, self.id, True)
        return prompt.store(user, worker)


@dataclass(frozen=True)
class Edit(Prompt):
    """A prompt in place of an earlier one, which stays as its sibling."""

    edited: UUID | None = None

    def _attachments(self, user: User, edited_message: UUID | None = None) -> list[Attachment]:
        return super()._attachments(user, edited_message or self.edited)

    def _find_branch(self, user: User) -> tuple[Conversation, BranchHistory, ChatSettings]:
        if self.edited is None:
            return super()._find_branch(user)
        edited = locked_message(user, self.edited)
        if not edited.is_prompt or edited.is_continuation:
            raise Refused("You can only edit your own prompts.")
        conversation = edited.conversation
        before = conversation.history_until(edited.parent_id)
        return conversation, before, ChatSettings.for_conversation(conversation)


@dataclass(frozen=True)
class Retry:
    """A request for one more reply to a prompt, named by the prompt or by one of its replies."""

    message: UUID
    model: ModelChoice
    without: Sequence[str] = ()  # names of the chat's parameters that this request leaves out

    def store(self, user: User, worker: UUID | None) -> Turn:
        """Store one more reply to the prompt and return its turn. Raises `Refused`."""
        streamed_by = _admit_replies(user, worker)
        upstream = Upstream.get_for_choice(self.model, user.pk)
        with transaction.atomic():
            target = locked_message(user, self.message)
            prompt = target if target.is_prompt else target.parent
            assert prompt
            conversation = prompt.conversation = target.conversation
            prompt.load_files()
            settings = ChatSettings.for_conversation(conversation).for_model(self.model)
            settings.parameters = remove_parameters(settings.sent_parameters, self.without)
            request_settings = RequestSettings.for_chat(settings, user)
            reply = conversation.answer(
                prompt,
                upstream,
                self.model.name,
                streamed_by,
                request_settings.pk if request_settings else None,
            )
            if request_settings:
                request_settings.store()
            reply.request_settings = request_settings
            reply.siblings = branches.siblings(conversation.pk, [reply])[prompt.pk]
            before = conversation.history_until(prompt.parent_id)
            reservation = _reserve(user, before, prompt, [reply]).get(reply.pk)
        off_servers = settings.off_servers or ()
        return Turn(
            before,
            prompt,
            reply,
            tool_servers(upstream, user.pk, request_settings, off_servers),
            request_settings,
            off_servers,
            is_retry=True,
            reservation=reservation,
            finishes=_finishes(conversation, user),
        )


def _admit_replies(user: User, worker: UUID | None, count: int = 1) -> UUID:
    """Return the worker if `count` more replies may run for this person; raises `Refused`."""
    if worker is None:
        raise Refused("The server is restarting. Your text is kept: send it again in a moment.")
    limit = settings.CHATAPP_REPLIES_PER_PERSON
    if _STREAMING_FOR_USER.count(user.pk) + count > limit:
        raise Refused(
            f"You already have {limit} replies running. "
            "Stop one, or wait for one to finish; your text is kept."
        )
    return worker


def _reserve(
    user: User,
    before: BranchHistory,
    prompt: Message,
    replies: Sequence[Message],
) -> Mapping[UUID, Reservation]:
    """Reserve budget for the replies that limits apply to; return reservations by reply. Raises
    `Refused`."""

    def count_prompt_tokens(reply: Message) -> int:
        size = _prompt_size(Turn(before, prompt, reply, request_settings=reply.request_settings))
        return size.upper_tokens + get_tool_tokens(reply.upstream_id)

    def get_output_limit(reply: Message) -> int | None:
        parameters = reply.request_settings.parameters if reply.request_settings else {}
        return reply.upstream.output_limit_for(reply.model, parameters) if reply.upstream else None

    try:
        return reservations.admit(user.pk, replies, count_prompt_tokens, get_output_limit)
    except TooLittleForPrompt as refused:
        size = _prompt_size(
            Turn(before, prompt, replies[0], request_settings=replies[0].request_settings)
        )
        need = describe_need(
            size,
            get_tool_tokens(replies[0].upstream_id) + reservations.MIN_OUTPUT,
            prompt.content,
            has_files=bool(prompt.file_count),
            has_earlier=before.end is not None,
        )
        raise refused.with_need(need) from None


def _check_contexts(before: BranchHistory, prompt: Message, replies: Sequence[Message]) -> None:
    """Raise `Refused` if files are too long for the context of a model, as far as it is known."""
    for reply in replies:
        window = context_window(reply.upstream, reply.model)
        size = _prompt_size(Turn(before, prompt, reply, request_settings=reply.request_settings))
        tokens = size.tokens(BYTES_PER_TOKEN, MIDDLE) if window else 0
        if window and tokens > window:
            template = TOO_LONG if prompt.file_count else TOO_LONG_PRESET
            raise Refused(template.format(tokens, name=reply.model, most=window))


def _prompt_size(turn: Turn) -> PromptSize:
    side = turn.reply.upstream.image_side if turn.reply.upstream else None
    return PromptSize.of(turn.history, image_side=side)


def _finishes(conversation: Conversation, user: User) -> bool:
    return not conversation.is_temporary and Installation.load().finishes(user)


def tool_servers(
    upstream: Upstream,
    person: int,
    request_settings: RequestSettings | None,
    off_servers: Collection[int],
) -> list[ToolServer]:
    """Return the enabled tool servers, open only if the person and the preset may use them, and if
    they are not switched off in the chat."""
    servers = ToolServer.all_enabled(person) if upstream.offers_tools else []
    for server in servers:
        if server.pk in off_servers or (
            request_settings and not request_settings.offers(server.pk)
        ):
            server.close()
    return servers


_STREAMING_FOR_USER = Query(
    lambda user: Message.objects.streaming().filter(conversation__user=user).only("pk").order_by(),
    User._meta.pk,
)
