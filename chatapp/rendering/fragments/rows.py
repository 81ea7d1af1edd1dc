"""The sidebar's rows, which are rendered once for each change of a chat and not for each page."""

from datetime import datetime
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.utils.safestring import SafeString

from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.rendering.fragments.environment import draw

MAX_CACHED_ROWS = 10_000  # about 1 KB each


class ConversationRow(NamedTuple):
    """All that a row shows."""

    pk: UUID
    title: str
    updated_at: datetime
    is_pinned: bool
    is_unread: bool
    is_trashed: bool
    is_running: bool


def conversation_row(conversation: Conversation, *, is_running: bool) -> SafeString:
    fields = vars(conversation)
    return _draw_row(
        ConversationRow(
            fields["id"],
            fields["title"],
            fields["updated_at"],
            fields["is_pinned"],
            fields["is_unread"],
            fields["trashed_at"] is not None,
            is_running,
        )
    )


def _draw_row(row: ConversationRow) -> SafeString:
    return draw("chat/_conversation_link.html", {"conversation": row})


if not settings.DEBUG:  # while templates are being edited
    _draw_row = lru_cache(MAX_CACHED_ROWS)(_draw_row)
