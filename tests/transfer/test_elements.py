"""Splitting a stream of JSON into chats."""

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatapp.transfer import elements
from chatapp.transfer.elements import (
    BROKEN,
    CUT_OFF,
    NO_OBJECT,
    TOO_LARGE,
    BrokenElement,
    Elements,
    WatchedFile,
    decode_element,
)

TRICKY = [
    {"a": 'a "quoted" \\ backslash\\'},
    {"b": ["[{", "}]", {"c": [[], {}]}], "\\": "\\\\"},
    {},
    {"é": "日本 \ud800 \0"},
]
TEXT = st.text(st.sampled_from('ab"\\[]{},: \né日'))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def split_elements(data: bytes, chunk_bytes: int = 10_000) -> list[object]:
    splitter = Elements(io.BytesIO(data), chunk_bytes)
    return [
        element if isinstance(element, BrokenElement) else decode_element(element)
        for element in splitter
    ]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_an_array_is_split_into_its_objects_wherever_it_is_cut(
    indent: int | None, ensure_ascii: bool
) -> None:
    text = json.dumps(TRICKY, indent=indent, ensure_ascii=ensure_ascii)
    data = text.encode("utf-8", "surrogatepass" if ensure_ascii else "replace")
    whole = split_elements(data)
    assert len(whole) == len(TRICKY)
    assert whole[:3] == TRICKY[:3]
    for size in range(1, len(data)):
        assert split_elements(data, size) == whole
    for cut in range(1, len(data)):  # the head is longer than these chunks
        assert split_elements(b" " * (1000 - cut) + data, 1000) == whole


@given(st.lists(st.dictionaries(TEXT, JSON, max_size=3), max_size=4), st.integers(1, 40))
@settings(max_examples=60)
def test_any_objects_are_found(values: list[dict[str, object]], size: int) -> None:
    text = json.dumps(values, ensure_ascii=False)
    assert split_elements(text.encode(), size) == values


def test_json_lines_and_a_single_object_are_split_too() -> None:
    lines = b"\xef\xbb\xbf" + b"\n".join(json.dumps(value).encode() for value in TRICKY[:3])
    assert split_elements(lines) == TRICKY[:3]
    assert split_elements(b'{"a": [1]}\n') == [{"a": [1]}]
    assert split_elements(b' {"conversations": [{"a": 1}, {"b": 2}], "c": 3}') == [
        {"a": 1},
        {"b": 2},
    ]


@pytest.mark.parametrize("cut", [7, 12, 17])
def test_a_line_that_is_cut_off_takes_no_other_with_it(cut: int) -> None:
    first, second = b'{"a": "b", "c": [1]}', b'{"d": "}{"}'
    for lines in ([first[:cut], second, second], [second, first[:cut], second]):
        values = split_elements(b"\n".join(lines))
        assert values == [
            {"d": "}{"} if line is second else BrokenElement(BROKEN) for line in lines
        ]
    last = Elements(io.BytesIO(second + b"\n" + first[:cut]))
    assert list(last) == [second, BrokenElement(CUT_OFF)]
    assert last.is_cut_off


@pytest.mark.parametrize(
    "text",
    [
        '{"chats": [\n{"a": 1},\n{"b": 2}]}',
        '{"chats": [\n{"a": 1}\n]}',
        '{"chats": [\n{"a": 1}\n,{"b": 2}\n]}',
        '{"chats":\n{"a": 1}\n}',
    ],
)
def test_objects_in_lines_of_their_own_stay_in_the_object_around_them(text: str) -> None:
    assert split_elements(text.encode()) == [json.loads(text)]


@pytest.mark.parametrize("indents", [(None, 1), (1, None), (1, 1), (None, None)])
def test_objects_behind_each_other_are_found_however_they_are_written(
    indents: tuple[int | None, int | None],
) -> None:
    first, second = {"a": 1, "b": [{}]}, {"c": 2, "d": [{"e": 3}]}
    texts = [
        json.dumps(value, indent=indent)
        for value, indent in zip([first, second], indents, strict=True)
    ]
    assert split_elements("\n".join(texts).encode()) == [first, second]


