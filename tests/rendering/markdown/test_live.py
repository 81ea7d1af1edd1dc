"""A viewer who applies all changes has the same page as after a reload."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatapp.rendering.markdown import (
    Append,
    Change,
    LiveMarkdown,
    ReplaceBlock,
    block_html,
    render,
)
from tests.support.profile import choose_size

from .page import make, region
from .texts import ANSWER, PIECES


def stream(pieces: Sequence[str], colour_every: int = 1) -> list[list[Change]]:
    """Return the changes of each piece and of the end, after checking each on a page.

    Jobs are done after every `colour_every` pieces and at the end.
    """
    live, page = LiveMarkdown(), region()
    changes_by_call: list[list[Change]] = []
    for number, piece in enumerate([*pieces, None], 1):
        if piece is not None:
            live.append(piece)
        else:
            live.finish()
        changes_by_call.append([])
        while True:
            changes = live.changes()
            make(changes, page)
            assert page.inner_html == live.html(), piece
            changes_by_call[-1] += changes
            if not live.is_behind:
                break
        while live.has_jobs and (number % colour_every == 0 or piece is None):
            for job in live.jobs():
                replaced = live.apply_result(job, block_html(job.block, job.definitions))
                make(replaced, page)  # sent as a separate message
                changes_by_call[-1] += replaced
            assert page.inner_html == live.html(), piece
    assert live.html() == render("".join(pieces))
    return changes_by_call


def in_pieces(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 16, 61, 10_000])
def test_an_answer_in_pieces_of_any_size_ends_like_the_whole_text(size: int) -> None:
    stream(in_pieces(ANSWER, size), colour_every=size % 4 + 1)


def test_an_answer_split_anywhere_ends_like_the_whole_text() -> None:
    for cut in range(0, len(ANSWER), 7):
        stream([ANSWER[:cut], ANSWER[cut:]])


@settings(max_examples=choose_size(20, 200))
@given(st.lists(st.sampled_from(PIECES), max_size=20))
def test_random_markup_ends_like_the_whole_text(pieces: list[str]) -> None:
    stream(pieces)
    stream(list("".join(pieces)), colour_every=100)


@settings(max_examples=choose_size(15, 100))
@given(st.lists(st.text(max_size=8), max_size=8))
def test_random_text_ends_like_the_whole_text(pieces: list[str]) -> None:
    stream(pieces)


def test_a_table_waits_for_its_delimiter_row_and_then_grows_by_cells() -> None:
    rows = ["| a | b |\n", "|---|---|\n", "| c ", "| **d", "** |\n"]
    appended = [[c.html for c in changes] for changes in stream(rows)]
    assert appended[0] == []
    assert "<th>b</th>" in appended[1][0]
    assert appended[2:] == [
        ["<tbody><tr><td>c</td></tr></tbody>"],
        ["<td><strong>d</strong></td>"],
        [],
        [],
    ]


def test_text_that_was_held_back_is_shown_at_the_end() -> None:
    assert [c.html for c in stream(["price *"])[-1]] == [" *"]
    assert stream(["see https://a.b"])[-1][0].html.startswith(" <a href=")


def test_words_are_appended_to_the_right_element() -> None:
    assert stream(["- **bold", " text", "** and", " more"])[1:4] == [
        [Append(4, " text")],
        [Append(3, " and")],
        [Append(3, " more")],
    ]


def test_a_crlf_split_in_two_is_one_line_ending() -> None:
    assert [c.html for changes in stream(["a\r", "\nb"]) for c in changes] == [
        '<div class="block" dir="auto"><p>a</p></div>',
        "\nb",
    ]


def test_an_open_fence_is_appended_to_and_coloured_once_finished() -> None:
    changes_by_call = stream(["```py\n", "x = '<", "'\n", "y\n", "```\n", "after"])
    assert changes_by_call[1:4] == [[Append(4, "x = '&lt;")], [Append(4, "'")], [Append(4, "\ny")]]
    (coloured,) = changes_by_call[4]
    assert isinstance(coloured, ReplaceBlock)
    assert '<span class="s">' in coloured.html
    assert changes_by_call[5] == [Append(0, '<div class="block" dir="auto"><p>after</p></div>')]


def test_finished_code_is_coloured_later_in_place() -> None:
    fences = ["```py\nx = 1\n```\n", "- ```py\n  y = 2\n  ```\n", "\nafter"]
    changes_by_call = stream(fences, colour_every=100)
    assert not any(
        isinstance(change, ReplaceBlock) for changes in changes_by_call[:-1] for change in changes
    )
    assert [change.index for change in changes_by_call[-1] if isinstance(change, ReplaceBlock)] == [
        0,
        1,
    ]


def test_a_fence_without_colours_is_not_sent_again() -> None:
    assert stream(["```\nplain\n", "```\n"])[1:] == [[], []]


def test_a_finished_block_is_not_sent_again() -> None:
    changes_by_call = stream(["one **two**\n\n", "three"])
    assert changes_by_call[1] == [Append(0, '<div class="block" dir="auto"><p>three</p></div>')]


def test_a_later_definition_changes_earlier_blocks_at_the_end() -> None:
    last = stream(["see [foo].\n\n", "[foo]: http://a.b\n"])[-1]
    assert isinstance(last[-1], ReplaceBlock)
    assert last[-1].index == 0
    assert '<a href="http://a.b"' in last[-1].html


def test_an_early_definition_changes_nothing_at_the_end() -> None:
    changes_by_call = stream(["[foo]: http://a.b\n\n", "see [foo].", "\n\nx"])
    assert not any(isinstance(change, ReplaceBlock) for change in changes_by_call[-1])


def test_without_new_text_there_are_no_changes() -> None:
    live = LiveMarkdown()
    assert live.changes() == []
    live.append("")
    assert live.changes() == []
    live.finish()
    assert live.changes() == []
    assert not live.is_behind
    assert live.html() == ""


def bytes_a_token(tokens: int) -> float:
    pieces = in_pieces((ANSWER * 40)[: tokens * 5], 5)
    return sum(len(c.html) + 70 for changes in stream_unchecked(pieces) for c in changes) / tokens


def stream_unchecked(pieces: list[str]) -> Iterator[list[Change]]:
    live = LiveMarkdown()
    for piece in pieces:
        live.append(piece)
        yield live.changes()


def test_traffic_is_small_and_linear() -> None:
    short, long = bytes_a_token(1000), bytes_a_token(4000)
    assert short < 130
    assert long < 1.1 * short
