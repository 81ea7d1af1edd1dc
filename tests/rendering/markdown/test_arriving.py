"""Buffering of pieces: no slice ends within a CRLF, and the total length is limited."""

from hypothesis import given
from hypothesis import strategies as st

from chatapp.rendering.markdown import budgets
from chatapp.rendering.markdown.arriving import ArrivingText, Line
from chatapp.rendering.markdown.characters import clean


def split_slices(pieces: list[str]) -> list[str]:
    """Return the slices taken after each piece and at the end."""
    arriving, slices = ArrivingText(), []
    for piece in [*pieces, None]:
        if piece is None:
            arriving.has_ended = True
        else:
            arriving.append(piece)
        while arriving.is_waiting:
            slices.append(arriving.pop_slice())
    return slices


@given(st.lists(st.text(st.sampled_from("ab\r\n\0é"), max_size=6)))
def test_a_text_split_anywhere_comes_out_whole(pieces: list[str]) -> None:
    assert "".join(split_slices(pieces)) == clean("".join(pieces))


def test_half_a_crlf_waits_for_the_next_piece() -> None:
    assert split_slices(["a\r", "\nb"]) == ["a", "\nb"]
    assert split_slices(["a\r", "b"]) == ["a", "\nb"]
    assert split_slices(["a\r"]) == ["a", "\n"]


def test_a_large_piece_is_cut_into_slices() -> None:
    slices = split_slices(["a" * 100_000])
    assert "".join(slices) == "a" * 100_000
    assert max(map(len, slices)) <= 4096


def test_small_pieces_are_joined() -> None:
    arriving = ArrivingText()
    for _ in range(10):
        arriving.append("ab")
    assert arriving.pop_slice() == "ab" * 10


def test_text_that_was_put_back_comes_first() -> None:
    arriving = ArrivingText()
    arriving.append("b")
    arriving.put_back("a")
    assert arriving.pop_slice() == "ab"


def test_text_beyond_the_limit_is_cut() -> None:
    arriving = ArrivingText()
    arriving.append("a" * budgets.MAX_TEXT_LENGTH)
    assert not arriving.is_cut
    arriving.append("b")
    assert arriving.is_cut
    assert arriving.has_ended


def test_a_line_joins_its_pieces() -> None:
    line = Line()
    assert not line
    for piece in ("a", "", "b"):
        line.add(piece)
    assert (line.text, line.size) == ("ab", 2)
    line.add("c")
    assert line.text == "abc"
