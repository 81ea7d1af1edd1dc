"""Each saved change of Alice's prompt is a version, and nobody overwrites another's change."""

import pytest

from chatapp.models import PromptVersion, Refused, SavedPrompt, User
from chatapp.models.library.sharing import Level
from chatapp.models.library.versions import ChangedMeanwhile, NotOpen

pytestmark = pytest.mark.django_db


@pytest.fixture
def prompt(alice: User) -> SavedPrompt:
    return SavedPrompt.start(alice, title="Stand-up", command="standup", text="One")


def texts(prompt: SavedPrompt) -> list[tuple[int, str]]:
    return [(version.number, version.text) for version in prompt.versions.all()]


def test_a_change_adds_a_version_and_no_change_adds_none(prompt: SavedPrompt, alice: User) -> None:
    prompt.change(alice, 1, text="Two")
    prompt.change(alice, 2, text="Two")
    assert texts(prompt) == [(2, "Two"), (1, "One")]
    prompt.refresh_from_db()
    assert (prompt.version, prompt.text, prompt.title) == (2, "Two", "Stand-up")
    assert [version.author for version in prompt.versions.all()] == [alice, alice]


def test_going_back_adds_a_version_with_the_old_content(prompt: SavedPrompt, alice: User) -> None:
    prompt.change(alice, 1, text="Two", title="Other")
    prompt.change(alice, 2, **prompt.get_version_content(1))
    assert texts(prompt) == [(3, "One"), (2, "Two"), (1, "One")]
    assert (prompt.title, prompt.text) == ("Stand-up", "One")
    with pytest.raises(Refused, match="no longer exists"):
        prompt.change(alice, 3, **prompt.get_version_content(99))


def test_a_change_of_what_somebody_else_changed_meanwhile_is_refused(
    prompt: SavedPrompt, alice: User, bob: User
) -> None:
    prompt.share(None, Level.EDIT, alice)
    same_prompt = SavedPrompt.objects.get(pk=prompt.pk)
    same_prompt.change(bob, 1, text="Bob's")
    with pytest.raises(ChangedMeanwhile, match="bob has changed this") as refused:
        prompt.change(alice, 1, text="Alice's")
    assert refused.value.newest == 2
    prompt.change(alice, 2, text="Alice's")
    assert texts(prompt) == [(3, "Alice's"), (2, "Bob's"), (1, "One")]


def test_only_those_who_may_change_it_save_a_version(
    prompt: SavedPrompt, alice: User, bob: User
) -> None:
    for level in (None, Level.READ):
        if level:
            prompt.share(None, level, alice)
        with pytest.raises(NotOpen):
            prompt.change(bob, 1, text="Bob's")
    prompt.discard()
    with pytest.raises(NotOpen):
        prompt.change(alice, 1, text="Two")
    assert texts(prompt) == [(1, "One")]


def test_versions_are_never_changed(prompt: SavedPrompt) -> None:
    version = prompt.versions.get()
    version.text = "Other"
    with pytest.raises(TypeError):
        version.save()


def test_the_oldest_of_many_versions_go(
    prompt: SavedPrompt, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatapp.models.library.versions.MAX_VERSIONS", 3)
    for number in range(1, 6):
        prompt.change(alice, number, text=f"Text {number}")
    assert list(PromptVersion.objects.values_list("number", flat=True)) == [6, 5, 4]
