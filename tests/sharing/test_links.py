"""Alice makes, renews and revokes links, and readers copy what they see."""

import html
import re
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.core.files.storage import Storage
from django.test import Client
from pytest_django import Settings

from chatapp.models import (
    Attachment,
    AuditEvent,
    Conversation,
    FileContent,
    Installation,
    Message,
    ReplyImage,
    SharedChat,
    User,
)
from chatapp.models.conversations.messages.rounds import Round, RunState, ToolRun
from tests.sharing.conftest import Shared
from tests.support.attaching import attach_file
from tests.support.pictures import WEBP, png
from tests.support.stored import build_reply, end

pytestmark = pytest.mark.django_db(transaction=True)
IMAGE = png(2, 2)


def share_in_dialog(client: Client, chat: Conversation, message: str = "", **fields: object) -> str:
    """Share through the dialog; return the token, or the problem that it shows."""
    posted = {"who": "named", "days": "7", "live": "on"} | fields
    query = f"?message={message}" if message else ""
    path = f"/c/{chat.pk}/share/{query}"
    answer = client.post(path, posted, headers={"HX-Request": "true"}).content.decode()
    if match := re.search(r'value="http://localhost/s/([^"/]+)/"', answer):
        return match[1]
    problem = re.search(r'class="problem"[^>]*>([^<]+)<', answer)
    assert problem, answer
    return html.unescape(problem[1])


def test_the_dialog_makes_a_link_that_its_owner_can_copy_again(
    alices: Client, bobs: Client, chat: Conversation, turns: list[Message], bob: User
) -> None:
    dialog = alices.get(f"/c/{chat.pk}/share/", headers={"HX-Request": "true"}).content.decode()
    assert dialog.lstrip().startswith("<dialog")
    token = share_in_dialog(alices, chat, people="bob", shows_author="on")
    assert len(token) >= 22  # 128 bits
    [row] = SharedChat.objects.values_list()
    assert not any(token in str(value) for value in row)
    assert bobs.get(f"/s/{token}/").status_code == 200
    for page in ("/shared-links/", f"/c/{chat.pk}/share/"):
        assert f"/s/{token}/" in alices.get(page).text
        assert token not in bobs.get(page).text
    event = AuditEvent.objects.get(action="chat.shared")
    assert str(event.target) == str(chat.pk)
    assert f"person {bob.pk}" in event.detail.content
    assert "bob" not in event.detail.content


def test_a_link_made_with_another_key_works_and_cannot_be_copied(
    alices: Client,
    bobs: Client,
    chat: Conversation,
    turns: list[Message],
    bob: User,
    settings: Settings,
) -> None:
    token = share_in_dialog(alices, chat, people="bob")
    link = SharedChat.objects.get()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "k" * 50, [settings.SECRET_KEY]
    assert link.token == token
    settings.SECRET_KEY_FALLBACKS = []
    assert link.token is None
    assert SharedChat.find(token, bob) == link


def test_a_snapshot_ends_at_the_message_of_the_menu_or_at_the_end(
    alices: Client, chat: Conversation, turns: list[Message], bob: User
) -> None:
    share_in_dialog(alices, chat, people="bob", live="")
    assert SharedChat.objects.get().message == turns[-1]
    SharedChat.objects.all().delete()
    share_in_dialog(alices, chat, message=str(turns[1].pk), people="bob", live="")
    assert SharedChat.objects.get().message == turns[1]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, "Name at least one person or choose a group."),
        ({"people": "nobody"}, "Nobody here signs in as “nobody”"),
        ({"people": "alice"}, "This is your own account"),
        ({"groups": "999"}, "Select a valid choice"),
        ({"who": "public"}, "Select a valid choice"),
        ({"who": "everyone", "days": "31"}, "Select a valid choice"),
        ({"people": "bob\0"}, "Null characters"),
    ],
)
def test_what_cannot_be_shared_is_refused_with_a_sentence(
    alices: Client, chat: Conversation, turns: list[Message], fields: dict[str, str], problem: str
) -> None:
    assert problem in share_in_dialog(alices, chat, **fields)
    assert not SharedChat.objects.exists()


