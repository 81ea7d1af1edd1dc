"""Contents that are lists of parts: put in order, joined, counted and encoded."""

import json
from typing import Any

import pytest

from chatapp.upstream.wire.requests.content import (
    EncodedPart,
    ImagePart,
    fit_to_side,
    join_texts,
    text_part,
)
from chatapp.upstream.wire.requests.history import (
    CONTINUE_PROMPT,
    EMPTY_HISTORY,
    NO_ANSWER,
    History,
)
from chatapp.upstream.wire.requests.request_json import json_pieces

IMAGE = ImagePart("aa/file", "image/png", 100, 50, 1000)
OTHER = ImagePart("aa/other", "image/png", 10, 10, 100)


def asking(*parts: object) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def saying(content: object) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


# Histories


def test_a_prompt_of_parts_is_sent_unchanged() -> None:
    prompt = asking(text_part("A document"), IMAGE, text_part("Why?"))
    assert History.of([prompt]).messages == [prompt]
    assert History.of([prompt]).messages[0] is prompt


@pytest.mark.parametrize("parts", [[], [text_part(" \n")], [text_part("")], [{"type": "text"}]])
def test_a_prompt_whose_parts_are_blank_is_not_sent(parts: list[object]) -> None:
    assert History.of([asking(*parts)]).messages == []


def test_a_prompt_with_nothing_but_an_image_is_sent() -> None:
    assert History.of([asking(IMAGE)]).images == (IMAGE,)


def test_the_texts_of_parts_count_and_images_do_not() -> None:
    plain = History.of([asking(text_part("äb"))])
    assert plain.text_bytes == len("user") + len("text") + 3
    assert History.of([asking(text_part("äb"), IMAGE)]).text_bytes == plain.text_bytes


def test_a_history_knows_its_images_in_order() -> None:
    first = History.of([asking(IMAGE, text_part("a")), saying("b")])
    second = History.of([asking(OTHER), saying("c"), asking(IMAGE)])
    assert first.concatenate(second).images == (IMAGE, OTHER, IMAGE)
    assert EMPTY_HISTORY.concatenate(second).images == (OTHER, IMAGE)
    assert second.concatenate(EMPTY_HISTORY).images == (OTHER, IMAGE)


def test_prompts_of_parts_alternate_with_replies() -> None:
    first, second = asking(IMAGE), asking(text_part("b"), OTHER)
    assert History.of([first, second]).messages == [first, saying(NO_ANSWER), second]
    continued = [first, saying("a"), {"role": "user", "content": CONTINUE_PROMPT}, second]
    assert History.of(continued).messages == [first, saying("a"), second]
    assert History.of([first, {"role": "user", "content": CONTINUE_PROMPT}]).messages == [first]


def test_replies_of_parts_are_merged() -> None:
    merged = History.of([asking(IMAGE), saying("a"), saying([text_part("b")])]).messages[-1]
    assert merged == saying([text_part("a"), text_part("b")])


def test_a_system_message_moves_before_the_parts_of_the_first_prompt() -> None:
    history = History.of([{"role": "system", "content": "Be brief."}, asking(IMAGE)])
    without = history.without_system()
    assert without.messages == [asking(text_part("Be brief."), IMAGE)]
    assert without.images == (IMAGE,)


# Upstreams that take only texts


def test_texts_of_parts_are_joined_and_blank_ones_left_out() -> None:
    messages = [asking(text_part("a"), text_part(" "), text_part("b")), saying("c")]
    assert join_texts(messages) == [{"role": "user", "content": "a\n\nb"}, saying("c")]


# Sizes


@pytest.mark.parametrize(
    ("size", "side", "expected"),
    [
        ((100, 50), 100, (100, 50)),
        ((200, 100), 100, (100, 50)),
        ((50, 300), 100, (17, 100)),
        ((10_000, 1), 100, (100, 1)),
    ],
)
def test_an_image_is_fitted_by_its_longer_side(
    size: tuple[int, int], side: int, expected: tuple[int, int]
) -> None:
    assert fit_to_side(*size, side) == expected


# JSON


def test_a_body_without_images_is_one_piece() -> None:
    [piece] = json_pieces({"messages": [{"role": "user", "content": "Why? äöü"}]})
    assert json.loads(piece)["messages"][0]["content"] == "Why? äöü"


@pytest.mark.parametrize("text", ["Why?", "a lone surrogate: \ud800"])
def test_images_are_pieces_that_are_not_copied(text: str) -> None:
    first, second = EncodedPart.of("image/png", b"\x00\x01"), EncodedPart.of("image/jpeg", b"")
    body = {"messages": [asking(first, text_part(text), second, first)], "stream": True}
    pieces = json_pieces(body)
    assert [pieces[number] for number in (1, 3, 5)] == [first.json, second.json, first.json]
    assert pieces[1] is pieces[5] is first.json
    read = json.loads(b"".join(pieces))
    assert read["stream"] is True
    assert read["messages"][0]["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAE="}},
        text_part(text),
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAE="}},
    ]
