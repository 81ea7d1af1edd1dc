"""Long data URLs are taken out of bodies and put back, and decoded in steps."""

import base64
import json
from typing import Any

import msgspec
import pytest

from chatapp.api.data_urls import LONG_BYTES, DataUrl, SplitBody, TooMuchText
from chatapp.upstream.wire.base64_steps import STEP_BYTES

DATA = bytes(range(256)) * 2048  # twice a step
LONG = f"data:image/png;base64,{base64.b64encode(DATA).decode()}"


def split_body(value: Any) -> SplitBody:
    return SplitBody.of(json.dumps(value).encode())


def test_a_long_data_url_leaves_a_mark() -> None:
    apart = split_body({"image_url": {"url": LONG}, "more": ["x"]})
    [(mark, url)] = apart.urls.items()
    assert msgspec.json.decode(apart.json) == {"image_url": {"url": mark}, "more": ["x"]}
    assert (url.media_type, b"".join(url.pieces())) == ("image/png", DATA)
    assert len(apart.json) < 200


@pytest.mark.parametrize(
    "value",
    [
        {"url": LONG[: LONG_BYTES - 1]},
        {"url": f'say "{LONG}"'},
        {"url": LONG.replace("data:", "date:")},
        {"url": LONG.replace(";base64", "")},
        {"url": "data:" + "x" * LONG_BYTES},
    ],
)
def test_other_strings_stay(value: Any) -> None:
    apart = split_body(value)
    assert not apart.urls
    assert msgspec.json.decode(apart.json) == value


def test_what_is_no_image_or_file_is_put_back() -> None:
    value = {"content": LONG, "parts": [{"text": LONG}], "image_url": {"url": LONG}}
    apart = split_body(value)
    assert len(apart.urls) == 3
    restored = apart.put_back(msgspec.json.decode(apart.json))
    assert restored["content"] == restored["parts"][0]["text"] == LONG
    assert restored["image_url"]["url"] in apart.urls


def test_escaped_slashes_are_read() -> None:
    """PHP escapes each of them."""
    escaped = json.dumps({"url": LONG}).replace("/", r"\/").encode()
    apart = SplitBody.of(escaped)
    [(mark, url)] = apart.urls.items()
    assert b"".join(url.pieces()) == DATA
    part = url.encode_part({"type": "image_url", "image_url": {"url": mark, "detail": "low"}}, mark)
    sent = json.loads(part.json)["image_url"]
    assert sent == {"url": LONG, "detail": "low"}


@pytest.mark.parametrize("offset", range(4))
def test_base64_is_the_same_however_steps_divide_it(offset: int) -> None:
    data = DATA[: STEP_BYTES + offset]
    encoded = base64.b64encode(data).replace(b"/", rb"\/")
    url = DataUrl.of_bytes(memoryview(b"data:;base64," + encoded))
    assert url
    assert b"".join(url.pieces()) == data


@pytest.mark.parametrize("encoded", ["AA=A", "AAA", "AA==AAAA", "?", "AA" * STEP_BYTES + "A==="])
def test_invalid_base64_is_noticed(encoded: str) -> None:
    url = DataUrl.of_text(f"data:;base64,{encoded}")
    assert url
    with pytest.raises(ValueError, match=r".+"):
        list(url.pieces())


def test_padding_within_is_noticed_at_the_end_of_a_step() -> None:
    encoded = "A" * (STEP_BYTES - 6) + "AA==" + "A" * 8
    url = DataUrl.of_text(f"data:;base64,{encoded}")
    assert url
    with pytest.raises(ValueError, match=r"padding|Excess"):
        list(url.pieces())


@pytest.mark.parametrize("data", [b'"data:', b'"data:;base64,' + b"A" * 10**5, b"", b"\\"])
def test_torn_bodies_are_left_to_the_decoder(data: bytes) -> None:
    assert SplitBody.of(data).json == data


def test_escapes_of_a_text_are_read_when_it_is_put_back() -> None:
    escaped = json.dumps({"content": LONG + "\n"}).replace("/", r"\/").encode()
    apart = SplitBody.of(escaped)
    assert apart.put_back(msgspec.json.decode(apart.json)) == {"content": LONG + "\n"}


def test_text_is_bounded_with_what_is_put_back() -> None:
    data = json.dumps({"a": LONG, "b": LONG, "image_url": {"url": LONG}}).encode()
    enough = 2 * len(LONG) + 500
    apart = SplitBody.of(data, enough)
    assert apart.put_back(msgspec.json.decode(apart.json))["b"] == LONG
    apart = SplitBody.of(data, enough - 1000)
    with pytest.raises(TooMuchText):
        apart.put_back(msgspec.json.decode(apart.json))
    with pytest.raises(TooMuchText):
        SplitBody.of(data, 50)
