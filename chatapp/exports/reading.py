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
from chatapp.models.conversations import branches

CHATS_AT_ONCE = 100
MESSAGES_AT_ONCE = 100
CHARACTERS_AT_ONCE = 2_000_000
NOT_READ = ("logprobs", "usage_so_far", "indexed_at", "sequence")


@dataclass(frozen=True)
class Reading:
    """Which chats of a person are read, in this order, and how much of each."""

    person: User
    chats: Sequence[UUID]
    is_shown_only: bool = False  # only the branch that the person read last
    with_deleted: bool = False  # also chats in the trash and deleted messages
    on_chat: Callable[[], None] = lambda: None  # called after each chat

    def __iter__(self) -> Iterator["Chat"]:
        """Yield the chats that still exist. Read the messages of one before the next chat."""
        for start in range(0, len(self.chats), CHATS_AT_ONCE):
            yield from self._some(self.chats[start : start + CHATS_AT_ONCE])

    def _some(self, keys: Sequence[UUID]) -> Iterator["Chat"]:
        own = self.person.conversations.filter(pk__in=keys)
        own = own if self.with_deleted else own.kept()
        found = {one.pk: one for one in own.select_related("project")}
        settings = _settings_of(found)
        cuts = _cuts_of(found)
        places = self._places(found)
        messages = self._messages([one for pk in keys for one in places.get(pk, ())])
        for pk in keys:
            if conversation := found.get(pk):
                conversation.user = self.person
                here = places[pk]
                of_this = islice(messages, len(here))
                yield Chat(conversation, settings[pk], cuts.get(pk, []), here, of_this)
                deque(of_this, maxlen=0)  # what was not read of it
            self.on_chat()

    def _places(self, chats: Mapping[UUID, Conversation]) -> dict[UUID, list["Place"]]:
        messages = Message.objects.filter(conversation__in=list(chats))
        if not self.with_deleted:
            messages = messages.filter(deleted_at=None)
        size = Length("content") + Length("reasoning")
        found: dict[UUID, list[Place]] = {pk: [] for pk in chats}
        columns = ("pk", "parent", "request_settings_id", size, "conversation")
        for row in messages.values_list(*columns):
            found[row[-1]].append(Place(*row[:-1]))
        if self.is_shown_only:
            return {pk: _shown(chats[pk], all_places) for pk, all_places in found.items()}
        return found

    def _messages(self, places: Sequence["Place"]) -> Iterator[Message | None]:
        """Yield the messages at these places; None for one that has been deleted meanwhile."""
        # Joined, the settings of an upstream would be decoded again for each message.
        upstreams: dict[int | None, Upstream | None] = {None: None}
        for batch in _batches(places):
            existing = Message.objects.filter(pk__in=[one.message for one in batch])
            if not self.with_deleted:
                existing = existing.filter(deleted_at=None)
            related = existing.select_related("feedback", "usage").order_by()
            found = {one.pk: one for one in related.defer(*NOT_READ)}
            _load_files(list(found.values()))
            _load_upstreams(found.values(), upstreams)
            for place in batch:
                yield found.pop(place.message, None)


class Place(NamedTuple):
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
    places: list[Place]
    _messages: Iterator[Message | None] = field(repr=False)

    @property
    def messages(self) -> Iterator[Message]:
        """Yield the messages, parents before their children."""
        return filter(None, self._messages)

    @property
    def request_settings(self) -> Iterator[RequestSettings]:
        """Yield what the requests of these messages had besides messages, each once."""
        asked = dict.fromkeys(one.request_settings for one in self.places)
        keys = [pk for pk in asked if pk]
        for start in range(0, len(keys), MESSAGES_AT_ONCE):
            found = RequestSettings.objects.filter(pk__in=keys[start : start + MESSAGES_AT_ONCE])
            for one in found.select_related("preset_version__target").order_by("pk"):
                one.conversation = self.conversation
                yield one


def attachments_of(message: Message) -> list[Attachment]:
    """Return the files of a message that `Reading` yielded."""
    return list(message.attachments.all()) if message.file_count else []


def images_of(message: Message) -> list[ReplyImage]:
    """Return the images of a reply that `Reading` yielded."""
    return list(message.images.all()) if message.extras.has_rows else []


def _load_upstreams(
    messages: Collection[Message], known: dict[int | None, Upstream | None]
) -> None:
    unknown = {one.upstream_id for one in messages} - known.keys()
    if unknown:
        known.update(dict.fromkeys(unknown))
        known.update(Upstream.objects.defer("api_key").in_bulk(unknown))
    for message in messages:
        message.upstream = known[message.upstream_id]


def _load_files(messages: Sequence[Message]) -> None:
    attachments = Attachment.objects.with_media_type().select_related("file__content")
    described = Prefetch("attachments", attachments.defer("file__content__text"))
    prefetch_related_objects([one for one in messages if one.file_count], described)
    images = ReplyImage.objects.select_related("file").defer("data").order_by("position")
    with_images = [one for one in messages if one.extras_record and one.extras.has_rows]
    prefetch_related_objects(with_images, Prefetch("images", images))


def _settings_of(chats: Mapping[UUID, Conversation]) -> dict[UUID, ChatSettings]:
    stored = ChatSettings.objects.filter(conversation__in=list(chats))
    found = {one.conversation_id: one for one in stored.select_related("preset_version__target")}
    for pk, conversation in chats.items():
        found.setdefault(pk, ChatSettings()).conversation = conversation
    return found


def _cuts_of(chats: Mapping[UUID, Conversation]) -> dict[UUID, list[ContextCut]]:
    found: dict[UUID, list[ContextCut]] = {}
    changed = [pk for pk, one in chats.items() if one.cut_changes]
    if changed:
        cuts = ContextCut.objects.filter(conversation__in=changed).select_related("upstream")
        for cut in cuts.defer("upstream__api_key").order_by("created_at"):
            found.setdefault(cut.conversation_id, []).append(cut)
    return found


def _shown(conversation: Conversation, places: list[Place]) -> list[Place]:
    """Return those on the branch that is shown, with all replies that stand side by side there."""
    page = conversation.standing()
    if page.end is None:
        return []
    path = branches.ancestors(page.end.pk, branches.ANY)
    by_key = {one.message: one for one in places}
    ids = [*reversed(path), *(one.pk for one in page.together[1:])]
    return [by_key[pk] for pk in ids if pk in by_key]


def _batches(places: Sequence[Place]) -> Iterator[list[Place]]:
    batch: list[Place] = []
    size = 0
    for place in places:
        if batch and (len(batch) == MESSAGES_AT_ONCE or size + place.size > CHARACTERS_AT_ONCE):
            yield batch
            batch, size = [], 0
        batch.append(place)
        size += place.size
    if batch:
        yield batch
