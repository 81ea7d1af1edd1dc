"""Tells which chats of an export a person has already, or had, so that a second import adds only
what is new and brings back nothing that they deleted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from chatapp.imports.rows import chat_key
from chatapp.models import Conversation, ImportedChat, User
from chatapp.transfer import Format, SourceChat


@dataclass(frozen=True, slots=True)
class ChatStatus:
    """The state of a chat of an export here, where it has this key."""

    key: UUID
    chat: SourceChat
    state: Literal["new", "longer", "same", "trashed", "deleted"]
    imported: ImportedChat | None = None  # if it was imported before


def get_statuses(user: User, chats: Sequence[SourceChat]) -> list[ChatStatus]:
    """Return the state of each of these chats; a chat that is given twice has one."""
    chats_by_key = {chat_key(user, chat): chat for chat in chats}
    imported = ImportedChat.objects.filter(imported_by__user=user).in_bulk(list(chats_by_key))
    conversations = Conversation.objects.filter(user=user, pk__in=list(imported)).order_by()
    trashed_at_by_key = dict(conversations.values_list("pk", "trashed_at"))
    originals = _find_originals(user, chats)
    statuses = []
    for key, chat in chats_by_key.items():
        state: Literal["new", "longer", "same", "trashed", "deleted"]
        row = imported.get(key)
        if chat.source_id in originals:
            state = "same"
        elif row is None:
            state = "new"
        elif key not in trashed_at_by_key:
            state = "deleted"
        elif trashed_at_by_key[key]:
            state = "trashed"
        else:
            is_longer = len(chat.messages) > row.message_count or not row.is_whole
            state = "longer" if is_longer else "same"
        statuses.append(ChatStatus(key, chat, state, row))
    return statuses


def _find_originals(user: User, chats: Sequence[SourceChat]) -> set[str]:
    """Return the ids of chats of our own exports that are here themselves."""
    ids = [id for chat in chats if chat.source is Format.OWN and (id := _parse_uuid(chat))]
    originals = Conversation.objects.filter(user=user, pk__in=ids, trashed_at=None).order_by()
    return {str(pk) for pk in originals.values_list("pk", flat=True)} if ids else set()


def _parse_uuid(chat: SourceChat) -> UUID | None:
    try:
        parsed = UUID(chat.source_id)
    except ValueError:
        return None
    return parsed if str(parsed) == chat.source_id else None
