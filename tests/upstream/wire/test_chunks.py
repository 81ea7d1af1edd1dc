"""Decoding one chunk: what may be missing, what is repaired, what is refused and where."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.upstream.wire.chunks import Chunk, MalformedChunk, Usage, decode


def content_of(data: str | bytes) -> str | None:
    choices = decode(data).choices
    assert choices
    assert choices[0].delta
    content = choices[0].delta.content
    assert not isinstance(content, list)
    return content


def test_a_chunk_is_decoded_from_text_or_bytes() -> None:
    data = '{"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"Größe"}}],"x":{"y":[]}}'
    assert content_of(data) == content_of(data.encode()) == "Größe"


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
def test_odd_characters_in_the_content_are_read(written: str, read: str) -> None:
    content = content_of(f'{{"choices":[{{"delta":{{"content":"{written}"}}}}]}}')
    assert content == read
    content.encode()


def test_half_a_character_is_kept_where_the_other_half_may_be_in_another_delta() -> None:
    def content(written: str) -> object:
        return content_of(f'{{"choices":[{{"delta":{{"content":"{written}"}}}}]}}')

    assert content(r"a\ud83d") == "a\ud83d"
    assert content(r"\ude80a") == "\ude80a"
    assert content(r"\ud83da\ude80") == "\ufffda\ufffd"


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ('{"choices":[', "column"),
        ("ping", "column 1"),
        ("", "column 1"),
        ('{"x":' + "[" * 100_000, "recursion"),
        ('{"x":' + "9" * 5000 + "\0", "digits"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(data: str, place: str) -> None:
    with pytest.raises(MalformedChunk, match=place):
        decode(data)


@given(st.binary(max_size=60) | st.text(max_size=60))
def test_anything_at_all_is_a_chunk_or_malformed(data: str | bytes) -> None:
    with suppress(MalformedChunk):
        decode(data)


def test_usage_keeps_every_detail() -> None:
    usage = decode(
        '{"usage":{"prompt_tokens":12,"completion_tokens":18,"total_tokens":31,'
        '"prompt_tokens_details":{"cached_tokens":1,"cache_write_tokens":2,"audio_tokens":3},'
        '"completion_tokens_details":{"reasoning_tokens":4,"audio_tokens":5,'
        '"accepted_prediction_tokens":6,"rejected_prediction_tokens":7}}}'
    ).usage
    assert usage
    counted = usage.counted()
    assert counted
    assert (counted.prompt_tokens, counted.completion_tokens, counted.total_tokens) == (12, 18, 31)
    assert (counted.cached_tokens, counted.cache_write_tokens) == (1, 2)
    assert (counted.prompt_audio_tokens, counted.completion_audio_tokens) == (3, 5)
    assert counted.reasoning_tokens == 4
    assert counted.accepted_prediction_tokens == 6
    assert counted.rejected_prediction_tokens == 7


@pytest.mark.parametrize(
    ("prompt", "completion", "total", "counts"),
    [
        (12, 18, None, (12, 18, 30)),
        (12, None, 30, (12, 18, 30)),
        (None, 18, 30, (12, 18, 30)),
        (0, 0, 0, (0, 0, 0)),
        (12, 18, -1, (12, 18, 30)),
        (12, 18, "31", (12, 18, 31)),
        ("12", 18.0, None, (12, 18, 30)),
        ("12.5", 18, None, None),
        ("²", 18, None, None),
        (None, None, 30, None),
        (12, None, None, None),
        (12, -18, None, None),
        (12, 10**13, None, None),
        (True, 18, None, None),
        (12, 40, 30, (12, 40, 30)),
        (None, 40, 30, None),
    ],
)
def test_main_counts_are_given_or_follow_or_there_is_no_usage(
    prompt: Any, completion: Any, total: Any, counts: tuple[int, int, int] | None
) -> None:
    usage = Usage(prompt, completion, total).counted()
    assert counts == (usage and (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens))


def test_a_bad_detail_is_not_given() -> None:
    usage = decode(
        '{"usage":{"prompt_tokens":1,"completion_tokens":2,'
        '"completion_tokens_details":{"reasoning_tokens":-1,"audio_tokens":"many"}}}'
    ).usage
    assert usage
    counted = usage.counted()
    assert counted
    assert counted.reasoning_tokens is None
    assert counted.completion_audio_tokens is None
