"""Ranges of a file, by the examples and rules of RFC 9110, section 14."""

import pytest

from chatapp.files.ranges import Unsatisfiable, parse_range


@pytest.mark.parametrize(
    ("header", "first", "last"),
    [
        ("bytes=0-499", 0, 499),
        ("bytes=500-999", 500, 999),
        ("bytes=-500", 9500, 9999),
        ("bytes=9500-", 9500, 9999),
        ("bytes=9999-9999", 9999, 9999),
        ("bytes=9000-20000", 9000, 9999),
        ("bytes=-20000", 0, 9999),
        ("bytes=0-", 0, 9999),
        ("Bytes= 0-0 ", 0, 0),
    ],
)
def test_one_range_is_found(header: str, first: int, last: int) -> None:
    assert parse_range(header, 10_000) == range(first, last + 1)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "bytes=",
        "bytes=-",
        "bytes=5-2",
        "bytes=0-0,-1",
        "bytes=a-b",
        "bytes=\u0661-\u0662",
        "bytes=-1-2",
        "lines=0-1",
        "bytes=" + "9" * 5000 + "-",
    ],
)
def test_several_ranges_and_malformed_ones_are_ignored(header: str) -> None:
    assert parse_range(header, 10_000) is None


@pytest.mark.parametrize("header", ["bytes=10000-", "bytes=-0", "bytes=" + "9" * 30 + "-"])
def test_a_range_beyond_the_file_is_unsatisfiable(header: str) -> None:
    with pytest.raises(Unsatisfiable):
        parse_range(header, 10_000)


def test_an_empty_file_has_no_range() -> None:
    with pytest.raises(Unsatisfiable):
        parse_range("bytes=-5", 0)
