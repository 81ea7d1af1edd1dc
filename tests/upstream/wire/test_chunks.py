"""Decoding one chunk: missing fields, repairs, and errors with their position."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.upstream.wire.decoding.chunks import Chunk, MalformedChunk, decode


def decode_content(data: str | bytes) -> str | None:
    choices = decode(data).choices
    assert choices
    assert choices[0].delta
    content = choices[0].delta.content
    assert not isinstance(content, list)
    return content


def test_a_chunk_is_decoded_from_text_or_bytes() -> None:
    data = '{"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"Größe"}}],"x":{"y":[]}}'
    assert decode_content(data) == decode_content(data.encode()) == "Größe"


@pytest.mark.parametrize(
    "data",
    [
        "{}",
        '{"id":null,"model":null,"choices":null,"usage":null,"error":null}',
        '{"choices":[]}',
        '{"choices":[{}]}',
        '{"choices":[{"index":null,"delta":null,"finish_reason":null}]}',
        '{"choices":[{"delta":{"role":null,"content":null}}]}',
        '{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}',
        '{"usage":{"prompt_tokens":1,"prompt_tokens_details":null}}',
    ],
)
def test_everything_may_be_missing_or_null(data: str) -> None:
    assert isinstance(decode(data), Chunk)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"\u0000", "\0"),
        ("\0", "\0"),
        ("\x01\x1f", "\x01\x1f"),
        (r"\ud83d\ude80", "🚀"),
        (r"a\ude80b", "a\ufffdb"),
        ("a\u2028b", "a\u2028b"),
    ],
)
def test_unusual_characters_in_the_content_are_decoded(written: str, read: str) -> None:
    content = decode_content(f'{{"choices":[{{"delta":{{"content":"{written}"}}}}]}}')
    assert content == read
    content.encode()


def test_half_a_surrogate_pair_is_kept_at_either_end_of_a_text() -> None:
    def content(written: str) -> object:
        return decode_content(f'{{"choices":[{{"delta":{{"content":"{written}"}}}}]}}')

    assert content(r"a\ud83d") == "a\ud83d"
    assert content(r"\ude80a") == "\ude80a"
    assert content(r"\ud83da\ude80") == "\ufffda\ufffd"


@pytest.mark.parametrize(
    ("data", "position"),
    [
        ('{"choices":[', "column"),
        ("ping", "column 1"),
        ("", "column 1"),
        ('{"x":' + "[" * 100_000, "recursion"),
        ('{"x":' + "9" * 5000 + "\0", "digits"),
    ],
)
def test_invalid_json_is_an_error_with_its_position(data: str, position: str) -> None:
    with pytest.raises(MalformedChunk, match=position):
        decode(data)


@given(st.binary(max_size=60) | st.text(max_size=60))
def test_any_input_is_a_chunk_or_malformed(data: str | bytes) -> None:
    with suppress(MalformedChunk):
        decode(data)
