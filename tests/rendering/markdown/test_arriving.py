"""Pieces in, slices out: no half of a line end, and no more than a page may show."""

from hypothesis import given
from hypothesis import strategies as st

from chatapp.rendering.markdown import budgets
from chatapp.rendering.markdown.arriving import Arriving, Line
from chatapp.rendering.markdown.characters import clean


def taken(pieces: list[str]) -> list[str]:
    """What comes out piece by piece, and at the end."""
    arriving, slices = Arriving(), []
    for piece in [*pieces, None]:
        if piece is None:
            arriving.has_ended = True
        else:
            arriving.append(piece)
        while arriving.is_waiting:
            slices.append(arriving.take())
    return slices


@given(st.lists(st.text(st.sampled_from("ab\r\n\0é"), max_size=6)))
def test_a_text_cut_anywhere_comes_out_as_the_whole(pieces: list[str]) -> None:
    assert "".join(taken(pieces)) == clean("".join(pieces))


def test_half_a_line_end_waits() -> None:
    assert taken(["a\r", "\nb"]) == ["a", "\nb"]
    assert taken(["a\r", "b"]) == ["a", "\nb"]
    assert taken(["a\r"]) == ["a", "\n"]


def test_a_large_piece_comes_in_slices() -> None:
    slices = taken(["a" * 100_000])
    assert "".join(slices) == "a" * 100_000
    assert max(map(len, slices)) <= 4096


def test_small_pieces_come_together() -> None:
    arriving = Arriving()
    for _ in range(10):
        arriving.append("ab")
    assert arriving.take() == "ab" * 10


def test_what_is_put_back_comes_first() -> None:
    arriving = Arriving()
    arriving.append("b")
    arriving.put_back("a")
    assert arriving.take() == "ab"


def test_more_than_a_page_may_show_is_cut_and_said() -> None:
    arriving = Arriving()
    arriving.append("a" * budgets.LONGEST_TEXT)
    assert not arriving.is_cut
    arriving.append("b")
    assert arriving.is_cut
    assert arriving.has_ended


def test_a_line_grows() -> None:
    line = Line()
    assert not line
    for piece in ("a", "", "b"):
        line.add(piece)
    assert (line.text, line.size) == ("ab", 2)
    line.add("c")
    assert line.text == "abc"
