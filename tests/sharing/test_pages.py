"""The pages of shared links: what they show, to whom, and what they never do."""

import re
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from chatapp.models import (
    Attachment,
    AuditEvent,
    Conversation,
    Deletion,
    Installation,
    Message,
    SharedChat,
    User,
)
from chatapp.rendering.fragments.words import day
from chatapp.sharing import access
from tests.sharing.conftest import Shared
from tests.support.attaching import attach_file
from tests.support.clock import Step

pytestmark = pytest.mark.django_db


def page(client: Client, token: str) -> str:
    response = client.get(f"/s/{token}/")
    assert response.status_code == 200, response
    return response.content.decode()


def is_open(client: Client, token: str) -> bool:
    return bool(client.get(f"/s/{token}/").status_code == 200)


@pytest.fixture
def public(db: None) -> None:
    Installation.objects.update_or_create(pk=1, defaults={"allows_public_links": True})


@pytest.fixture
def team(alice: User, bob: User) -> Group:
    team = Group.objects.create(name="team")
    team.user_set.add(alice, bob)
    return team


def test_a_snapshot_shows_its_branch_up_to_a_message(
    share_chat: Shared, turns: list[Message], bob: User, bobs: Client
) -> None:
    html = page(bobs, share_chat(bob, message=turns[1]))
    assert "Why is it blue?" in html
    assert "And red in the evening?" not in html
    assert "The sky &lt;b&gt;at noon&lt;/b&gt;" in html
    assert "data-follows" not in html
    assert "/css/messages." in html


def test_a_live_view_shows_the_branch_that_the_owner_reads(
    share_chat: Shared, turns: list[Message], chat: Conversation, bob: User, bobs: Client
) -> None:
    token = share_chat(bob)
    assert "And red in the evening?" in page(bobs, token)
    chat.activate_branch(turns[1].pk)
    Message.objects.filter(pk=turns[2].pk).update(deleted_at=timezone.now())
    Message.objects.filter(pk=turns[3].pk).update(deleted_at=timezone.now())
    assert "And red in the evening?" not in page(bobs, token)


def test_a_live_view_says_when_an_imported_chat_was_begun(
    share_chat: Shared, turns: list[Message], chat: Conversation, bob: User, bobs: Client
) -> None:
    token = share_chat(bob)
    begun_at = datetime(2025, 10, 9, tzinfo=UTC)
    Message.objects.filter(pk=turns[0].pk).update(created_at=begun_at)
    assert f"Started {day(chat.created_at)}." in " ".join(page(bobs, token).split())
    Conversation.objects.filter(pk=chat.pk).update(imported_from="chatgpt")
    assert "Started 9 Oct 2025." in " ".join(page(bobs, token).split())


def test_only_named_people_may_open_a_link(
    share_chat: Shared,
    turns: list[Message],
    bob: User,
    bobs: Client,
    olives: Client,
    alices: Client,
) -> None:
    token = share_chat(bob)
    assert is_open(bobs, token)
    assert is_open(alices, token)  # the owner sees what readers see
    assert not is_open(olives, token)


def test_members_of_a_group_may_open_a_link_as_long_as_they_are_in_it(
    share_chat: Shared, turns: list[Message], team: Group, bob: User, bobs: Client
) -> None:
    token = share_chat(groups=[team])
    assert is_open(bobs, token)
    team.user_set.remove(bob)
    assert not is_open(bobs, token)


def test_everyone_who_signs_in_may_open_a_link_for_everyone(
    share_chat: Shared, turns: list[Message], bobs: Client, nobodys: Client
) -> None:
    token = share_chat(is_everyone=True)
    assert is_open(bobs, token)
    response = nobodys.get(f"/s/{token}/")
    assert response["Location"] == f"/accounts/login/?next=/s/{token}/"
    assert response["Referrer-Policy"] == "no-referrer"


def test_a_public_link_works_without_an_account_while_an_administrator_allows_it(
    share_chat: Shared, turns: list[Message], nobodys: Client, public: None
) -> None:
    token = share_chat(is_public=True)
    assert "Continue in a chat of your own" not in page(nobodys, token)
    Installation.objects.update(allows_public_links=False)
    assert not is_open(nobodys, token)


def test_what_is_not_open_gets_the_same_answer_whatever_it_is(
    share_chat: Shared, turns: list[Message], bob: User, bobs: Client, nobodys: Client, alice: User
) -> None:
    revoked = share_chat(bob)
    SharedChat.objects.get().revoke(alice)
    others = share_chat(alice_only := User.objects.create_user("carol"))
    assert alice_only.is_active
    expired = share_chat(bob, days=1)
    SharedChat.objects.filter(expires_at__isnull=False).update(expires_at=timezone.now())
    answers = set()
    for token in (revoked, others, expired, "unknown", "x" * 500, "%00", "..", "é"):
        response = bobs.get(f"/s/{token}/")
        body = re.sub(rb"csrf[^>]*>", b"", response.content)
        answers.add((response.status_code, body, response["Cache-Control"]))
        assert nobodys.get(f"/s/{token}/").status_code == 302
    assert len(answers) == 1
    assert answers.pop()[0] == 404


def test_a_link_ends_with_its_chat_and_its_owner(
    share_chat: Shared,
    turns: list[Message],
    chat: Conversation,
    alice: User,
    bob: User,
    bobs: Client,
) -> None:
    token = share_chat(bob)
    Conversation.objects.filter(pk=chat.pk).trash()
    assert not is_open(bobs, token)
    Conversation.objects.filter(pk=chat.pk).restore()
    assert is_open(bobs, token)
    alice.is_active = False
    alice.save()
    assert not is_open(bobs, token)
    alice.is_active = True
    alice.save()
    chat.erase()
    assert not is_open(bobs, token)
    assert not SharedChat.objects.exists()


