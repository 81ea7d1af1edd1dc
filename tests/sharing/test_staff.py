"""Shared chats as administrators and reviewers see them, and what administrators stop."""

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from chatapp.models import (
    AuditEvent,
    Conversation,
    LegalHold,
    Message,
    ReviewPolicy,
    SharedChat,
    User,
)
from tests.conftest import signed_in
from tests.sharing.conftest import Shared
from tests.support.page import has_word
from tests.support.reviewer import address

pytestmark = pytest.mark.django_db
PAGE = "/settings/shared/"


@pytest.fixture
def rita(db: None) -> User:
    return User.objects.create_user("rita", is_staff=True, reviews=True)


def test_administrators_see_links_without_titles_and_revoke_them(
    share_chat: Shared, turns: list[Message], bob: User, bobs: Client, olives: Client
) -> None:
    token = share_chat(bob)
    page = olives.get(PAGE).text
    assert "alice" in page
    assert "bob" in page
    assert "at noon" not in page
    assert token not in page
    link = SharedChat.objects.get()
    answer = olives.post(f"{PAGE}{link.pk}/revoke/", follow=True)
    assert "Revoked. The link no longer works." in answer.text
    assert bobs.get(f"/s/{token}/").status_code == 404
    event = AuditEvent.objects.latest("sequence")
    assert (event.action, event.target) == ("chat.unshared", str(link.conversation_id))
    again = olives.post(f"{PAGE}{link.pk}/revoke/", follow=True)
    assert "This is not shared any more." in again.text


@pytest.mark.parametrize("hides_names", [False, True])
def test_reviewers_see_with_whom_a_chat_is_shared(
    share_chat: Shared,
    turns: list[Message],
    chat: Conversation,
    alice: User,
    bob: User,
    rita: User,
    *,
    hides_names: bool,
) -> None:
    ReviewPolicy.objects.create(scope="all", hides_names=hides_names, begins_at=timezone.now())
    Conversation.objects.filter(pk=chat.pk).update(created_at=timezone.now())
    team = Group.objects.create(name="team")
    team.user_set.add(alice)
    share_chat(bob, groups=[team])
    page = signed_in(rita).get(address(chat.pk)).text
    if hides_names:
        assert "Shared with: one person, one group." in page
        assert not has_word(page, "bob")
    else:
        assert "Shared with: bob, team." in page


def test_a_legal_hold_keeps_a_link_and_the_trash_hides_it(
    share_chat: Shared,
    turns: list[Message],
    chat: Conversation,
    alice: User,
    bob: User,
    bobs: Client,
    olive: User,
) -> None:
    token = share_chat(bob)
    LegalHold.begin(alice, chat.pk, "A matter", olive)
    Conversation.objects.filter(pk=chat.pk).trash()
    assert bobs.get(f"/s/{token}/").status_code == 404
    Conversation.objects.filter(pk=chat.pk).discard()
    assert SharedChat.objects.count() == 1


def test_links_are_found_by_their_owner(
    share_chat: Shared, turns: list[Message], bob: User, olives: Client
) -> None:
    share_chat(bob)
    assert "Never" in olives.get(PAGE, {"q": "ALICE"}).text
    assert "Never" not in olives.get(PAGE, {"q": "bob"}).text
