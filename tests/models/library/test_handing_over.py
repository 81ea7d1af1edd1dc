"""What an erased person shared goes on working under an administrator; the rest goes."""

import pytest

from chatapp.accounts.erasing import erase, erase_again
from chatapp.models import AuditEvent, PromptVersion, SavedPrompt, User
from chatapp.models.library.sharing import Level

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("disk")]


@pytest.fixture
def shared(alice: User) -> SavedPrompt:
    SavedPrompt.start(alice, title="Personal", text="Mine")
    deleted = SavedPrompt.start(alice, title="Deleted", text="Mine")
    deleted.share(None, Level.USE, alice)
    deleted.discard()
    shared = SavedPrompt.start(alice, title="Shared", text="Ours")
    shared.share(None, Level.EDIT, alice)
    return shared


def test_shared_items_pass_to_the_administrator_who_erases(
    shared: SavedPrompt, alice: User, bob: User, olive: User
) -> None:
    SavedPrompt.objects.get(pk=shared.pk).change(bob, 1, text="Bob's too")
    second = User.objects.create_superuser("oscar")
    [report] = erase([alice], second)
    kept = SavedPrompt.objects.get()
    assert (kept, kept.owner, kept.text) == (shared, second, "Bob's too")
    assert [one.author for one in kept.versions.all()] == [bob, None]
    assert kept.level_of(bob) == Level.EDIT
    assert PromptVersion.objects.count() == 2
    assert report.left == {}
    assert "belong to an administrator now (saved prompts: 1)" in report.sentence
    detail = AuditEvent.objects.get(action="person.erased").detail.values
    assert detail["handed_over"] == {"chatapp.SavedPrompt": 1}


def test_they_pass_to_the_oldest_administrator_if_none_erases(
    shared: SavedPrompt, alice: User, olive: User
) -> None:
    User.objects.create_superuser("oscar")
    erase([alice], alice)
    assert SavedPrompt.objects.get().owner == olive


def test_without_an_administrator_they_go(shared: SavedPrompt, alice: User) -> None:
    [report] = erase_again([alice])
    assert not SavedPrompt.objects.exists()
    assert report.passed_on == ""