def test_deleted_messages_vanish_from_a_snapshot(
    share_chat: Shared, turns: list[Message], alice: User, bob: User, bobs: Client
) -> None:
    token = share_chat(bob, message=turns[3])
    Deletion(turns[2].pk).store(alice)
    html = page(bobs, token)
    assert "Why is it blue?" in html
    assert "And red in the evening?" not in html


def test_an_expired_link_is_not_open(
    share_chat: Shared, turns: list[Message], bob: User, bobs: Client, clock: Step
) -> None:
    token = share_chat(bob, days=1)
    link = SharedChat.objects.get()
    assert link.seconds_left > 86_000
    SharedChat.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert not is_open(bobs, token)


def test_reasoning_tools_files_and_the_author_are_hidden_unless_chosen(
    share_chat: Shared, turns: list[Message], alice: User, bob: User, bobs: Client
) -> None:
    Message.objects.filter(pk=turns[1].pk).update(
        reasoning="Let me think about scattering",
        tool_runs=[
            {"id": "1", "name": "lookup", "arguments": "{}", "state": "done", "result": "a result"}
        ],
    )
    hidden = page(bobs, share_chat(bob))
    assert "scattering" not in hidden
    assert "a result" not in hidden
    assert "alice" not in hidden
    assert "Not shown: reasoning, tool calls and files." in hidden
    full_html = page(
        bobs, share_chat(bob, shows_reasoning=True, shows_tools=True, shows_author=True)
    )
    assert "scattering" in full_html
    assert "a result" in full_html
    assert "alice" in full_html


def test_a_file_that_has_expired_keeps_its_name(
    share_chat: Shared, turns: list[Message], bob: User, bobs: Client
) -> None:
    attach_file(turns[0], "notes.txt")
    Attachment.objects.expire()
    html = page(bobs, share_chat(bob, shows_files=True))
    assert "notes.txt" in html
    assert "Deleted by the retention period" in html


def test_a_page_has_no_action_of_its_owner_and_no_way_to_another_page_of_them(
    share_chat: Shared, turns: list[Message], chat: Conversation, bob: User, bobs: Client
) -> None:
    token = share_chat(bob, shows_reasoning=True, shows_tools=True)
    html = page(bobs, token)
    for word in ("hx-ws", "hx-get", "data-edit", "data-about", str(chat.pk), token):
        assert word not in html, word


def test_a_page_is_not_indexed_cached_or_named_to_other_sites(
    share_chat: Shared, turns: list[Message], bob: User, bobs: Client
) -> None:
    response = bobs.get(f"/s/{share_chat(bob)}/")
    assert response["X-Robots-Tag"] == "noindex, nofollow"
    assert response["Referrer-Policy"] == "no-referrer"
    assert response["Cache-Control"] == "no-store"
    assert b'<meta name="robots" content="noindex, nofollow">' in response.content


def test_earlier_messages_are_those_of_the_branch_only(
    share_chat: Shared, turns: list[Message], bob: User, bobs: Client, alice: User
) -> None:
    token = share_chat(bob, message=turns[1])
    before = bobs.get(f"/s/{token}/earlier/{turns[1].pk}/").content.decode()
    assert "Why is it blue?" in before
    other = alice.conversations.create(title="Another")
    elsewhere = Message.objects.create(conversation=other, role="user", content="A secret")
    after = Message.objects.create(
        conversation=other, role="assistant", parent=elsewhere, content="Another secret"
    )
    for pk in (turns[3].pk, turns[2].pk, elsewhere.pk, after.pk, uuid4()):
        assert bobs.get(f"/s/{token}/earlier/{pk}/").status_code == 404
        assert bobs.get(f"/s/{token}/?before={pk}").status_code == 404


def test_people_who_are_not_signed_in_can_try_only_some_tokens(nobodys: Client, db: None) -> None:
    tried = [nobodys.get(f"/s/guess-{number}/").status_code for number in range(40)]
    assert tried[: access.MISSES_AT_ONCE] == [302] * access.MISSES_AT_ONCE
    assert tried[-1] == 429


def test_the_last_use_is_stored_and_the_first_of_a_public_link_is_recorded(
    share_chat: Shared, turns: list[Message], alices: Client, nobodys: Client, public: None
) -> None:
    token = share_chat(is_public=True)
    page(alices, token)
    assert SharedChat.objects.get().last_used_at is None  # the owner doesn't count
    page(nobodys, token)
    page(nobodys, token)
    assert SharedChat.objects.get().last_used_at
    assert AuditEvent.objects.filter(action="chat.share_opened").count() == 1


def test_a_long_chat_is_shown_in_parts(
    share_chat: Shared, chat: Conversation, bob: User, bobs: Client
) -> None:
    parent = None
    for number in range(50):
        role = ("user", "assistant")[number % 2]
        ending = "complete" if number % 2 else ""
        parent = Message.objects.create(
            conversation=chat, role=role, parent=parent, content=f"word{number}.", ending=ending
        )
    token = share_chat(bob)
    html = page(bobs, token)
    assert "word49." in html
    assert "word5." not in html
    match = re.search(r'data-earlier="([^"]+)"', html)
    assert match
    assert "word5." in bobs.get(f"/s/{token}/earlier/{match[1]}/").content.decode()
    assert "word5." in bobs.get(f"/s/{token}/?before={match[1]}").content.decode()
