"""The sidebar's rows."""

from datetime import timedelta

import pytest
from django.utils import timezone
from django.utils.safestring import SafeString

from chatapp.models import Conversation
from chatapp.rendering import fragments
from chatapp.rendering.fragments import environment, rows


@pytest.fixture
def drawn_templates(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The templates that were drawn."""
    names: list[str] = []

    def draw(name: str, context: dict[str, object]) -> SafeString:
        names.append(name)
        return environment.draw(name, context)

    monkeypatch.setattr(rows, "draw", draw)
    return names


def test_a_row_is_drawn_once_until_something_in_it_changes(drawn_templates: list[str]) -> None:
    sky = Conversation(title="Sky")
    first = fragments.conversation_row(sky, is_running=False)
    assert fragments.conversation_row(sky, is_running=False) is first
    assert len(drawn_templates) == 1
    seen = {first}
    for name, value in {
        "title": "Sea <b>",
        "updated_at": sky.updated_at + timedelta(seconds=1),
        "is_pinned": True,
        "is_unread": True,
        "trashed_at": timezone.now(),
    }.items():
        setattr(sky, name, value)
        seen.add(fragments.conversation_row(sky, is_running=False))
    assert len(seen) == len(drawn_templates) == 6
    assert "<b>" not in fragments.conversation_row(sky, is_running=True)


def test_a_running_reply_shows_in_its_row(drawn_templates: list[str]) -> None:
    sky = Conversation(title="Sky")
    assert "Writing a reply" in fragments.conversation_row(sky, is_running=True)
    assert "Writing a reply" not in fragments.conversation_row(sky, is_running=False)