def test_an_administrator_limits_how_long_links_work_and_who_may_share(
    alices: Client, chat: Conversation, turns: list[Message]
) -> None:
    Installation.objects.update_or_create(pk=1, defaults={"share_days": 5})
    dialog = alices.get(f"/c/{chat.pk}/share/").content.decode()
    assert re.findall(r'<option value="(\d+)"', dialog) == ["1", "5"]
    assert "Select a valid choice" in share_in_dialog(alices, chat, who="everyone", days="7")
    Installation.objects.update(who_shares="administrators")
    path = f"/c/{chat.pk}/share/"
    answer = alices.post(path, {"who": "everyone", "days": "5", "live": "on"})
    assert "who may share" in answer.content.decode()
    assert not SharedChat.objects.exists()


def test_only_groups_of_their_own_are_offered(
    alices: Client, chat: Conversation, turns: list[Message], alice: User
) -> None:
    theirs, others = (Group.objects.create(name=name) for name in ("team", "board"))
    theirs.user_set.add(alice)
    dialog = alices.get(f"/c/{chat.pk}/share/").content.decode()
    assert "team" in dialog
    assert "board" not in dialog
    assert "Select a valid choice" in share_in_dialog(alices, chat, groups=str(others.pk))


def test_temporary_chats_and_replies_being_written_are_not_shared(
    alices: Client, chat: Conversation, turns: list[Message]
) -> None:
    Message.objects.filter(pk=turns[-1].pk).update(ending="streaming")
    assert "still being written" in share_in_dialog(alices, chat, who="everyone", live="")
    Conversation.objects.filter(pk=chat.pk).update(is_temporary=True)
    assert "temporary chat" in share_in_dialog(alices, chat, who="everyone")


def test_a_chat_of_somebody_else_cannot_be_shared(
    bobs: Client, chat: Conversation, turns: list[Message]
) -> None:
    path = f"/c/{chat.pk}/share/"
    assert bobs.get(path).status_code == 404
    assert bobs.post(path, {"who": "everyone", "days": "7"}).status_code == 404


def test_a_link_is_renewed_and_revoked(
    alices: Client, bobs: Client, share_chat: Shared, turns: list[Message], bob: User
) -> None:
    assert "No shared links yet" in alices.get("/shared-links/").content.decode()
    old = share_chat(bob)
    link = SharedChat.objects.get()
    renewed = alices.post(f"/shared-links/{link.pk}/renew/", follow=True).text
    match = re.search(r'value="http://localhost/s/([^"/]+)/"', renewed)
    assert match
    assert bobs.get(f"/s/{old}/").status_code == 404
    assert bobs.get(f"/s/{match[1]}/").status_code == 200
    for act in ("renew", "revoke"):
        assert bobs.post(f"/shared-links/{link.pk}/{act}/").status_code == 404
    alices.post(f"/shared-links/{link.pk}/revoke/")
    assert bobs.get(f"/s/{match[1]}/").status_code == 404
    actions = AuditEvent.objects.filter(action__startswith="chat.").values_list("action", flat=True)
    assert list(actions.order_by("sequence")) == [
        "chat.shared",
        "chat.share_changed",
        "chat.unshared",
    ]


def copy_chat(client: Client, token: str) -> Conversation:
    answer = client.post(f"/s/{token}/copy/")
    assert answer.status_code == 302, answer
    match = re.search(r"/c/([^/]+)/", answer["Location"])
    assert match, answer["Location"]
    return Conversation.objects.get(pk=match[1])


def test_a_reader_continues_in_a_chat_of_their_own(
    bobs: Client, share_chat: Shared, turns: list[Message], bob: User, chat: Conversation
) -> None:
    Message.objects.filter(pk=turns[1].pk).update(
        reasoning="A secret thought",
        earlier_rounds=[{"content": "Let me see.", "reasoning": "Hidden", "tool_runs": []}],
        tool_runs=[
            {"id": "1", "name": "lookup", "arguments": "{}", "state": "done", "result": "found"}
        ],
        error={"kind": "server", "message": "of the owner's provider"},
        response_id="resp-1",
    )
    copy = copy_chat(bobs, share_chat(bob, message=turns[1]))
    assert copy.user == bob
    assert not copy.is_temporary
    assert copy.title == f"{chat.title} (copy)"
    prompt, reply = copy.messages.order_by("sequence")
    assert prompt.content == "Why is it blue?"
    assert "Let me see." in reply.content
    copied_parts = (
        reply.reasoning,
        reply.earlier_rounds,
        reply.tool_runs,
        reply.error,
        reply.response_id,
    )
    assert not any(copied_parts)
    assert bobs.get(f"/c/{copy.pk}/").status_code == 200


