"""Multi-line text, which browsers submit with CRLF but measure with LF."""

from collections.abc import Iterator
from typing import Any

import pytest
from django import forms
from django.test import Client
from django.urls import get_resolver

from chatapp.library.presets.parameter_form import StopField
from chatapp.models import (
    Installation,
    LegalHold,
    Project,
    ReviewNote,
    ReviewRule,
    Upstream,
    User,
)
from chatapp.models.conversations.chats.projects import MAX_INSTRUCTIONS_LENGTH
from chatapp.models.platform.installation import MAX_NOTICE_LENGTH
from chatapp.models.policies.legal_holds import MAX_REASON_LENGTH
from chatapp.models.review.reviews import MAX_NOTE_LENGTH
from chatapp.models.review.rules import MAX_WORDS, MAX_WORDS_LENGTH
from chatapp.text.multiline import MultilineField
from tests.staff.review.conftest import Begin, begin  # noqa: F401 - a fixture
from tests.staff.review.test_rules import REASON, read_seal

pytestmark = pytest.mark.django_db


def longest(characters: int, lines: int = 100) -> str:
    """Return text of this length, with a line feed between its lines."""
    line = "x" * (characters // lines - 1)
    text = "\n".join([line] * lines)
    return text + "y" * (characters - len(text))


def convert_to_crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


@pytest.mark.parametrize("typed", ["a\r\nb\r\n\r\nc", "a\rb\r\rc", "a\nb\n\nc", "a\r\nb\r\r\nc"])
def test_line_breaks_are_saved_as_line_feeds(typed: str) -> None:
    assert MultilineField(max_length=6).clean(typed) == "a\nb\n\nc"


def test_text_within_its_maximum_length_is_saved_as_typed(
    alices: Client,
    olives: Client,
    alice: User,
    begin: Begin,  # noqa: F811
) -> None:
    conversation = begin()

    instructions = longest(MAX_INSTRUCTIONS_LENGTH)
    fields = {"name": "Poems", "instructions": convert_to_crlf(instructions)}
    assert alices.post("/projects/", fields).status_code == 302
    assert Project.objects.get().instructions == instructions

    note = longest(MAX_NOTE_LENGTH)
    olives.post(f"/review/{conversation.pk}/notes/", {"text": convert_to_crlf(note), "version": 0})
    assert ReviewNote.objects.get().text == note

    notice = longest(MAX_NOTICE_LENGTH)
    olives.post("/settings/", {"notice": convert_to_crlf(notice)})
    assert Installation.load().notice == notice

    reason = longest(MAX_REASON_LENGTH)
    olives.post(f"/people/{alice.pk}/hold/", {"reason": convert_to_crlf(reason)})
    assert LegalHold.objects.get().reason == reason

    words = longest(MAX_WORDS_LENGTH, MAX_WORDS)
    fields = REASON | {
        "name": "odd",
        "kind": "words",
        "applies_to": "both",
        "words": convert_to_crlf(words),
    }
    tried = olives.post("/review/rules/add/", fields)
    olives.post("/review/rules/add/", fields | {"seal": read_seal(tried.text)})
    assert ReviewRule.objects.get().text == words


def test_domains_and_models_are_kept_with_line_feeds(olives: Client) -> None:
    olives.post("/people/access/", {"signup": "invited", "signup_domains": "a.org\r\nb.org"})
    assert Installation.load().signup_domains == "a.org\nb.org"
    gateway = Upstream.objects.create(name="Gateway", base_url="http://127.0.0.1:9/v1")
    page = f"/settings/models/{gateway.pk}/"
    assert olives.post(page, {"to": "everybody", "names": "one\r\ntwo"}).status_code == 302
    gateway.refresh_from_db()
    assert gateway.offered_models == "one\ntwo"


def _walk_subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _walk_subclasses(subclass)


def test_every_textarea_uses_a_lines_field() -> None:
    assert get_resolver().url_patterns  # imports all forms
    ours = [
        form for form in _walk_subclasses(forms.BaseForm) if form.__module__.startswith("chatapp.")
    ]
    fields = {
        (form.__name__, name): field
        for form in ours
        for name, field in form.base_fields.items()
        if isinstance(field.widget, forms.Textarea) and not isinstance(field, forms.JSONField)
    }
    assert len(fields) > 8
    safe = MultilineField, StopField  # which splits the text at any line break
    assert [where for where, field in fields.items() if not isinstance(field, safe)] == []
