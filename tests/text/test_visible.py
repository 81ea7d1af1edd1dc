"""Names, titles and reasons made only of invisible characters are rejected."""

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.test import Client

from chatapp.chat.turn_forms import PromptForm
from chatapp.models import (
    Conversation,
    Installation,
    LegalHold,
    Limit,
    Opening,
    Project,
    ReviewLabel,
    ReviewNote,
    ReviewRule,
    ReviewSample,
    ReviewView,
    Suggestion,
    Upstream,
    User,
)
from chatapp.realtime.titling.wording import extract_title
from chatapp.text.visible import VisibleCharField, from_first_visible, is_blank
from tests.staff.review.conftest import Begin, begin  # noqa: F401 - a fixture
from tests.staff.review.test_rules import WORDS

pytestmark = pytest.mark.django_db

ZERO_WIDTH, HANGUL_FILLER, BRAILLE_BLANK = "\u200b", "\u3164", "\u2800"
NOTHING = [
    *("", " \t\n\u3000", ZERO_WIDTH, HANGUL_FILLER, BRAILLE_BLANK, "\u034f", "\ufe0f", "\u202e"),
    *("\u00ad\u2060\ufeff", "\U000e0041", "\u200d \u200b", "\x1b"),
]
SOMETHING = [
    "a",
    "\u200ba",
    "\u2764\ufe0f",
    "\u0301",
    ".",
    "\u00e9",
    "\U0001f9d1\u200d\U0001f680",
    "\ue000",
]


def test_text_of_invisible_characters_is_blank() -> None:
    assert [text for text in NOTHING if not is_blank(text)] == []
    assert [text for text in SOMETHING if is_blank(text)] == []


def test_a_field_keeps_text_with_a_visible_character_unchanged() -> None:
    assert VisibleCharField().clean("\u200b\u2764\ufe0f") == "\u200b\u2764\ufe0f"
    assert VisibleCharField(required=False).clean(ZERO_WIDTH) == ""
    with pytest.raises(ValidationError):
        VisibleCharField().clean(ZERO_WIDTH)
    assert from_first_visible("\u200b \u3164a\u200bb") == "a\u200bb"
    assert from_first_visible(ZERO_WIDTH) == ""


@pytest.mark.parametrize("message", [ZERO_WIDTH, f"{HANGUL_FILLER}\n{BRAILLE_BLANK}", " "])
def test_an_invisible_message_counts_as_empty(message: str) -> None:
    form = PromptForm({"message": message})
    assert form.errors["message"] == ["Type a message first."]


def test_a_title_begins_at_its_first_visible_character() -> None:
    assert Conversation.build_title(ZERO_WIDTH * 100 + " Why?") == "Why?"
    assert extract_title(f"{HANGUL_FILLER}\nRoses") == "Roses"


def test_a_title_and_a_project_name_must_be_visible(alices: Client, alice: User) -> None:
    conversation = alice.conversations.create(title="Roses")
    headers = {"HX-Request": "true"}
    address = f"/c/{conversation.pk}/rename/"
    answer = alices.post(address, {"title": ZERO_WIDTH}, headers=headers)
    assert (answer.status_code, answer.text) == (422, "Type a title first.")
    answer = alices.post("/projects/", {"name": HANGUL_FILLER}, headers=headers)
    assert (answer.status_code, answer.text) == (422, "Type a name first.")
    assert not Project.objects.exists()


@pytest.mark.parametrize("nothing", [ZERO_WIDTH, HANGUL_FILLER, BRAILLE_BLANK])
def test_names_given_by_staff_must_be_visible(
    olives: Client,
    saved_upstream: Upstream,
    begin: Begin,  # noqa: F811
    nothing: str,
) -> None:
    begin()
    name = {"name": nothing}
    upstream = name | {"base_url": "https://gateway.test/v1"}
    olives.post("/people/groups/", name)
    olives.post("/review/labels/", name)
    olives.post("/review/views/save/", name | {"model": "one"})
    olives.post("/review/samples/draw/", name | {"share": "100"})
    olives.post("/settings/", {"suggestions": nothing})
    olives.post("/settings/models/new/", upstream)
    for kind in (Group, ReviewLabel, ReviewView, ReviewSample, Suggestion):
        assert not kind._default_manager.exists(), kind
    assert Upstream.objects.get() == saved_upstream
    assert "This field is required." in olives.post("/review/rules/add/", WORDS | name).text
    assert not ReviewRule.objects.exists()


def test_invisible_text_in_an_optional_field_is_saved_as_empty(olives: Client) -> None:
    olives.post("/settings/", {"name": HANGUL_FILLER, "notice": ZERO_WIDTH})
    assert (Installation.load().name, Installation.load().notice) == ("", "")
    limit = {"amount": "5", "measure": "tokens", "period": "month", "whose": "all"}
    olives.post("/limits/new/", limit | {"whom_to_ask": ZERO_WIDTH})
    assert Limit.objects.get().whom_to_ask == ""


def test_a_reason_must_be_visible(olives: Client, alice: User, begin: Begin) -> None:  # noqa: F811
    conversation = begin()
    data: dict[str, Any] = {"reason": ZERO_WIDTH, "text": ZERO_WIDTH, "version": 0}
    olives.post(f"/review/{conversation.pk}/open/", data)
    olives.post(f"/review/{conversation.pk}/notes/", data)
    olives.post(f"/people/{alice.pk}/hold/", data)
    for kind in (Opening, ReviewNote, LegalHold):
        assert not kind._default_manager.exists(), kind
    page = olives.post("/review/search/", {"words": "rose", "reason": ZERO_WIDTH}, follow=True)
    assert "Enter a reason first." in page.text


def test_a_username_must_be_visible(olives: Client, alice: User) -> None:
    page = olives.post(f"/people/{alice.pk}/name/", {"username": HANGUL_FILLER}).text
    assert "A username needs visible characters." in page
    assert User.objects.filter(username="alice").exists()