def test_a_copy_has_reasoning_and_tools_if_they_are_shown(
    bobs: Client, share_chat: Shared, turns: list[Message], bob: User
) -> None:
    runs = [{"id": "1", "name": "lookup", "arguments": "{}", "state": "done", "result": "found"}]
    Message.objects.filter(pk=turns[1].pk).update(reasoning="A thought", tool_runs=runs)
    token = share_chat(bob, message=turns[1], shows_reasoning=True, shows_tools=True)
    reply = copy_chat(bobs, token).messages.get(role="assistant")
    assert (reply.reasoning, reply.tool_runs) == ("A thought", runs)


def test_a_copy_with_tools_has_no_reasoning_and_no_usage_of_their_rounds(
    bobs: Client, share_chat: Shared, turns: list[Message], bob: User
) -> None:
    """Gateways put reasoning also among the fields with which tool calls are sent back."""
    run = ToolRun("1", "lookup", "{}", RunState.DONE, "found")
    opaque = {"reasoning_details": [{"type": "reasoning.text", "text": "A secret thought"}]}
    earlier = Round("Hidden", "Let me see.", "", [run], "tool_calls", "resp-1", {"n": 7}, opaque)
    Message.objects.filter(pk=turns[1].pk).update(earlier_rounds=[earlier.as_record()])
    for with_reasoning, expected in (
        (False, Round("", "Let me see.", "", [run])),
        (True, Round("Hidden", "Let me see.", "", [run], opaque=opaque)),
    ):
        token = share_chat(bob, message=turns[1], shows_tools=True, shows_reasoning=with_reasoning)
        reply = copy_chat(bobs, token).messages.get(role="assistant")
        assert reply.earlier_rounds == [expected.as_record()]


@pytest.fixture
def side_by_side(chat: Conversation, turns: list[Message]) -> list[Message]:
    """Two answers of two models to a third prompt."""
    gateway = turns[1].upstream
    assert gateway
    messages = chat.ask(
        uuid4(), "Green?", turns[3].pk, gateway, "m", uuid4(), others=[(gateway, "n")]
    )
    for number, reply in enumerate(messages[1:]):
        end(reply, build_reply(f"Answer {number}"))
    return list(messages[1:])


def test_a_snapshot_never_ends_before_answers_that_stand_side_by_side(
    alices: Client, bobs: Client, side_by_side: list[Message], chat: Conversation, bob: User
) -> None:
    assert "several answers side by side" in share_in_dialog(alices, chat, people="bob", live="")
    assert not SharedChat.objects.exists()
    token = share_in_dialog(alices, chat, message=str(side_by_side[1].pk), people="bob", live="")
    page = bobs.get(f"/s/{token}/").content.decode()
    assert "Answer 1" in page
    assert "Answer 0" not in page


def test_a_copy_has_all_answers_that_stand_side_by_side(
    bobs: Client, share_chat: Shared, side_by_side: list[Message], bob: User
) -> None:
    copy = copy_chat(bobs, share_chat(bob))
    assert [message.content for message in copy.load_thread_page().newest().beside] == [
        "Answer 0",
        "Answer 1",
    ]


def test_only_readers_can_copy(
    bobs: Client,
    olives: Client,
    nobodys: Client,
    share_chat: Shared,
    turns: list[Message],
    bob: User,
) -> None:
    token = share_chat(bob)
    assert olives.post(f"/s/{token}/copy/").status_code == 404
    assert nobodys.post(f"/s/{token}/copy/")["Location"].startswith("/accounts/login/")
    assert not Conversation.objects.exclude(user__username="alice").exists()


