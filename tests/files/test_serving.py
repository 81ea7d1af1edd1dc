"""Serving of attached files: ranges, headers, names, and texts piece by piece."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import cast
from urllib.parse import quote

import pytest
from asgiref.sync import async_to_sync
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import Client

from chatapp.files import viewing
from chatapp.models import Attachment, FileContent, PageImage, StoredFile
from chatapp.models.files import storage
from tests.support import pictures
from tests.support.attaching import upload
from tests.support.page import Element, parse

pytestmark = pytest.mark.django_db

LINES = "".join(f"line {number}\n" for number in range(1000)).encode()


@async_to_sync
async def body(answer: HttpResponseBase) -> bytes:
    assert isinstance(answer, StreamingHttpResponse)
    return b"".join([chunk async for chunk in cast("AsyncIterator[bytes]", answer)])


def path(attachment: Attachment, what: str = "") -> str:
    return f"/files/{attachment.pk}/{what}"


def image(client: Client, name: str = "sky.png") -> Attachment:
    return upload(client, name, pictures.png(40, 30))


@pytest.fixture
def lines(alices: Client) -> Attachment:
    return upload(alices, "lines.txt", LINES)


# Ranges and methods


def test_a_range_is_served_alone(alices: Client, lines: Attachment) -> None:
    answer = alices.get(path(lines), headers={"Range": "bytes=-6"})
    assert answer.status_code == 206
    assert answer["Content-Range"] == f"bytes {len(LINES) - 6}-{len(LINES) - 1}/{len(LINES)}"
    assert answer["Content-Length"] == "6"
    assert body(answer) == LINES[-6:]


def test_a_whole_file_is_served_without_a_range(alices: Client, lines: Attachment) -> None:
    answer = alices.get(path(lines))
    assert (answer.status_code, answer["Accept-Ranges"]) == (200, "bytes")
    assert body(answer) == LINES


def test_a_range_beyond_the_file_is_refused_with_its_size(
    alices: Client, lines: Attachment
) -> None:
    answer = alices.get(path(lines), headers={"Range": "bytes=100000-"})
    assert (answer.status_code, answer["Content-Range"]) == (416, f"bytes */{len(LINES)}")


def test_a_range_of_another_version_gets_the_whole_file(alices: Client, lines: Attachment) -> None:
    etag = alices.head(path(lines))["ETag"]
    for condition, status in ((etag, 206), ('"another"', 200)):
        answer = alices.get(path(lines), headers={"Range": "bytes=0-5", "If-Range": condition})
        assert answer.status_code == status
        body(answer)


def test_head_gets_the_headers_of_the_whole_file(alices: Client, lines: Attachment) -> None:
    answer = alices.head(path(lines), headers={"Range": "bytes=0-5"})
    assert (answer.status_code, answer["Content-Length"]) == (200, str(len(LINES)))
    assert not answer.streaming


@pytest.mark.parametrize(("error", "status"), [(FileNotFoundError, 404), (OSError, 503)])
def test_a_file_that_the_storage_cannot_give_is_no_fault_of_the_app(
    alices: Client,
    lines: Attachment,
    monkeypatch: pytest.MonkeyPatch,
    error: type[OSError],
    status: int,
) -> None:
    def fail(_name: str) -> None:
        raise error

    monkeypatch.setattr(storage, "open_file", fail)
    assert alices.get(path(lines)).status_code == status


# Headers


def test_no_file_can_run_or_load_anything(alices: Client, lines: Attachment) -> None:
    sky = image(alices)
    for address in (path(lines), path(sky), path(sky, "image/"), path(sky, "thumbnail/")):
        answer = alices.get(address)
        body(answer)
        assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Cache-Control"] == "no-store"


def test_only_images_that_the_app_encoded_are_shown(alices: Client) -> None:
    image_response = alices.get(path(image(alices), "image/"))
    assert (image_response["Content-Type"], image_response["Content-Disposition"]) == (
        "image/png",
        "inline",
    )
    body(image_response)
    for name, data in (("a.png", pictures.SVG), ("b.png", b"<!doctype html><p>Hi<script>alert(1)")):
        hostile = upload(alices, name, data)
        assert alices.get(path(hostile, "image/")).status_code == 404
        assert alices.get(path(hostile, "thumbnail/")).status_code == 404
        answer = alices.get(path(hostile))
        assert answer["Content-Type"] == "application/octet-stream"
        assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
        assert body(answer) == data


def test_a_thumbnail_has_the_type_of_its_bytes(alices: Client) -> None:
    sky = image(alices)
    assert sky.content
    for data, media_type in ((pictures.jpeg(4, 3), "image/jpeg"), (pictures.WEBP, "image/webp")):
        sky.content.thumbnail = StoredFile.store(data, sky.user_id)
        sky.content.save()
        answer = alices.get(path(sky, "thumbnail/"))
        assert answer["Content-Type"] == media_type
        assert body(answer) == data


# Names. The name of an upload is cleaned, but one that was imported or restored may not be.


NAMES = [
    ('a "quoted" name.txt', r'attachment; filename="a \"quoted\" name.txt"'),
    ("two\r\nSet-Cookie: a=b.txt", 'attachment; filename="twoSet-Cookie: a=b.txt"'),
    ("../../etc/passwd", 'attachment; filename="passwd"'),
    ("gpj.\u202etxt.exe", 'attachment; filename="gpj.txt.exe"'),
    ("naïve 文.txt", "attachment; filename*=utf-8''" + quote("naïve 文.txt")),
]


@pytest.mark.parametrize(("name", "disposition"), NAMES)
def test_a_name_becomes_a_header_by_rfc_6266(
    alices: Client, lines: Attachment, name: str, disposition: str
) -> None:
    Attachment.objects.filter(pk=lines.pk).update(name=name)
    assert alices.head(path(lines))["Content-Disposition"] == disposition


def test_a_converted_image_is_not_saved_under_its_former_suffix(alices: Client) -> None:
    for name, saved in (("sky.heic", "sky.png"), ("sky.PNG", "sky.PNG"), ("sky", "sky.png")):
        disposition = alices.head(path(image(alices, name)))["Content-Disposition"]
        assert disposition == f'attachment; filename="{saved}"'


# Texts


def attach_pages(client: Client, texts: Sequence[str]) -> Attachment:
    """Return an attached document with these pages."""
    attachment = upload(client, "report.pdf", "".join(texts).encode() or b"-")
    ends = [sum(map(len, texts[: number + 1])) for number in range(len(texts))]
    FileContent.objects.filter(file=attachment.file).update(
        text="".join(texts), page_ends=ends, unit="Page", label="PDF"
    )
    return Attachment.objects.get(pk=attachment.pk)


def pieces(client: Client, attachment: Attachment) -> Iterator[Element]:
    """Follow "More" to the end, as a page of its own."""
    address = path(attachment, "text/")
    while address:
        piece = parse(client.get(address).content.decode())
        yield piece
        links = piece.find_all("a", class_="button plain")
        address = links[0].attributes["href"] if links else ""


def read_texts(piece: Element) -> list[str]:
    return [element.text for element in piece.find_all(class_="text")]


def read_headings(piece: Element) -> list[str]:
    return [element.text for element in piece.find_all("h2")]


def test_a_long_text_comes_in_pieces_of_whole_lines(alices: Client) -> None:
    text = "".join(f"line {number} of many\n" for number in range(10_000))
    piece_texts = [
        read_texts(piece) for piece in pieces(alices, upload(alices, "long.txt", text.encode()))
    ]
    assert len(piece_texts) == 5
    assert max(len(piece[0]) for piece in piece_texts) <= viewing.AT_ONCE
    assert all(piece[0].endswith("\n") for piece in piece_texts[:-1])
    assert "".join(piece[0] for piece in piece_texts) == text.rstrip()


def test_a_line_longer_than_a_piece_is_broken(alices: Client) -> None:
    text = "x" * (2 * viewing.AT_ONCE + 5)
    piece_texts = [
        read_texts(piece) for piece in pieces(alices, upload(alices, "long.txt", text.encode()))
    ]
    assert [len(piece[0]) for piece in piece_texts] == [viewing.AT_ONCE, viewing.AT_ONCE, 5]


def test_pages_have_headings_and_are_kept_whole(alices: Client) -> None:
    half = viewing.AT_ONCE // 2
    sizes = [0, half, half - 1, 10, 3 * half, 0, 0, 7, 0]
    report = attach_pages(alices, [str(number) * size for number, size in enumerate(sizes)])
    passages = [(read_headings(piece), read_texts(piece)) for piece in pieces(alices, report)]
    headings = [heading for some, _ in passages for heading in some]
    assert headings == [f"Page {number + 1}" for number in range(len(sizes))]
    texts = [[len(text) for text in texts] for _, texts in passages]
    assert texts == [[0, half, half - 1], [10], [2 * half], [half, 0, 0, 7, 0]]


def test_only_the_chosen_pages_are_shown(alices: Client) -> None:
    report = attach_pages(alices, ["one", "two", "three", "four"])
    report.choose_pages((2, 3))
    [piece] = pieces(alices, report)
    assert (read_headings(piece), read_texts(piece)) == (["Page 2", "Page 3"], ["two", "three"])
    assert "pages 2\N{EN DASH}3 of 4" in piece.text
    before = parse(alices.get(path(report, "text/?begin=0")).content.decode())
    assert read_texts(before) == ["two", "three"]
    after = parse(alices.get(path(report, "text/?begin=999")).content.decode())
    assert read_texts(after) == []


def test_a_scan_is_shown_as_its_pages(alices: Client) -> None:
    scan = attach_pages(alices, ["", "", ""])
    assert scan.content
    FileContent.objects.filter(pk=scan.content.pk).update(kind=FileContent.Kind.SCAN)
    file = StoredFile.store(pictures.png(4, 3), scan.user_id)
    for position in range(3):
        PageImage.objects.create(
            content=scan.content, position=position, file=file, width=4, height=3
        )
    scan.choose_pages((2, 3))
    [piece] = pieces(alices, scan)
    images = [element.attributes["src"] for element in piece.find_all("img")]
    assert images == [path(scan, "page/1/"), path(scan, "page/2/")]
    assert alices.head(images[0])["Content-Type"] == "image/png"


def test_an_image_has_no_text(alices: Client) -> None:
    assert alices.get(path(image(alices), "text/")).status_code == 404


HOSTILE = (
    "</document-0123456789abcdef></div></dialog></template>"
    '<script>alert(1)</script><p hx-get="/x/" hx-trigger="load" hx-on:load="alert(2)">'
    '<img src=x onerror="alert(3)">'
)


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
@pytest.mark.parametrize("query", ["", "?begin=0"])
def test_markup_in_a_document_stays_text(
    alices: Client, headers: dict[str, str], query: str
) -> None:
    hostile = upload(alices, "notes.txt", HOSTILE.encode())
    answer = alices.get(path(hostile, f"text/{query}"), headers=headers)
    [text] = parse(answer.content.decode()).find_all(class_="text")
    assert text.text == HOSTILE
    assert "hx-ignore" in text.attributes


def as_read(alices: Client, name: str, texts: Sequence[str], **fields: str) -> Attachment:
    """Return an attached document of this type, with these pages."""
    document = attach_pages(alices, texts)
    FileContent.objects.filter(file=document.file).update(**fields)
    Attachment.objects.filter(pk=document.pk).update(name=name)
    return Attachment.objects.get(pk=document.pk)


EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def test_a_spreadsheet_is_shown_as_tables_below_the_names_of_its_sheets(alices: Client) -> None:
    sheets = ["# Sales\n\n| Item | Price |\n| --- | --- |\n| a\\|b | 3 |", "# Secret (hidden)"]
    book = as_read(alices, "book.xlsx", sheets, unit="Sheet", media_type=EXCEL)
    [piece] = pieces(alices, book)
    assert read_headings(piece) == ["Sales", "Secret (hidden)"]
    assert [cell.text for cell in piece.find_all("th")] == ["Item", "Price"]
    assert [cell.text for cell in piece.find_all("td")] == ["a|b", "3"]
    assert read_texts(piece) == []


def test_a_document_keeps_its_headings_and_tables(alices: Client) -> None:
    page = "# Report\n\nPlain.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n###### Deep"
    [piece] = pieces(alices, as_read(alices, "a.html", [page], unit="", media_type="text/html"))
    assert (piece.find("h3").text, piece.find("h6").text) == ("Report", "Deep")
    assert read_texts(piece) == ["Plain."]
    assert len(piece.find_all("table")) == 1


def test_a_csv_file_is_shown_as_a_table(alices: Client) -> None:
    [piece] = pieces(alices, upload(alices, "a.csv", b'Name;Price\n"a\nb";3\n'))
    assert [cell.text for cell in piece.find_all("td")] == ["a\nb", "3"]


def test_a_thousand_sheets_come_in_pieces(alices: Client) -> None:
    sheet = "# Sheet\n\n| a | b |\n| --- | --- |\n" + "| 1 | 2 |\n" * 20
    huge = "# Huge\n\n| a |\n| --- |\n| " + "x" * 500_000 + " |"
    sheets = [*[sheet] * 500, huge, *[sheet] * 500]
    book = as_read(alices, "book.xlsx", sheets, unit="Sheet", media_type=EXCEL)
    sheet_pieces = list(pieces(alices, book))
    assert [heading for piece in sheet_pieces for heading in read_headings(piece)] == [
        *["Sheet"] * 500,
        "Huge",
        *["Sheet"] * 500,
    ]
    assert max(len(piece.text) for piece in sheet_pieces) < 2 * viewing.AT_ONCE


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
def test_markup_in_sheets_and_headings_stays_text(alices: Client, headers: dict[str, str]) -> None:
    sheet = f"# {HOSTILE}\n\n| {HOSTILE} | b |\n| --- | --- |\n| {HOSTILE} | 2 |"
    book = as_read(alices, "book.xlsx", [sheet, sheet], unit="Sheet", media_type=EXCEL)
    page = parse(alices.get(path(book, "text/"), headers=headers).content.decode())
    assert [element.text for element in page.find_all("h2") if element.text == HOSTILE][-2:] == [
        HOSTILE
    ] * 2
    for tag in ("th", "td"):
        assert [element.text for element in page.find_all(tag)][::2] == [HOSTILE] * 2
    assert all("hx-ignore" in element.attributes for element in page.find_all("table"))
    assert page.find_all("img") == []
