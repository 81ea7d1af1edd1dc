"""The draft of a prompt: its files, their texts, and what fits the model."""

from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from channels.db import database_sync_to_async
from django.test import Client
from pytest_django import Settings

from chatapp.files import reading
from chatapp.models import (
    Attachment,
    FileContent,
    Message,
    Price,
    Upstream,
    User,
)
from chatapp.models.files.attachments import MAX_CHOICES
from chatapp.reading import contents
from tests.support.attaching import upload
from tests.support.fake_upstream import FakeUpstream
from tests.support.page import Element, parse
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db


def set_pages(attachment: Attachment, pages: Sequence[str]) -> Attachment:
    """Give an attachment another content, which has these pages."""
    text = "".join(pages)
    ends = [sum(map(len, pages[: number + 1])) for number in range(len(pages))]
    FileContent.objects.filter(file=attachment.file).update(text=text, page_ends=ends, unit="Page")
    paged_attachment = Attachment.objects.select_related("file__content").get(pk=attachment.pk)
    paged_attachment.choose_pages((0, 0))
    return paged_attachment


def get_chips(client: Client, query: str = "") -> Element:
    return parse(client.get(f"/files/draft/{query}").text)


# ---- the text of a file


def test_the_text_of_a_drafted_file_is_replaced(alices: Client) -> None:
    attachment = upload(alices, "notes.txt", b"One\nTwo")
    answer = alices.post(f"/files/{attachment.pk}/text/", {"text": "Three\r\nFour"})
    assert answer.status_code == 204
    changed = Attachment.objects.select_related("file__content").get(pk=attachment.pk)
    assert changed.content
    assert changed.content.text == "Three\nFour"
    assert changed.size == len("Three\nFour")
    assert changed.file
    assert changed.file.read() == b"Three\nFour"
    plain = alices.get(f"/files/{attachment.pk}/text/", headers={"Accept": "text/plain"})
    assert plain.text == "Three\nFour"
    assert plain.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert plain.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(("text", "sentence"), [(" \n", "empty"), ("x" * 21, "21 characters")])
def test_a_text_over_the_limits_is_refused(
    alices: Client, settings: Settings, text: str, sentence: str
) -> None:
    attachment = upload(alices, "notes.txt", b"One")
    settings.CHATAPP_FILE_CHARACTERS = 20
    answer = alices.post(f"/files/{attachment.pk}/text/", {"text": text})
    assert answer.status_code == 422
    assert sentence in answer.text


def test_a_text_that_would_exceed_the_storage_of_its_person_is_refused(
    alices: Client, settings: Settings
) -> None:
    attachment = upload(alices, "notes.txt", b"One")
    settings.CHATAPP_FILE_BYTES_PER_PERSON = 10
    answer = alices.post(f"/files/{attachment.pk}/text/", {"text": "x" * 11})
    assert answer.status_code == 422
    assert "Your files take up" in answer.text


def test_only_ones_own_drafted_text_can_be_replaced(
    alices: Client, bobs: Client, alice: User
) -> None:
    notes = upload(alices, "notes.txt", b"One")
    picture = upload(alices, "a.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 16)
    sent = upload(alices, "sent.txt", b"Two")
    Attachment.objects.filter(pk=sent.pk).update(state=Attachment.State.READING)
    answers = [
        client.post(f"/files/{pk}/text/", {"text": "New"})
        for client, pk in ((bobs, notes.pk), (alices, picture.pk), (alices, sent.pk))
    ]
    assert [answer.status_code for answer in answers] == [404, 404, 404]


# ---- an upload that goes on


def test_an_interrupted_upload_goes_on_if_it_is_the_same_file(alices: Client) -> None:
    upload_state = alices.post("/files/", {"name": "a.txt", "size": 10}).json()
    again = alices.post(
        "/files/", {"name": "a.txt", "size": 10, "resumed": upload_state["id"]}
    ).json()
    assert again["id"] == upload_state["id"]
    other = alices.post(
        "/files/", {"name": "b.txt", "size": 10, "resumed": upload_state["id"]}
    ).json()
    assert other["id"] != upload_state["id"]


# ---- what it costs


def test_the_draft_names_tokens_of_pages(alices: Client) -> None:
    attachment = set_pages(upload(alices, "book.txt", b"x"), ["word " * 100] * 4)
    [chip] = get_chips(alices).find_all(id=f"file-{attachment.pk}")
    quarter = attachment.tokens // 4
    assert (
        chip.attributes["data-pages"] == f"[[1, {quarter}], [2, {2 * quarter}], [3, {3 * quarter}]]"
    )
    assert "4 pages" in chip.text


def test_few_pages_of_a_long_document_are_offered(alices: Client) -> None:
    attachment = set_pages(upload(alices, "book.txt", b"x"), ["word "] * 1000)
    choices = attachment.pages_and_tokens
    assert len(choices) == MAX_CHOICES
    assert choices == sorted(choices)


async def test_files_that_do_not_fit_the_model_are_refused_before_anything_is_stored(
    tab: Tab, alices: Client, upstream: FakeUpstream
) -> None:
    def upload_with_narrow_model() -> Attachment:
        Price.objects.create(
            upstream=Upstream.objects.get(), model=upstream.models[0], context_tokens=1000
        )
        return upload(alices, "book.txt", b"word " * 1000)

    book = await database_sync_to_async(upload_with_narrow_model)()
    await tab.send(action="prompt", message="Summarise", attached=str(book.pk))
    await tab.until("takes 1,000")
    assert not await Message.objects.aexists()
    await book.arefresh_from_db()
    assert book.message_id is None
    assert not upstream.chat_requests


def test_a_file_says_that_it_waits_for_others_of_its_person(
    alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = SimpleNamespace(submit=lambda *_: True)
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(contents, "threads", busy)
        attachment = upload(alices, "notes.txt", b"Sales fell")
    assert "Waiting for your other files." in alices.get("/files/draft/").text
    reading.read_attachment(attachment.pk)
    assert "Waiting" not in alices.get("/files/draft/").text
