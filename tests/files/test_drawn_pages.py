"""Pages of PDFs as people see them, in the viewer."""

import re
from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NoReturn, cast

import pytest
from asgiref.sync import async_to_sync
from django.http import StreamingHttpResponse
from django.test import Client

from chatapp import documents
from chatapp.documents import DrawnPage, Limits, Picture, Run, refusals
from chatapp.documents.formats.pdf import pdf
from chatapp.files import drawn_pages, viewing
from chatapp.files.drawn_pages import PageCache
from chatapp.models import Attachment
from tests.documents import files
from tests.support.attaching import upload
from tests.support.page import Element, parse

pytestmark = pytest.mark.django_db

MARKUP = "</text></svg><img src=x onerror=alert>"


class AtOnce:
    def submit(self, _person: int, _size: int, job: Callable[[], None]) -> None:
        job()


@pytest.fixture(autouse=True)
def drawn_indexes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Draw pages at once, in this process; return the list of those that were drawn."""
    indexes: list[int] = []

    def draw_here(path: Path, limits: Limits, index: int) -> DrawnPage:
        indexes.append(index)
        with path.open("rb") as file:
            return pdf.draw_page(file, limits, index)

    monkeypatch.setattr(drawn_pages, "threads", AtOnce())
    monkeypatch.setattr(drawn_pages, "page_cache", PageCache(2**20))
    monkeypatch.setattr(documents, "draw_page", draw_here)
    return indexes


@async_to_sync
async def body(answer: object) -> str:
    assert isinstance(answer, StreamingHttpResponse)
    chunks = cast("AsyncIterator[bytes]", answer)
    return b"".join([chunk async for chunk in chunks]).decode()


def report(client: Client, *pages: str) -> Attachment:
    return upload(client, "report.pdf", files.pdf(pages))


def get_page(client: Client, attachment: Attachment, number: int) -> Element:
    return parse(body(client.get(f"/files/{attachment.pk}/drawn/{number}/")))


def addresses(client: Client, attachment: Attachment, headers: dict[str, str]) -> list[str]:
    """Return where the pages come from, following "More" to the end."""
    page_addresses: list[str] = []
    address = f"/files/{attachment.pk}/text/"
    while address:
        piece = parse(client.get(address, headers=headers).content.decode())
        page_addresses += [
            element.attributes["hx-get"] for element in piece.find_all(class_="drawn-page")
        ]
        more = piece.find_all("a", class_="button plain")
        address = more[0].attributes["href"] if more else ""
    return page_addresses


def test_a_page_is_a_picture_with_its_text(alices: Client, drawn_indexes: list[int]) -> None:
    page = get_page(alices, report(alices, "Sales fell", MARKUP), 2)
    image = page.find("image").attributes["href"]
    media_type, data = image.removeprefix("data:").split(";base64,")
    assert media_type == "image/png"
    assert files.open_image(b64decode(data)).size == (1131, 1600)
    [text] = page.find_all("text")
    assert text.text == MARKUP
    assert "hx-ignore" in text.attributes
    assert page.find_all("img") == []
    assert drawn_indexes == [1]


def test_a_page_is_drawn_once_for_a_while(alices: Client, drawn_indexes: list[int]) -> None:
    attachment = report(alices, "one", "two")
    for number in (1, 2, 1):
        assert get_page(alices, attachment, number).find_all("image")
    assert drawn_indexes == [0, 1]


def test_what_is_kept_is_bounded() -> None:
    cache = PageCache(100)
    pages = [DrawnPage(Picture("image/png", 1, 1, b"x" * 38, b""), (Run("ab", 0, 0, 1, 1),))] * 3
    for index, page in enumerate(pages):
        cache.add((1, index), page)
        cache.add((1, index), page)
    assert [cache.get((1, index)) is not None for index in range(3)] == [False, True, True]


def test_pages_that_are_sent_come_in_the_dialog_and_their_text_on_a_page_of_its_own(
    alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewing, "PAGES_AT_ONCE", 2)
    attachment = report(alices, *["same"] * 7)
    attachment.choose_pages((2, 6))
    page_addresses = addresses(alices, attachment, {"HX-Request": "true"})
    assert page_addresses == [f"/files/{attachment.pk}/drawn/{number}/" for number in range(2, 7)]
    assert addresses(alices, attachment, {}) == []
    for number in (0, 1, 7, 8):
        assert alices.get(f"/files/{attachment.pk}/drawn/{number}/").status_code == 404


def test_a_page_that_cannot_be_drawn_shows_its_text(
    alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> NoReturn:
        raise refusals.crashed()

    attachment = report(alices, "one", "two")
    monkeypatch.setattr(documents, "draw_page", fail)
    page = get_page(alices, attachment, 2)
    assert re.search("couldn't be drawn.*two", page.text, re.DOTALL)


def test_only_its_owner_sees_the_pages_of_a_pdf(alices: Client, bobs: Client) -> None:
    address = f"/files/{report(alices, 'one').pk}/drawn/1/"
    notes = upload(alices, "notes.txt", b"one")
    assert bobs.get(address).status_code == 404
    assert alices.get(f"/files/{notes.pk}/drawn/1/").status_code == 404
