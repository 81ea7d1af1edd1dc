"""Things that an erased person shared go on working under an administrator; the rest goes."""

import pytest

from chatapp.erasure.people import erase, erase_again
from chatapp.models import AuditEvent, PromptVersion, SavedPrompt, User
from chatapp.models.library.sharing import Level

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("disk")]


@pytest.fixture
def shared_prompt(alice: User) -> SavedPrompt:
    SavedPrompt.start(alice, title="Personal", text="Mine")
    deleted = SavedPrompt.start(alice, title="Deleted", text="Mine")
    deleted.share(None, Level.USE, alice)
    deleted.discard()
    prompt = SavedPrompt.start(alice, title="Shared", text="Ours")
    prompt.share(None, Level.EDIT, alice)
    return prompt


def test_shared_items_pass_to_the_administrator_who_erases(
    shared_prompt: SavedPrompt, alice: User, bob: User, olive: User
) -> None:
    SavedPrompt.objects.get(pk=shared_prompt.pk).change(bob, 1, text="Bob's too")
    second = User.objects.create_superuser("oscar")
    [report] = erase([alice], second)
    prompt = SavedPrompt.objects.get()
    assert (prompt, prompt.owner, prompt.text) == (shared_prompt, second, "Bob's too")
    assert [version.author for version in prompt.versions.all()] == [bob, None]
    assert prompt.find_level(bob) == Level.EDIT
    assert PromptVersion.objects.count() == 2
    assert report.left == {}
    assert "belong to an administrator now (saved prompts: 1)" in report.sentence
    detail = AuditEvent.objects.get(action="person.erased").detail.values
    assert detail["handed_over"] == {"chatapp.SavedPrompt": 1}


def test_they_pass_to_the_oldest_administrator_if_none_erases(
    shared_prompt: SavedPrompt, alice: User, olive: User
) -> None:
    User.objects.create_superuser("oscar")
    erase([alice], alice)
    assert SavedPrompt.objects.get().owner == olive


def test_without_an_administrator_they_go(shared_prompt: SavedPrompt, alice: User) -> None:
    [report] = erase_again([alice])
    assert not SavedPrompt.objects.exists()
    assert report.handover_notice == ""
