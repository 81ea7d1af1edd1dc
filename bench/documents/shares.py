"""Counts the words of the documents that arrive."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bench.documents.case import Case

# Scripts without spaces have no words between them: each of their characters counts.
WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")


@dataclass(frozen=True)
class Share:
    """The words of some documents, and how many of them arrived."""

    format: str
    documents: int
    words: int
    arrived: int

    @property
    def percent(self) -> float:
        return 100 * self.arrived / self.words


def count_words(text: str) -> Counter[str]:
    return Counter(word.casefold() for word in WORDS.findall(text))


def count_missing_words(case: Case, text: str) -> Counter[str]:
    """Count the words of a document that its text lacks."""
    return count_words(case.words) - count_words(text)


def compute_shares(cases: Iterable[Case], read: Callable[[Case], str]) -> list[Share]:
    """Return the share of each format, and at last that of all documents."""
    by_format: dict[str, list[Case]] = {}
    for case in cases:
        by_format.setdefault(case.format, []).append(case)
    shares = [_share(name, some, read) for name, some in by_format.items()]
    documents, words, arrived = (
        sum(getattr(share, name) for share in shares) for name in ("documents", "words", "arrived")
    )
    return [*shares, Share("all", documents, words, arrived)]


def _share(name: str, cases: list[Case], read: Callable[[Case], str]) -> Share:
    words = sum(count_words(case.words).total() for case in cases)
    missing = sum(count_missing_words(case, read(case)).total() for case in cases)
    return Share(name, len(cases), words, words - missing)


def format_table(shares: Iterable[Share]) -> str:
    """Return the shares as a Markdown table."""
    rows = [
        f"| {share.format} | {share.documents} | {share.words:,} | {share.percent:.1f} % |"
        for share in shares
    ]
    head = ["| format | documents | words | arrive |", "|---|---:|---:|---:|"]
    return "\n".join([*head, *rows])
