"""Differences between two texts: together they give both, and what is alike stays together."""

import random
import time

import pytest

from chatapp.text.differences import Kind, Piece, differences

SAME, REMOVED, ADDED = Kind.SAME, Kind.REMOVED, Kind.ADDED


def list_differences(before: str, after: str) -> list[tuple[Kind, str]]:
    return [(piece.kind, piece.text) for piece in differences(before, after)]


def test_equal_texts_are_one_piece() -> None:
    assert list_differences("a\nb", "a\nb") == [(SAME, "a\nb")]
    assert list_differences("", "") == []


def test_lines_are_added_and_removed() -> None:
    assert list_differences("a\nb\nc\n", "a\nc\nd\n") == [
        *((SAME, "a\n"), (REMOVED, "b\n"), (SAME, "c\n"), (ADDED, "d\n")),
    ]
    assert list_differences("", "a") == [(ADDED, "a")]
    assert list_differences("a", "") == [(REMOVED, "a")]


def test_within_a_line_words_are_compared() -> None:
    assert list_differences("Answer in short sentences.", "Answer in long sentences.") == [
        *((SAME, "Answer in "), (REMOVED, "short"), (ADDED, "long"), (SAME, " sentences.")),
    ]


def test_a_line_that_has_little_in_common_is_replaced_as_a_whole() -> None:
    assert list_differences("You translate into English", "Be brief") == [
        *((REMOVED, "You translate into English"), (ADDED, "Be brief")),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_the_pieces_give_both_texts(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    before, after = ("".join(dice.choices("ab \n,é", k=dice.randrange(200))) for _ in "12")
    pieces = differences(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != ADDED) == before
    assert "".join(piece.text for piece in pieces if piece.kind != REMOVED) == after
    assert Piece(SAME, "") not in pieces


@pytest.mark.parametrize("line", ["\n", "a\n", "a b ", "{}\n", "{} "])
def test_hostile_texts_take_little_time(line: str) -> None:
    dice = random.Random(1)  # noqa: S311
    before, after = (
        "".join(line.format(dice.randrange(50)) for _ in range(20_000))[:20_000] for _ in "12"
    )
    began = time.process_time()
    differences(before, after)
    assert time.process_time() - began < 2
