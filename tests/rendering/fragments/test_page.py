"""Frames for a conversation's row in the sidebar."""

from uuid import UUID

import pytest
from django.utils import timezone

from chatapp.models import Conversation
from chatapp.rendering import fragments

PROJECT = UUID(int=7)


@pytest.mark.parametrize(
    ("fields", "heading"),
    [
        ({}, "#today"),
        ({"is_pinned": True}, "#pinned"),
        ({"project_id": PROJECT}, f"#today-in-{PROJECT}"),
        ({"project_id": PROJECT, "is_pinned": True}, f"#pinned-in-{PROJECT}"),
    ],
)
def test_a_used_conversation_moves_to_the_top_of_its_group(
    fields: dict[str, object], heading: str
) -> None:
    conversation = Conversation(title="Sky", **fields)
    frame = fragments.sidebar_fragment(conversation, running=True, first=True)
    assert f"delete target:#nav-{conversation.pk}" in frame
    assert f'"after target:{heading}"' in frame


def test_archived_rows_stay_in_place_and_temporary_chats_have_none() -> None:
    archived = Conversation(title="Sky", archived_at=timezone.now())
    frame = fragments.sidebar_fragment(archived, running=True, first=True)
    assert f'"outerHTML target:#nav-{archived.pk} ' in frame
    assert "after target" not in frame
    temporary = Conversation(title="Sky", is_temporary=True)
    assert fragments.sidebar_fragment(temporary, running=True, first=True) == ""
