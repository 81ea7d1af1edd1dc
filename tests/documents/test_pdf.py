"""PDFs: their text, or pictures of their pages if they have none."""

import io
from pathlib import Path

import pytest

from chatapp import documents
from chatapp.documents import DrawnPage, Limits, Run, Unreadable, answers
from chatapp.documents.formats.pdf import pdf
from tests.documents import files, pdf_files
from tests.documents.conftest import Reader

ONE, TWO = pdf_files.at(60, 700, "one"), pdf_files.at(60, 700, "two")


def test_a_pdf_is_read_page_by_page(read: Reader) -> None:
    document = read.document(b"\n" + pdf_files.draw_pdf([ONE, "", TWO]), "notes.txt")
    assert (document.kind, document.unit) == ("PDF", "Page")
    assert document.media_type == "application/pdf"
    assert document.pages == ("one", "(This page has no text.)", "two")


def test_a_pdf_without_text_becomes_pictures_of_its_pages(read: Reader) -> None:
    scan = read.scan(files.pdf(["", "", ""]), pictures=2, image_side=300)
    assert (scan.kind, scan.page_count, len(scan.pages)) == ("PDF", 3, 2)
    for page in scan.pages:
        assert (page.media_type, page.width, page.height) == ("image/jpeg", 212, 300)
        assert files.open_image(page.data).size == (212, 300)


def test_a_single_page_of_text_does_not_make_a_scan_a_document(read: Reader) -> None:
    assert read.scan(files.pdf(["cover", *[""] * 10])).page_count == 11


def test_a_pdf_with_nothing_on_its_pages_is_refused(read: Reader) -> None:
    blank = files.build_pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>",
        ]
    )
    assert read.refusal(blank) == "This PDF file has no text."


def test_an_encrypted_pdf_is_refused(read: Reader) -> None:
    key = b"<" + b"41" * 32 + b">"
    encrypt = b"/Encrypt << /Filter /Standard /V 1 /R 2 /O %s /U %s /P -4 >> /ID [<41> <41>]"
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Count 0 /Kids [] >>"]
    refusal = read.refusal(files.build_pdf(objects, encrypt % (key, key)))
    assert refusal == (
        "This PDF file is encrypted. Save it without a password, then attach the new file."
    )


def test_a_pdf_that_only_its_owner_may_change_is_read(read: Reader) -> None:
    assert read.text(pdf_files.encrypt_pdf("Readable: 4711.")) == "Readable: 4711."


def test_a_pdf_with_a_password_is_refused(read: Reader) -> None:
    assert "encrypted" in read.refusal(pdf_files.encrypt_pdf("Secret", b"password"))


def test_a_pdf_with_too_many_pages_says_how_many(read: Reader) -> None:
    refusal = read.refusal(files.pdf(["a"] * 12), pages=10)
    assert refusal == "This file has 12 pages. At most 10 can be read."


@pytest.mark.parametrize("kids", [b"3 0 R " * 1_000_000, b"3 0 R"])
def test_a_million_pages_are_refused_at_once(read: Reader, kids: bytes) -> None:
    content = files.build_pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1000000 /Kids [%s] >>" % kids,
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>",
        ]
    )
    assert "At most 1,000 can be read." in read.refusal(content, seconds=2)


def test_too_much_text_is_refused_and_never_cut(read: Reader) -> None:
    refusal = read.refusal(files.pdf(["a" * 60, "b" * 60]), characters=100)
    assert refusal == "This file has more than 100 characters of text, the limit for a file."


TWO_COLUMNS = "one two          far\nthree"
DRAWN = Limits(image_side=842)  # a pixel for each of its points


