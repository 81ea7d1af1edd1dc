"""The settings page: the model that writes titles, and the defaults of new chats."""

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from chatapp.models import AuditEvent, Installation, Suggestion, Upstream, User
from tests.support.page import parse

pytestmark = pytest.mark.django_db
PAGE = "/settings/"


def test_viewing_or_saving_unchanged_settings_stores_nothing(olives: Client) -> None:
    assert "None (use the first words of the prompt)" in olives.get(PAGE).text
    assert olives.post(PAGE, {}).status_code == 302
    assert not Installation.objects.exists()
    assert not AuditEvent.objects.filter(action="installation.changed").exists()


def test_only_changed_settings_are_logged(olives: Client) -> None:
    olives.post(PAGE, {"notice": "One"})
    olives.post(PAGE, {"notice": "Two"})
    event = AuditEvent.objects.filter(action="installation.changed").latest("sequence")
    assert event.detail.values["before"] == {"notice": "One"}
    assert event.detail.values["after"] == {"notice": "Two"}


def test_models_of_the_chosen_provider_are_suggested(olives: Client) -> None:
    pickers = parse(olives.get(PAGE).text).find_all("input[data-picker]")
    assert [
        (picker.attributes["name"], picker.attributes["data-provider"]) for picker in pickers
    ] == [
        ("default_model", "default_upstream"),
        ("title_model", "title_upstream"),
    ]


def test_the_model_for_titles_can_be_set_and_cleared(
    olives: Client, saved_upstream: Upstream
) -> None:
    for upstream, model in ((saved_upstream, "small"), (None, ""), (saved_upstream, "other")):
        fields = {"title_upstream": upstream.pk if upstream else "", "title_model": model}
        assert olives.post(PAGE, fields).status_code == 302
        saved = Installation.objects.get()
        assert (saved.titles_by, saved.title_model) == (upstream, model)


def test_the_upstream_and_model_for_titles_are_set_together(
    olives: Client, saved_upstream: Upstream
) -> None:
    page = olives.post(PAGE, {"title_upstream": "", "title_model": "small"}).text
    assert "Choose the provider that has this model." in page
    page = olives.post(PAGE, {"title_upstream": saved_upstream.pk, "title_model": ""}).text
    assert "Enter the model that writes titles." in page
    assert not Installation.objects.exists()


def test_a_disabled_or_deleted_upstream_writes_no_titles(
    olives: Client, saved_upstream: Upstream
) -> None:
    olives.post(PAGE, {"title_upstream": saved_upstream.pk, "title_model": "small"})
    Upstream.objects.update(enabled=False)
    assert Installation.load().titles_by is None
    saved_upstream.delete()
    assert Installation.load().titles_by is None


def test_the_default_upstream_and_model_are_set_together(
    olives: Client, saved_upstream: Upstream
) -> None:
    fields = {"default_upstream": saved_upstream.pk, "default_model": "small", "notice": "Hello"}
    assert "None (use the first available)" in olives.get(PAGE).text
    half = olives.post(PAGE, fields | {"default_model": ""}).text
    assert "Enter the default model for new chats." in half
    assert "at most 1000" in olives.post(PAGE, fields | {"notice": "x" * 1001}).text
    assert not Installation.objects.exists()
    assert olives.post(PAGE, fields).status_code == 302
    saved = Installation.objects.get()
    assert (saved.default_upstream, saved.default_model, saved.notice) == (
        saved_upstream,
        "small",
        "Hello",
    )
    saved_upstream.delete()
    assert Installation.load().default_choice is None


def test_suggestions_are_edited_one_per_line_and_recorded(olives: Client) -> None:
    Suggestion.objects.create(text="Old")
    assert ">\nOld</textarea>" in olives.get(PAGE).text
    olives.post(PAGE, {"suggestions": "Second <b>\n\n  First  "})
    assert Suggestion.list_visible() == ["Second <b>", "First"]
    event = AuditEvent.objects.filter(action="installation.changed").latest("sequence")
    assert event.detail.values["before"] == {"suggestions": ["Old"]}
    assert event.detail.values["after"] == {"suggestions": ["Second <b>", "First"]}


@pytest.mark.parametrize(
    ("text", "problem"),
    [("x\n" * 9, "Enter at most 8 suggestions."), ("x" * 201, "200 characters at most")],
)
def test_too_many_or_too_long_suggestions_are_refused(
    olives: Client, text: str, problem: str
) -> None:
    assert problem in olives.post(PAGE, {"suggestions": text}).text
    assert not Suggestion.objects.exists()


def test_suggestions_that_are_not_shown_survive_another_change(olives: Client) -> None:
    texts = [f"{number}" for number in range(9)]
    Suggestion.replace(texts)
    olives.post(PAGE, {"suggestions": "\n".join(texts), "notice": "New"})
    assert Suggestion.list_all() == texts


def test_who_may_share_is_set_and_recorded(olives: Client) -> None:
    group = Group.objects.create(name="team")
    assert "Members of these groups" in olives.get(PAGE).text
    olives.post(PAGE, {"who_shares": "groups", "sharing_groups": [group.pk]})
    saved = Installation.objects.get()
    assert (saved.who_shares, list(saved.sharing_groups.all())) == ("groups", [group])
    event = AuditEvent.objects.get(action="installation.changed")
    assert event.detail.values["before"] == {"who_shares": "everyone", "sharing_groups": []}
    assert event.detail.values["after"] == {"who_shares": "groups", "sharing_groups": ["team"]}
    olives.post(PAGE, {"who_shares": "nobody"})
    assert Installation.objects.get().who_shares == "groups"
    olives.post(PAGE, {"who_shares": "everyone"})
    assert not saved.sharing_groups.exists()


def test_who_may_use_the_api_is_set_and_recorded(olives: Client, alice: User) -> None:
    group = Group.objects.create(name="team")
    assert not Installation.load().lets_use_api(alice)
    olives.post(PAGE, {"who_uses_api": "groups", "api_groups": [group.pk]})
    assert not Installation.load().lets_use_api(alice)
    alice.groups.add(group)
    assert Installation.load().lets_use_api(alice)
    event = AuditEvent.objects.get(action="installation.changed")
    assert event.detail.values["after"] == {"who_uses_api": "groups", "api_groups": ["team"]}
    olives.post(PAGE, {"who_uses_api": "everyone"})
    assert Installation.load().lets_use_api(alice)
    olives.post(PAGE, {"who_uses_api": "nobody"})
    assert not Installation.load().lets_use_api(alice)
