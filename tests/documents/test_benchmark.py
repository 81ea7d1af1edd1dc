"""The words of all documents of the benchmark arrive, and docs/files.md says how many."""

from pathlib import Path

import pytest

from bench.documents.case import Case
from bench.documents.cases import all_cases
from bench.documents.shares import compute_shares, count_missing_words, count_words, format_table
from chatapp.documents import Document
from tests.documents.conftest import Reader

PAGE = Path(__file__).resolve().parents[2] / "docs" / "files.md"
LEAST_PERCENT = 99.8


def test_words_are_counted_as_often_as_they_come() -> None:
    case = Case("Text", "twice", b"", "to be or not to be 会議 x_y")
    assert count_words(case.words).total() == 10
    assert count_missing_words(case, "To be or not, 会 X") == {"to": 1, "be": 1, "議": 1, "y": 1}


def test_the_words_of_every_format_arrive(read: Reader) -> None:
    def read_text(case: Case) -> str:
        result = read(case.content)
        return "\n".join(result.pages) if isinstance(result, Document) else ""

    shares = compute_shares(all_cases(), read_text)
    assert [share for share in shares if share.percent < LEAST_PERCENT] == []
    assert shares[-1].documents >= 60
    assert format_table(shares) in PAGE.read_text()


@pytest.mark.parametrize("text", ["", "\0" * 9, "a" * 10_000])
def test_any_text_has_words_to_count(text: str) -> None:
    assert count_words(text).total() <= 1