@pytest.mark.parametrize(
    ("turned", "size", "places"),
    [
        (b"", (595, 842), [(50, 32), (113, 32), (50, 44)]),
        (b"/Rotate 90 ", (842, 595), [(786, 50), (798, 50), (798, 113)]),
    ],
)
def test_a_page_is_drawn_with_the_places_of_its_text(
    turned: bytes, size: tuple[int, int], places: list[tuple[int, int]]
) -> None:
    content = files.pdf([TWO_COLUMNS]).replace(b"/MediaBox", turned + b"/MediaBox")
    page = pdf.draw_page(io.BytesIO(content), DRAWN, 0)
    assert files.open_image(page.picture.data).size == size
    assert sorted(run.text for run in page.runs) == ["far", "one two", "three"]
    for run, (left, top) in zip(
        sorted(page.runs, key=lambda run: (run.left, run.top)), sorted(places), strict=True
    ):
        assert (run.left, run.top) == pytest.approx((left, top), abs=6)


def test_what_is_told_of_a_page_is_bounded() -> None:
    page = pdf.draw_page(io.BytesIO(files.pdf(["\n".join(["x " * 200] * 200)])), DRAWN, 0)
    assert 0 < sum(len(run.text) for run in page.runs) <= 20_000
    assert all(0 <= run.left + run.width <= 595 for run in page.runs)


@pytest.mark.parametrize(
    "runs",
    [
        (Run("x", -1, 0, 1, 1),),
        (Run("x", 0, 0, 843, 1),),
        (Run("x" * 1_001, 0, 0, 1, 1),),
        (Run("x", 0, 0, 1, 1),) * 5_001,
    ],
)
def test_an_answer_with_other_places_is_refused(runs: tuple[Run, ...]) -> None:
    page = pdf.draw_page(io.BytesIO(files.pdf(["one"])), DRAWN, 0)
    assert answers.decode_page(answers.encode_outcome(page), DRAWN) == page
    with pytest.raises(answers.BadAnswer):
        answers.decode_page(answers.encode_outcome(DrawnPage(page.picture, runs)), DRAWN)
    with pytest.raises(answers.BadAnswer):
        answers.decode_page(answers.encode_outcome(page.picture), DRAWN)


@pytest.mark.server
def test_the_sandbox_draws_a_page_as_this_process_does(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(files.pdf(["one", "two"]))
    with path.open("rb") as file:
        assert documents.draw_page(path, DRAWN, 1) == pdf.draw_page(file, DRAWN, 1)
    with pytest.raises(Unreadable):
        documents.draw_page(path, DRAWN, 2)
    path.write_bytes(files.word())
    with pytest.raises(Unreadable):
        documents.draw_page(path, DRAWN, 0)


@pytest.mark.server
def test_pages_of_a_scan_that_a_person_chooses_are_drawn(tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    path.write_bytes(files.pdf([""] * 30))
    third, last = documents.draw_pages(path, DRAWN, [2, 29])
    assert (third.page, third.offset, last.page) == (2, 0, 29)
    assert third.picture == documents.read(path, DRAWN).pages[2]  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="at most 20"):
        documents.draw_pages(path, DRAWN, range(21))
    with pytest.raises(Unreadable):
        documents.draw_pages(path, DRAWN, [30])


def test_a_page_of_a_document_is_drawn_as_it_is_placed_in_it(read: Reader) -> None:
    content = files.pdf(["words", ""])
    (placed,) = read.document(content, image_side=842).pictures
    assert pdf.draw_pages(io.BytesIO(content), DRAWN, [1]) == (placed,)


def test_an_answer_with_other_pages_is_refused() -> None:
    placed = pdf.draw_pages(io.BytesIO(files.pdf(["", ""])), DRAWN, [0, 1])
    answer = answers.encode_outcome(placed)
    assert answers.decode_pages(answer, DRAWN, [0, 1]) == placed
    for limits, indices in ((DRAWN, [0]), (DRAWN, [1, 0]), (Limits(image_side=100), [0, 1])):
        with pytest.raises(answers.BadAnswer):
            answers.decode_pages(answer, limits, indices)
