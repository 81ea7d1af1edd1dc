"""Turns: a person's prompt, stored together with the reply that will answer it.

Every lookup starts from the `User` who asks, so nobody reaches another person's messages. `worker`
is the process that will stream the reply; if it is None, nothing new is stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid4

from django.conf import settings
from django.db import IntegrityError, transaction

from chatapp.db.statements import build
from chatapp.models.accounts.users import User
from chatapp.models.billing.reservations import Reservation
from chatapp.models.conversations.chats.chat_settings import ChatSettings
from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.conversations.chats.locked_message import GONE, locked_message
from chatapp.models.conversations.chats.projects import Project
from chatapp.models.conversations.chats.request_settings import RequestSettings
from chatapp.models.conversations.chats.titled import TEMPORARY
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.conversations.threads import branches
from chatapp.models.conversations.threads.branch_history import BranchHistory
from chatapp.models.conversations.threads.context_cuts import ContextCut
from chatapp.models.conversations.turns.admission import admit_replies, check_contexts, reserve
from chatapp.models.conversations.turns.turn import Turn, tool_servers
from chatapp.models.files.attachments import Attachment, attach
from chatapp.models.library.presets import Preset
from chatapp.models.platform.installation import Installation
from chatapp.models.platform.upstreams import ModelChoice, Upstream
from chatapp.models.policies.review_policies import ReviewPolicy
from chatapp.models.refusals import Refused
from chatapp.parameters.values import remove_parameters

NO_PRESET = "This preset no longer exists. Choose another one, or none. Your text is kept."


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
        streamed_by = admit_replies(user, worker, len(chosen_models))
        upstreams = [Upstream.get_for_choice(model, user.pk) for model in chosen_models]
        (first, model), *others = zip(
            upstreams, (choice.name for choice in chosen_models), strict=True
        )
        with transaction.atomic():
            conversation, before, settings = self._find_branch(user)
            attached = self._attachments(user) if self.files else []
            reply_settings = RequestSettings.for_models(settings, chosen_models, user)
            keys = [own_settings.pk if own_settings else None for own_settings in reply_settings]
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
                request_settings=keys,
            )
            if settings.is_new:
                settings.store()
            _store_settings(replies, reply_settings)
            attach(attached, prompt.pk)
            prompt.load_files()
            policy = None if before.end else ReviewPolicy.at(conversation.created_at)
            if attached or any(
                own_settings and own_settings.file_parts for own_settings in reply_settings
            ):
                check_contexts(before, prompt, replies)
            admitted = reserve(user, before, prompt, replies)
        turn, *beside = (
            _build_turn(user, before, prompt, reply, settings.off_servers, admitted.get(reply.pk))
            for reply in replies
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
        streamed_by = admit_replies(user, worker)
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
            reservation = reserve(user, before, prompt, [reply]).get(reply.pk)
        turn = _build_turn(user, before, prompt, reply, settings.off_servers, reservation)
        return replace(turn, is_retry=True)


def _store_settings(
    replies: Sequence[Message], reply_settings: Sequence[RequestSettings | None]
) -> None:
    """Store what each reply is asked with, as far as it is new, and give it to the reply."""
    for reply, own_settings in zip(replies, reply_settings, strict=True):
        reply.siblings, reply.request_settings = [*replies], own_settings
        if own_settings:
            own_settings.store()


def _build_turn(
    user: User,
    before: BranchHistory,
    prompt: Message,
    reply: Message,
    off_servers: Sequence[int] | None,
    reservation: Reservation | None,
) -> Turn:
    assert reply.upstream
    off_servers = off_servers or ()
    return Turn(
        before,
        prompt,
        reply,
        tool_servers(reply.upstream, user.pk, reply.request_settings, off_servers),
        reply.request_settings,
        off_servers,
        reservation=reservation,
        finishes=not prompt.conversation.is_temporary and Installation.load().finishes(user),
    )
