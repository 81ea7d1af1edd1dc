"""The Privacy page: who opened a person's chats, and the archive of their data."""

import csv
import io
import json
from typing import Any
from uuid import uuid4
from zipfile import ZipFile

import pytest
from asgiref.sync import sync_to_async
from django.contrib.sessions.models import Session
from django.test import AsyncClient, Client
from django.utils import timezone

from chatapp.erasure.people import erase
from chatapp.models import (
    Attachment,
    AuditDetail,
    AuditEvent,
    Conversation,
    Feedback,
    ReplyImage,
    Upstream,
    Usage,
    User,
    audit,
)
from chatapp.sessions.validity import NotSignedIn
from tests.conftest import confirm_password, signed_in
from tests.support.page import has_word, parse
from tests.support.reviewer import open_for_review
from tests.support.stored import build_reply, end

pytestmark = pytest.mark.django_db

MARKUP = '<img src=x onerror="alert(1)">'
REASON = f"Said {MARKUP}"


@pytest.fixture
def conversation(alice: User, saved_upstream: Upstream) -> Conversation:
    project = alice.projects.create(name="Garden", instructions="Latin names")
    conversation = alice.conversations.create(title=f"Roses {MARKUP}", project=project)
    _, reply = conversation.ask(uuid4(), "Which roses?", None, saved_upstream, "one", uuid4())
    ReplyImage.objects.create(message=reply, position=0, media_type="image/gif", data=b"GIF89a")
    Feedback.objects.create(message=reply, rating="down", note=MARKUP, given_at=timezone.now())
    return conversation


def open_chat(olives: Client, conversation: Conversation) -> None:
    assert open_for_review(olives, conversation.pk, REASON).status_code == 200


def rows(client: Client, query: str = "") -> list[str]:
    page = parse(client.get(f"/privacy/{query}").text)
    cells = [element.find_all("td") for element in page.find_all("tbody tr")]
    return [" ".join(" ".join(element.text for element in row).split()) for row in cells]


def test_people_see_who_opened_what_and_why(
    alices: Client, bob: User, olives: Client, conversation: Conversation
) -> None:
    assert "Nobody has opened" in alices.get("/privacy/").text
    open_chat(olives, conversation)
    olives.get(f"/replies/{conversation.messages.last().pk}/images/0/")  # type: ignore[union-attr]
    image, opening = rows(alices)
    assert opening.endswith(f"olive, as a reviewer opened Roses {MARKUP}: “{REASON}”")
    assert f"olive, as a reviewer viewed an image in Roses {MARKUP}" in image
    assert "<img" not in alices.get("/privacy/").text
    assert rows(signed_in(bob)) == []
    conversation.delete()
    assert rows(alices)[1].endswith(f"opened a deleted chat: “{REASON}”")
    User.objects.get(username="olive").delete()
    assert "A deleted account" in rows(alices)[0]


def test_the_reason_remains_after_the_reviewer_is_erased(
    alices: Client, olive: User, conversation: Conversation, connections_close: None
) -> None:
    rita = User.objects.create_user("rita", is_staff=True, reviews=True)
    ritas = signed_in(rita)
    open_chat(ritas, conversation)
    review = {"verdict": "minor", "version": "0"}
    ritas.post(f"/review/{conversation.pk}/verdict/", review)
    [before] = rows(alices)
    erase([rita], rita)
    [opening] = rows(alices)
    nobody = "A deleted account"
    assert opening == before.replace("rita", nobody)
    assert opening.endswith(f"{nobody}, as a reviewer opened Roses {MARKUP}: “{REASON}”")
    left = "".join(AuditDetail.objects.values_list("content", flat=True))
    assert "rita" not in left
    assert "127.0.0.1" not in left
    audit.verify()
    page = signed_in(olive).get(f"/review/{conversation.pk}/").text
    assert "none → Minor issue" in page
    assert not has_word(page, "rita")


def test_opening_ones_own_chat_is_not_listed(
    olive: User, olives: Client, saved_upstream: Upstream
) -> None:
    own = olive.conversations.create(title="Mine")
    open_chat(olives, own)
    assert rows(olives) == []


def test_the_page_says_how_much_of_their_space_files_take(alice: User, alices: Client) -> None:
    assert "Your files take up" not in alices.get("/privacy/").text
    Attachment.objects.create(user=alice, name="report.pdf", size=1024**2)
    page = " ".join(parse(alices.get("/privacy/").text).text.split())
    assert "Your files take up 1.0 MB of the 2.0 GB that you may use" in page


