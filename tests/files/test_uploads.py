"""Uploads: a file arrives in parts, is read, and waits in the draft."""

from typing import NoReturn

import pytest
from django.test import Client

from chatapp import documents
from chatapp.documents import refusals
from chatapp.models import Attachment
from chatapp.models.refusals import Refused
from tests.support.attaching import send_part, upload

pytestmark = pytest.mark.django_db


def test_an_uploaded_text_is_ready_to_be_sent(alices: Client) -> None:
    attachment = upload(alices, "notes.txt", b"One\nTwo")
    assert attachment.state == Attachment.State.READY
    [part] = attachment.parts()
    assert isinstance(part, dict)
    assert 'name="notes.txt"' in part["text"]
    assert "One\nTwo" in part["text"]


def test_an_upload_of_several_parts_is_joined(alices: Client) -> None:
    text = "".join(f"line {number}\n" for number in range(100_000))
    attachment = upload(alices, "long.txt", text.encode())
    assert attachment.content
    assert attachment.content.text == text.rstrip()


def test_a_file_that_cannot_be_read_says_why(alices: Client) -> None:
    attachment = upload(alices, "program", b"\x00\xff\xfe\x80" * 10)
    assert attachment.state == Attachment.State.FAILED
    assert attachment.problem
    draft = alices.get("/files/draft/").content.decode()
    assert attachment.problem in draft
    assert "Try again" not in draft
    with pytest.raises(Refused, match="could not be read"):
        attachment.check_ready()


def test_a_file_that_a_busy_server_could_not_read_can_be_tried_again(
    alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> NoReturn:
        raise refusals.no_process()

    with monkeypatch.context() as busy:
        busy.setattr(documents, "read", refuse)
        attachment = upload(alices, "notes.txt", b"One")
    assert attachment.state == Attachment.State.FAILED
    assert "Try again: notes.txt" in alices.get("/files/draft/").content.decode()
    assert alices.post(f"/files/{attachment.pk}/retry/").status_code == 204
    attachment.refresh_from_db()
    attachment.check_ready()


def test_a_file_that_is_not_read_yet_has_not_failed(alices: Client) -> None:
    upload_state = alices.post("/files/", {"name": "a.txt", "size": 10}).json()
    with pytest.raises(Refused, match="not ready yet"):
        Attachment.objects.get(pk=upload_state["id"]).check_ready()


def test_a_file_over_the_limit_is_refused_with_the_limit(alices: Client) -> None:
    answer = alices.post("/files/", {"name": "huge.bin", "size": 10**12})
    assert answer.status_code == 422
    assert "100.0" in answer.content.decode()


def test_others_cannot_reach_an_attachment(alices: Client, bobs: Client) -> None:
    attachment = upload(alices, "notes.txt", b"secret")
    path = f"/files/{attachment.pk}/"
    gets = [bobs.get(path + what) for what in ("", "text/", "image/", "thumbnail/", "page/0/")]
    posts = [bobs.post(path + what) for what in ("retry/", "remove/", "pages/", "describe/")]
    answers = [*gets, *posts, send_part(bobs, attachment.pk, b"x", 0)]
    assert {answer.status_code for answer in answers} == {404}