def test_files_are_open_only_through_a_link_that_shows_them(
    bobs: Client,
    share_chat: Shared,
    turns: list[Message],
    bob: User,
    chat: Conversation,
    disk: Storage,
) -> None:
    picture = attach_file(turns[0], "sky.png", IMAGE)
    report = attach_file(turns[0], "report.txt", b"A report")
    later = attach_file(turns[2], "later.txt", b"A later one")
    ReplyImage.objects.create(message=turns[1], position=0, media_type="image/webp", data=WEBP)
    Message.objects.filter(pk=turns[1].pk).update(extras_record={"image_count": 1})
    other = chat.user.conversations.create(title="Another")
    elsewhere = attach_file(
        Message.objects.create(conversation=other, role="user"), "secret.txt", b"A secret"
    )
    hidden, visible = (
        share_chat(bob, message=turns[1]),
        share_chat(bob, message=turns[1], shows_files=True),
    )
    named = share_chat(bob, message=turns[1], shows_files=True, shows_author=True)
    paths = (f"files/{picture.pk}/image/", f"files/{picture.pk}/thumbnail/", f"files/{report.pk}/")
    for path in (*paths, f"images/{turns[1].pk}/0/"):
        assert bobs.get(f"/s/{hidden}/{path}").status_code == 404, path
        answer = bobs.get(f"/s/{visible}/{path}")
        assert answer.status_code == 200, path
        assert answer["Referrer-Policy"] == "no-referrer"
        assert answer["Cache-Control"] == "no-store"
    # Without the author's name, a document is its text: the original may contain the name.
    text = bobs.get(f"/s/{visible}/files/{report.pk}/")
    assert (text.content, text["Content-Type"]) == (b"A report", "text/plain; charset=utf-8")
    assert bobs.get(f"/s/{named}/files/{report.pk}/")["Content-Disposition"].startswith("attach")
    for path in (f"files/{later.pk}/", f"files/{elsewhere.pk}/", f"files/{uuid4()}/"):
        assert bobs.get(f"/s/{visible}/{path}").status_code == 404
    assert bobs.get(f"/s/{visible}/images/{turns[3].pk}/0/").status_code == 404
    html = bobs.get(f"/s/{visible}/").content.decode()
    assert "report.txt" in html
    assert "report.txt" not in bobs.get(f"/s/{hidden}/").content.decode()
    for token, count in ((hidden, 0), (visible, 2)):
        copy = copy_chat(bobs, token)
        assert copy.messages.get(role="user").file_count == count
        assert copy.messages.get(role="assistant").images.count() == bool(count)


def test_a_copy_without_the_authors_name_has_the_texts_of_documents(
    bobs: Client, share_chat: Shared, turns: list[Message], bob: User, disk: Storage
) -> None:
    """The original of a document may contain its author's name."""
    report, scan = attach_file(turns[0], "report.docx"), attach_file(turns[0], "scan.pdf", b"scan")
    word = FileContent.objects.filter(file=report.file)
    word.update(media_type="application/x-docx", text="One Two Three", page_ends=[4, 8, 13])
    Attachment.objects.filter(pk=report.pk).update(first_page=2, last_page=2)
    FileContent.objects.filter(file=scan.file).update(
        kind="scan", media_type="application/pdf", text="", page_ends=[0]
    )
    attach_file(turns[0], "sky.png", IMAGE)
    attach_file(turns[0], "notes.txt", b"Notes")
    unnamed = share_chat(bob, message=turns[1], shows_files=True)
    named = share_chat(bob, message=turns[1], shows_files=True, shows_author=True)
    for token, expected in (
        (unnamed, {"report.docx.txt": b"Two ", "sky.png": IMAGE, "notes.txt": b"Notes"}),
        (
            named,
            {
                "report.docx": b"A report",
                "scan.pdf": b"scan",
                "sky.png": IMAGE,
                "notes.txt": b"Notes",
            },
        ),
    ):
        prompt = copy_chat(bobs, token).messages.get(role="user")
        files = prompt.attachments.select_related("file")
        assert {
            attachment.name: attachment.file.read() for attachment in files if attachment.file
        } == expected
        assert prompt.file_count == len(expected)
        assert all(attachment.parts() for attachment in files)