def test_older_events_are_on_the_next_page(
    alices: Client, olives: Client, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatapp.staff.privacy.queries.PAGE", 2)
    for _ in range(3):
        open_chat(olives, conversation)
    assert len(rows(alices)) == 2
    [older] = parse(alices.get("/privacy/").text).find_all("a[href^='?before=']")
    assert len(rows(alices, str(older.attributes["href"]))) == 1
    for odd in ("x", "9" * 30, "-1", "\u0661", ""):
        assert alices.get("/privacy/", {"before": odd}).status_code == 200


def test_the_page_counts_reviewers_and_views_of_the_list(
    alices: Client, olive: User, olives: Client
) -> None:
    assert "One person is a reviewer" in alices.get("/privacy/").text
    assert "was viewed" not in alices.get("/privacy/").text
    olives.get("/review/")
    assert "was viewed once since you joined" in " ".join(alices.get("/privacy/").text.split())
    User.objects.filter(pk=olive.pk).update(reviews=False)
    assert "This server has no reviewers" in alices.get("/privacy/").text


def test_views_of_the_list_are_counted_up_to_a_maximum(
    alices: Client, olives: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatapp.staff.privacy.queries.MAX_LISTS", 2)
    for show in ("queue", "mine", "all"):
        olives.get("/review/", {"show": show})
    page = " ".join(alices.get("/privacy/").text.split())
    assert "was viewed 2 times or more since you joined" in page


async def download_archive(client: Client) -> dict[str, str]:
    own = AsyncClient(headers={"host": "localhost"})
    own.cookies = (await sync_to_async(confirm_password)(client)).cookies
    answer: Any = await own.post("/privacy/archive/")
    assert answer.headers["content-type"] == "application/zip"
    content = b"".join([part async for part in answer.streaming_content])
    with ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


async def test_the_archive_contains_only_and_all_of_ones_own_data(
    alices: Client,
    bob: User,
    olives: Client,
    conversation: Conversation,
    generations_end: None,
    connections_close: None,
) -> None:
    await sync_to_async(open_chat)(olives, conversation)
    files = await download_archive(alices)
    [line] = files["conversations.jsonl"].splitlines()
    chat = json.loads(line)
    assert chat["title"] == f"Roses {MARKUP}"
    assert chat["messages"][0]["content"] == "Which roses?"
    assert chat["messages"][1]["feedback"]["note"] == MARKUP
    assert json.loads(files["account.json"])["username"] == "alice"
    assert json.loads(files["projects.json"])[0]["instructions"] == "Latin names"
    assert json.loads(files["opened.json"])[0]["who"] == "olive"
    assert json.loads(files["opened.json"])[0]["reason"] == REASON
    reply = await conversation.messages.exclude(model="").aget()
    assert files[f"images/{reply.pk}-0.gif"] == "GIF89a"
    event = await AuditEvent.objects.aget(action="archive.made")
    assert event.actor == event.person == conversation.user_id
    bobs = await sync_to_async(signed_in)(bob)
    assert "Roses" not in str(await download_archive(bobs))


async def test_text_from_a_gateway_is_no_spreadsheet_formula(
    alices: Client, alice: User, saved_upstream: Upstream, connections_close: None
) -> None:
    def book() -> None:
        model = '=HYPERLINK("http://evil/","x")'
        conversation = alice.conversations.create(title="Roses")
        _, reply = conversation.ask(uuid4(), "Which?", None, saved_upstream, model, uuid4())
        end(reply, build_reply("Dog roses"))
        summary = Usage.empty().charge_summary(
            uuid4(), conversation.pk, alice.pk, saved_upstream, "m"
        )
        Usage.book([summary])

    await sync_to_async(book)()
    usage = (await download_archive(alices))["usage.csv"]
    assert "'=HYPERLINK" in usage
    assert usage.startswith("booked_at,kind,upstream_name,model")
    assert sorted(row["kind"] for row in csv.DictReader(usage.splitlines())) == ["reply", "summary"]


def test_the_archive_requires_a_post_from_the_page(alices: Client) -> None:
    assert alices.get("/privacy/archive/").status_code == 405
    strict = Client(enforce_csrf_checks=True, headers={"host": "localhost"})
    strict.cookies = alices.cookies
    assert strict.post("/privacy/archive/").status_code == 403
    assert not AuditEvent.objects.filter(action="archive.made").exists()


def test_the_page_lists_changes_that_let_others_sign_in_as_the_person(
    alices: Client, alice: User, olives: Client
) -> None:
    olives.post(f"/people/{alice.pk}/reset-link/")
    olives.post(f"/people/{alice.pk}/roles/", {"reviews": "on"})
    assert [row.partition("UTC ")[2] for row in rows(alices)] == [
        "olive changed your role",
        "olive created a link to set a new password for your account",
    ]


def test_the_archive_requires_the_password(alices: Client) -> None:
    answer = alices.post("/privacy/archive/")
    assert answer.headers["location"].startswith("/accounts/reauthenticate/")
    assert not AuditEvent.objects.filter(action="archive.made").exists()


@pytest.mark.parametrize("path", ["/privacy/archive/", "/conversations/export/"])
async def test_a_download_ends_with_its_session(
    alices: Client, alice: User, connections_close: None, path: str
) -> None:
    chosen = [await alice.conversations.acreate(title=f"One of {number}") for number in range(3)]
    own = AsyncClient(headers={"host": "localhost"})
    own.cookies = (await sync_to_async(confirm_password)(alices)).cookies
    answer: Any = await own.post(path, {"ids": [str(chat.pk) for chat in chosen]})
    parts = aiter(answer.streaming_content)
    await anext(parts)
    await Session.objects.all().adelete()
    with pytest.raises(NotSignedIn):
        async for _ in parts:
            pass
