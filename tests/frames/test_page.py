"""Frames for a conversation's row: it comes to the top of the group that it stands in."""

from uuid import UUID

import pytest
from django.utils import timezone

from chatapp import frames
from chatapp.models import Conversation

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
def test_what_is_used_comes_to_the_top_of_its_group(
    fields: dict[str, object], heading: str
) -> None:
    conversation = Conversation(title="Sky", **fields)
    frame = frames.sidebar_frame(conversation, running=True, first=True)
    assert f"delete target:#nav-{conversation.pk}" in frame
    assert f'"after target:{heading}"' in frame


def test_what_is_archived_stays_where_it_is_and_what_is_temporary_nowhere() -> None:
    archived = Conversation(title="Sky", archived_at=timezone.now())
    frame = frames.sidebar_frame(archived, running=True, first=True)
    assert f'"outerHTML target:#nav-{archived.pk} ' in frame
    assert "after target" not in frame
    temporary = Conversation(title="Sky", is_temporary=True)
    assert frames.sidebar_frame(temporary, running=True, first=True) == ""