def test_lines_are_found_wherever_they_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b'{"a": 1}\r\n\n7\n{"b": "x"}\n{"c": "' + b"x" * 100 + b'"}\n{"d": 2}\n'
    monkeypatch.setattr(elements, "MAX_BYTES", 90)
    expected = [{"a": 1}, BrokenElement(NO_OBJECT), {"b": "x"}, BrokenElement(TOO_LARGE), {"d": 2}]
    for size in range(1, len(data)):
        assert split_elements(data, size) == expected


def test_a_file_says_how_much_is_read_of_it_even_where_it_has_no_objects() -> None:
    """Gigabytes of blanks would otherwise be read without a break."""
    read: list[int] = []
    blanks = b"[{}" + b" " * 1000
    assert list(Elements(WatchedFile(io.BytesIO(blanks), read.append), chunk_bytes=100)) == [b"{}"]
    assert (sum(read), max(read)) == (1003, 100)


def test_a_large_object_is_decoded_under_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "LARGE_BYTES", 10)
    watched: list[int] = []
    assert decode_element(b'{"a": [1, 2, 3]}', watched.append) == {"a": [1, 2, 3]}
    assert watched


def test_a_broken_object_does_not_stop_the_others() -> None:
    data = rb'[{"a": 1}, {"a" 1}, null, 7, {"a": "\q"}, {"a": NaN}, {"a": 2}]'
    first, *middle, nan, last = split_elements(data)
    assert (first, last) == ({"a": 1}, {"a": 2})
    assert middle == [
        BrokenElement(BROKEN),
        BrokenElement(NO_OBJECT),
        BrokenElement(NO_OBJECT),
        BrokenElement(BROKEN),
    ]
    assert isinstance(nan, dict)


def test_numbers_and_characters_that_json_does_not_allow_are_survived() -> None:
    values = split_elements(
        b'[{"a": %s}, {"a": 1e999, "b": "\x01\xff", "c": "\\ud800"}]' % (b"9" * 5000)
    )
    assert values[0] == {"a": None}
    assert values[1] == {"a": float("inf"), "b": "\x01�", "c": "\ud800"}


@pytest.mark.parametrize("end", [0, 5, 9])
def test_a_file_that_ends_too_early_keeps_what_came_before(end: int) -> None:
    whole = Elements(io.BytesIO(b'[{"a": 1}, {"b": 2}]'))
    assert len(list(whole)) == 2
    assert not whole.is_cut_off
    cut = Elements(io.BytesIO(b'[{"a": 1}, {"b": "x}]"}]'[: -2 - end]))
    assert [element for element in cut if element != BrokenElement(CUT_OFF)] == [b'{"a": 1}']
    assert cut.is_cut_off


def test_an_object_that_is_too_large_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "MAX_BYTES", 1000)
    long = b'{"a": "' + b"x" * 2000 + b'"}'
    assert split_elements(b"[" + long + b', {"b": 2}]', 64) == [BrokenElement(TOO_LARGE), {"b": 2}]


def test_little_json_cannot_become_large_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "MAX_BRACKETS", 100)
    monkeypatch.setattr(elements, "MAX_COMMAS", 100)
    assert isinstance(decode_element(b"[" + b"{}" * 100 + b"]"), BrokenElement)
    assert isinstance(decode_element(b"[0" + b",0" * 101 + b"]"), BrokenElement)


def test_deep_nesting_is_decoded_without_recursion() -> None:
    depth = 5000
    value = decode_element(b'{"a":[' * depth + b"1" + b"]}" * depth)
    for _ in range(depth):
        [value] = value["a"]
    assert value == 1
    assert decode_element(b"[" * 100_000) == BrokenElement(BROKEN)
