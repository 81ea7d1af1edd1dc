"""Reads a person's chats for an export, a few messages at a time.

Several chats are read with the same queries, because most chats are short. What is deleted while an
export runs is left out from then on.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from django.db.models import Prefetch, prefetch_related_objects
from django.db.models.functions import Length

from chatapp.models import (
    Attachment,
    ChatSettings,
    ContextCut,
    Conversation,
    Message,
    ReplyImage,
    RequestSettings,
    Upstream,
    User,
)
from chatapp.models.conversations.threads import branches

CHATS_AT_ONCE = 100
MESSAGES_AT_ONCE = 100
CHARACTERS_AT_ONCE = 2_000_000
NOT_READ = ("logprobs", "usage_so_far", "indexed_at", "sequence")


@dataclass(frozen=True)
class ChatReader:
    """Reads the given chats of a person, in this order, and as much of each as requested."""

    person: User
    chats: Sequence[UUID]
    is_shown_only: bool = False  # only the branch that the person read last
    with_deleted: bool = False  # also chats in the trash and deleted messages
    on_chat: Callable[[], None] = lambda: None  # called after each chat

    def __iter__(self) -> Iterator["Chat"]:
        """Yield the chats that still exist. Read the messages of one before the next chat."""
        for start in range(0, len(self.chats), CHATS_AT_ONCE):
            yield from self._read_batch(self.chats[start : start + CHATS_AT_ONCE])

    def _read_batch(self, keys: Sequence[UUID]) -> Iterator["Chat"]:
        own = self.person.conversations.filter(pk__in=keys)
        own = own if self.with_deleted else own.not_trashed()
        conversations = {own_chat.pk: own_chat for own_chat in own.select_related("project")}
        settings = _load_settings(conversations)
        cuts = _load_cuts(conversations)
        refs = self._load_message_refs(conversations)
        messages = self._messages([ref for pk in keys for ref in refs.get(pk, ())])
        for pk in keys:
            if conversation := conversations.get(pk):
                conversation.user = self.person
                chat_refs = refs[pk]
                chat_messages = islice(messages, len(chat_refs))
                yield Chat(conversation, settings[pk], cuts.get(pk, []), chat_refs, chat_messages)
                deque(chat_messages, maxlen=0)  # what was not read of it
            self.on_chat()

    def _load_message_refs(
        self, chats: Mapping[UUID, Conversation]
    ) -> dict[UUID, list["MessageRef"]]:
        messages = Message.objects.filter(conversation__in=list(chats))
        if not self.with_deleted:
            messages = messages.filter(deleted_at=None)
        size = Length("content") + Length("reasoning")
        refs: dict[UUID, list[MessageRef]] = {pk: [] for pk in chats}
        columns = ("pk", "parent", "request_settings_id", size, "conversation")
        for row in messages.values_list(*columns):
            refs[row[-1]].append(MessageRef(*row[:-1]))
        if self.is_shown_only:
            return {
                pk: _filter_shown_branch(chats[pk], chat_refs) for pk, chat_refs in refs.items()
            }
        return refs

    def _messages(self, refs: Sequence["MessageRef"]) -> Iterator[Message | None]:
        """Yield the messages of these refs; None for one that has been deleted meanwhile."""
        # Joined, the settings of an upstream would be decoded again for each message.
        upstreams: dict[int | None, Upstream | None] = {None: None}
        for batch in _batches(refs):
            existing = Message.objects.filter(pk__in=[ref.message for ref in batch])
            if not self.with_deleted:
                existing = existing.filter(deleted_at=None)
            related = existing.select_related("feedback", "usage").order_by()
            messages_by_pk = {message.pk: message for message in related.defer(*NOT_READ)}
            _load_files(list(messages_by_pk.values()))
            _load_upstreams(messages_by_pk.values(), upstreams)
            for ref in batch:
                yield messages_by_pk.pop(ref.message, None)


class MessageRef(NamedTuple):
    """A message in its chat."""

    message: UUID
    parent: UUID | None
    request_settings: UUID | None
    size: int  # characters


@dataclass
class Chat:
    """A chat with what belongs to it, and its messages, which can be read once."""

    conversation: Conversation
    settings: ChatSettings
    cuts: list[ContextCut]
    message_refs: list[MessageRef]
    _messages: Iterator[Message | None] = field(repr=False)

    @property
    def messages(self) -> Iterator[Message]:
        """Yield the messages, parents before their children."""
        return filter(None, self._messages)

    @property
    def request_settings(self) -> Iterator[RequestSettings]:
        """Yield what the requests of these messages had besides messages, each once."""
        settings_ids = dict.fromkeys(ref.request_settings for ref in self.message_refs)
        keys = [pk for pk in settings_ids if pk]
        for start in range(0, len(keys), MESSAGES_AT_ONCE):
            stored_settings = RequestSettings.objects.filter(
                pk__in=keys[start : start + MESSAGES_AT_ONCE]
            )
            for settings in stored_settings.select_related("preset_version__target").order_by("pk"):
                settings.conversation = self.conversation
                yield settings


def get_attachments(message: Message) -> list[Attachment]:
    """Return the files of a message that `ChatReader` yielded."""
    return list(message.attachments.all()) if message.file_count else []


def get_images(message: Message) -> list[ReplyImage]:
    """Return the images of a reply that `ChatReader` yielded."""
    return list(message.images.all()) if message.extras.has_rows else []


def _load_upstreams(
    messages: Collection[Message], upstreams: dict[int | None, Upstream | None]
) -> None:
    missing_ids = {message.upstream_id for message in messages} - upstreams.keys()
    if missing_ids:
        upstreams.update(dict.fromkeys(missing_ids))
        upstreams.update(Upstream.objects.defer("api_key").in_bulk(missing_ids))
    for message in messages:
        message.upstream = upstreams[message.upstream_id]


def _load_files(messages: Sequence[Message]) -> None:
    attachments = Attachment.objects.with_media_type().select_related("file__content")
    described = Prefetch("attachments", attachments.defer("file__content__text"))
    prefetch_related_objects([message for message in messages if message.file_count], described)
    images = ReplyImage.objects.select_related("file").defer("data").order_by("position")
    with_images = [
        message for message in messages if message.extras_record and message.extras.has_rows
    ]
    prefetch_related_objects(with_images, Prefetch("images", images))


def _load_settings(chats: Mapping[UUID, Conversation]) -> dict[UUID, ChatSettings]:
    stored_settings = ChatSettings.objects.filter(conversation__in=list(chats))
    settings_by_chat = {
        settings.conversation_id: settings
        for settings in stored_settings.select_related("preset_version__target")
    }
    for pk, conversation in chats.items():
        settings_by_chat.setdefault(pk, ChatSettings()).conversation = conversation
    return settings_by_chat


def _load_cuts(chats: Mapping[UUID, Conversation]) -> dict[UUID, list[ContextCut]]:
    cuts_by_chat: dict[UUID, list[ContextCut]] = {}
    changed_ids = [pk for pk, conversation in chats.items() if conversation.cut_changes]
    if changed_ids:
        cuts = ContextCut.objects.filter(conversation__in=changed_ids).select_related("upstream")
        for cut in cuts.defer("upstream__api_key").order_by("created_at"):
            cuts_by_chat.setdefault(cut.conversation_id, []).append(cut)
    return cuts_by_chat


def _filter_shown_branch(conversation: Conversation, refs: list[MessageRef]) -> list[MessageRef]:
    """Return the refs on the branch that is shown, with all replies side by side there."""
    page = conversation.load_thread_page()
    if page.end is None:
        return []
    path = branches.ancestors(page.end.pk, branches.NO_LIMIT)
    by_key = {ref.message: ref for ref in refs}
    ids = [*reversed(path), *(reply.pk for reply in page.together[1:])]
    return [by_key[pk] for pk in ids if pk in by_key]


def _batches(refs: Sequence[MessageRef]) -> Iterator[list[MessageRef]]:
    batch: list[MessageRef] = []
    size = 0
    for ref in refs:
        if batch and (len(batch) == MESSAGES_AT_ONCE or size + ref.size > CHARACTERS_AT_ONCE):
            yield batch
            batch, size = [], 0
        batch.append(ref)
        size += ref.size
    if batch:
        yield batch
