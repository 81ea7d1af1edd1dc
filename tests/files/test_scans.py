"""Scans of more pages than are sent: people choose which, and the others are named."""

from dataclasses import replace
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from chatapp import documents
from chatapp.documents import Limits, Scan
from chatapp.documents.results import Result
from chatapp.models import Attachment, PageImage
from chatapp.rendering.fragments.words import about_file
from chatapp.upstream.wire.requests.content import ImagePart
from tests.documents import files
from tests.support.attaching import upload
from tests.support.page import parse
from tests.support.reading import read_here

pytestmark = pytest.mark.django_db

PAGES, MOST = 7, 3


@pytest.fixture
def scan(alices: Client, settings: Settings) -> Attachment:
    settings.CHATAPP_SCANNED_PAGES = MOST
    return upload(alices, "scan.pdf", files.pdf([""] * PAGES))


def choose(client: Client, scan: Attachment, pages: str) -> Attachment:
    answer = client.post(f"/files/{scan.pk}/pages/", {"pages": pages})
    assert answer.status_code == 204, answer.content
    return Attachment.objects.get(pk=scan.pk)


def label_and_images(scan: Attachment) -> tuple[object, list[ImagePart]]:
    [label, *images] = scan.parts()
    assert not isinstance(label, ImagePart)
    return label["text"], [image for image in images if isinstance(image, ImagePart)]  # type: ignore[index]


def test_a_scan_has_all_its_pages_and_sends_the_first(scan: Attachment) -> None:
    assert "7 pages" in about_file(scan)
    assert "Pages 4-7 are not sent: at most 3 pages of a scan are." in about_file(scan)
    label, images = label_and_images(scan)
    assert label == (
        "scan.pdf: page 1-7 of 7, as images. Pages 4-7 are not sent: at most 3 pages of a scan are."
    )
    assert len(images) == MOST


def test_chosen_pages_are_drawn_and_sent(alices: Client, scan: Attachment) -> None:
    scan = choose(alices, scan, "5-6")
    assert scan.state == Attachment.State.READY
    label, images = label_and_images(scan)
    assert label == "scan.pdf: page 5-6 of 7, as images."
    drawn = PageImage.objects.filter(position__in=(4, 5))
    assert [image.file for image in images] == [page.file.name for page in drawn]


def test_of_many_chosen_pages_the_first_are_sent(alices: Client, scan: Attachment) -> None:
    scan = choose(alices, scan, "3-7")
    label, images = label_and_images(scan)
    assert str(label).endswith("Pages 6-7 are not sent: at most 3 pages of a scan are.")
    assert len(images) == MOST
    assert sorted(PageImage.objects.values_list("position", flat=True)) == [0, 1, 2, 3, 4]


def test_the_viewer_shows_the_pages_that_are_sent(alices: Client, scan: Attachment) -> None:
    choose(alices, scan, "4-7")
    page = parse(alices.get(f"/files/{scan.pk}/text/").text)
    document = page.find(class_="document-text")
    assert [element.attributes["alt"] for element in document.find_all("img")] == [
        "Page 4",
        "Page 5",
        "Page 6",
    ]
    assert "Page 7 is not sent" in document.text


def test_a_scan_whose_pages_cannot_be_drawn_says_so(
    alices: Client, scan: Attachment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no storage")

    with monkeypatch.context() as broken:
        broken.setattr("chatapp.models.files.storage.open_file", fail)
        scan = choose(alices, scan, "5-6")
    assert scan.state == Attachment.State.FAILED
    assert "can't store files" in scan.problem
    assert alices.post(f"/files/{scan.pk}/retry/").status_code == 204
    scan.refresh_from_db()
    assert scan.state == Attachment.State.READY


def test_pages_for_which_the_first_reading_had_no_time_are_drawn_after_it(
    alices: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_slowly(path: Path, limits: Limits, name: str = "") -> Result:
        scan_result = read_here(path, limits, name)
        assert isinstance(scan_result, Scan)
        return replace(scan_result, pages=scan_result.pages[:1])

    settings.CHATAPP_SCANNED_PAGES = 8
    monkeypatch.setattr(documents, "read", read_slowly)
    scan = upload(alices, "scan.pdf", files.pdf([""] * PAGES))
    label, images = label_and_images(scan)
    assert label == "scan.pdf: page 1-7 of 7, as images."
    assert len(images) == PAGES


def test_pages_that_could_not_be_drawn_are_named(alices: Client, scan: Attachment) -> None:
    PageImage.objects.filter(position=1).delete()
    label, images = label_and_images(scan)
    assert str(label).endswith("Pages 2, 4-7 are not sent: at most 3 pages of a scan are.")
    assert len(images) == MOST - 1


def test_a_reader_sees_no_page_that_was_not_sent(alices: Client, scan: Attachment) -> None:
    scan = choose(alices, scan, "2-3")
    assert alices.get(f"/files/{scan.pk}/page/1/").status_code == 200
    assert alices.get(f"/files/{scan.pk}/page/0/").status_code == 404
