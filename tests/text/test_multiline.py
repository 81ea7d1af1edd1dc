"""Multi-line text, which browsers submit with CRLF but measure with LF."""

from collections.abc import Iterator
from typing import Any

import pytest
from django import forms
from django.contrib import admin
from django.test import Client, RequestFactory
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
from chatapp.models.conversations.projects import MAX_INSTRUCTIONS_LENGTH
from chatapp.models.platform.installation import MAX_NOTICE_LENGTH
from chatapp.models.policies.legal_holds import MAX_REASON_LENGTH
from chatapp.models.review.reviews import MAX_NOTE_LENGTH
from chatapp.models.review.rules import MAX_WORDS, MAX_WORDS_LENGTH
from chatapp.text.multiline import MultilineField
from tests.staff.review.conftest import Begin, begin  # noqa: F401 - a fixture
from tests.staff.review.test_rules import REASON, seal_of

pytestmark = pytest.mark.django_db


def longest(characters: int, lines: int = 100) -> str:
    """Return text of this length, with a line feed between its lines."""
    one = "x" * (characters // lines - 1)
    text = "\n".join([one] * lines)
    return text + "y" * (characters - len(text))


def sent(text: str) -> str:
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
    fields = {"name": "Poems", "instructions": sent(instructions)}
    assert alices.post("/projects/", fields).status_code == 302
    assert Project.objects.get().instructions == instructions

    note = longest(MAX_NOTE_LENGTH)
    olives.post(f"/review/{conversation.pk}/notes/", {"text": sent(note), "version": 0})
    assert ReviewNote.objects.get().text == note

    notice = longest(MAX_NOTICE_LENGTH)
    olives.post("/settings/", {"notice": sent(notice)})
    assert Installation.this().notice == notice

    reason = longest(MAX_REASON_LENGTH)
    olives.post(f"/people/{alice.pk}/hold/", {"reason": sent(reason)})
    assert LegalHold.objects.get().reason == reason

    words = longest(MAX_WORDS_LENGTH, MAX_WORDS)
    fields = REASON | {"name": "odd", "kind": "words", "applies_to": "both", "words": sent(words)}
    tried = olives.post("/review/rules/add/", fields)
    olives.post("/review/rules/add/", fields | {"seal": seal_of(tried.text)})
    assert ReviewRule.objects.get().text == words


def test_domains_and_models_are_kept_with_line_feeds(olives: Client, connected: Upstream) -> None:
    olives.post("/people/access/", {"signup": "invited", "signup_domains": "a.org\r\nb.org"})
    assert Installation.this().signup_domains == "a.org\nb.org"
    fields = {
        "name": "Gateway",
        "base_url": connected.base_url,
        "offered_models": "one\r\ntwo",
        "dialect": "auto",
        "parameters": "{}",
        "silence_seconds": "300",
        "image_side": "1568",
    }
    page = f"/admin/chatapp/upstream/{connected.pk}/change/"
    assert olives.post(page, fields).status_code == 302
    connected.refresh_from_db()
    assert connected.offered_models == "one\ntwo"


def _forms_of(kind: type[Any]) -> Iterator[type[Any]]:
    for one in kind.__subclasses__():
        yield one
        yield from _forms_of(one)


def test_every_textarea_uses_a_lines_field(rf: RequestFactory, olive: User) -> None:
    """Check all forms of the app and those that Django's admin generates from models."""
    assert get_resolver().url_patterns  # imports all forms
    request = rf.get("/")
    request.user = olive
    ours = [one for one in _forms_of(forms.BaseForm) if one.__module__.startswith("chatapp.")]
    made = [one.get_form(request) for one in admin.site._registry.values()]  # noqa: SLF001
    fields = {
        (form.__name__, name): field
        for form in [*ours, *made]
        for name, field in form.base_fields.items()
        if isinstance(field.widget, forms.Textarea) and not isinstance(field, forms.JSONField)
    }
    assert len(fields) > 8
    safe = MultilineField, StopField  # which splits the text at any line break
    assert [where for where, field in fields.items() if not isinstance(field, safe)] == []
