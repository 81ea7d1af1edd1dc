"""Letters of right-to-left words, by where they stand on the page."""

import pytest

from chatapp.documents.formats.pdf.right_to_left import in_reading_order

ARABIC, HEBREW = "عربي", "שלום"


def place_characters(text: str, *, step: int) -> list[tuple[str, float]]:
    """Place the characters of a text one after the other, to the right or to the left."""
    return [(character, float(step * i)) for i, character in enumerate(text)]


@pytest.mark.parametrize("word", [ARABIC, HEBREW])
def test_letters_that_stand_from_left_to_right_are_reversed(word: str) -> None:
    assert in_reading_order(place_characters(word[::-1], step=1)) == word


@pytest.mark.parametrize("word", [ARABIC, HEBREW])
def test_letters_that_stand_from_right_to_left_are_kept(word: str) -> None:
    assert in_reading_order(place_characters(word, step=-1)) == word


def test_other_letters_and_all_digits_are_kept() -> None:
    text = "abc 123 ١٢٣"
    assert in_reading_order(place_characters(text, step=1)) == text


def test_marks_stay_with_their_letters() -> None:
    alef, beh, fathatan = "\u0627", "\u0628", "\u064b"
    assert (
        in_reading_order(place_characters(beh + alef + fathatan, step=1)) == alef + fathatan + beh
    )
