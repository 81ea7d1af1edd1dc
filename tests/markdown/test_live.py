"""A viewer who makes every change has the page that a reload would show."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatapp.markdown import Append, LiveMarkdown, ReplaceBlock, block_html, render

from .page import Element, make, parse
from .texts import ANSWER, PIECES


def stream(pieces, colour_every=1):
    """The changes of each piece and of the end, each checked on a page.

    Every so many pieces there is time to colour a block.
    """
    live, page, made = LiveMarkdown(), Element("region"), []
    for number, piece in enumerate([*pieces, None], 1):
        if piece is not None:
            live.append(piece)
        else:
            live.finish()
        made.append([])
        while True:
            changes = live.changes()
            make(changes, page)
            assert page == parse(live.html()), piece
            made[-1] += changes
            if not live.is_behind:
                break
        while live.has_jobs and (number % colour_every == 0 or piece is None):
            for job in live.jobs():
                drawn = live.take(job, block_html(job.block, job.definitions))
                make(drawn, page)  # in a message of its own
                made[-1] += drawn
            assert page == parse(live.html()), piece
    assert live.html() == render("".join(pieces))
    return made


def in_pieces(text, size):
    return [text[i : i + size] for i in range(0, len(text), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 16, 61, 10_000])
def test_an_answer_in_pieces_of_any_size_ends_as_the_whole(size):
    stream(in_pieces(ANSWER, size), colour_every=size % 4 + 1)


def test_an_answer_cut_in_two_anywhere_ends_as_the_whole():
    for cut in range(0, len(ANSWER), 7):
        stream([ANSWER[:cut], ANSWER[cut:]])


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=20))
def test_random_markup_ends_as_the_whole(pieces):
    stream(pieces)
    stream(list("".join(pieces)), colour_every=100)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=8), max_size=8))
def test_random_text_ends_as_the_whole(pieces):
    stream(pieces)


def shown(text):
    """What a viewer has of an unfinished text, without the block's own element."""
    live = LiveMarkdown()
    live.append(text)
    live.changes()
    return live.html().replace('<div class="block">', "").removesuffix("</div>")


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a **bo", "<p>a <strong>bo</strong></p>"),
        ("a **bold ", "<p>a <strong>bold</strong></p>"),
        ("a **bold*", "<p>a <strong>bold</strong></p>"),
        ("a *b **c", "<p>a <em>b <strong>c</strong></em></p>"),
        ("a _b", "<p>a <em>b</em></p>"),
        ("a ~~b", "<p>a <del>b</del></p>"),
        ("a `co", "<p>a <code>co</code></p>"),
        ("a `**b", "<p>a <code>**b</code></p>"),
        ("a [te", "<p>a te</p>"),
        ("a [text](http://x", "<p>a text</p>"),
        ("a ![alt](htt", "<p>a alt</p>"),
        ("a snake_", "<p>a snake</p>"),
        ("2 * 3", "<p>2 * 3</p>"),
        ("see https://exam", "<p>see</p>"),
        ("so $x^2 + ", "<p>so</p>"),
        ("for $5 and", "<p>for $5 and</p>"),
        ("so \\(x", "<p>so</p>"),
        ("a **", "<p>a</p>"),
        ("- **b", "<ul><li><strong>b</strong></li></ul>"),
        ("> a **b", "<blockquote><p>a <strong>b</strong></p></blockquote>"),
        ("- ```py\n  x **", None),
    ],
)
def test_open_markup_is_closed_for_the_eye(text, html):
    expected = html or (
        '<ul><li><div class="code" data-language="py"><pre tabindex="0">'
        '<code class="language-py">x **</code></pre></div></li></ul>'
    )
    assert shown(text) == expected


@pytest.mark.parametrize(
    "line", ["-", "--", "=", "#", "*", "1", "1.", "|", ">", "``", "```py", "$$"]
)
def test_a_line_of_markers_waits(line):
    assert shown(line) == ""
    assert shown("before\n" + line) == "<p>before</p>"


def test_a_table_waits_for_its_delimiters_and_then_grows_by_cells():
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


def test_what_was_held_back_is_shown_at_the_end():
    assert [c.html for c in stream(["price *"])[-1]] == [" *"]
    assert stream(["see https://a.b"])[-1][0].html.startswith(" <a href=")


def test_words_are_appended_where_they_belong():
    assert stream(["- **bold", " text", "** and", " more"])[1:4] == [
        [Append(4, " text")],
        [Append(3, " and")],
        [Append(3, " more")],
    ]


def test_words_that_grow_into_an_address_wait_with_it():
    live = LiveMarkdown()
    for piece in ["see w", "ww", ".exam"]:
        live.append(piece)
        live.changes()
    assert live.html() == '<div class="block"><p>see</p></div>'


def test_a_line_end_cut_in_two_is_one_line_end():
    assert [c.html for changes in stream(["a\r", "\nb"]) for c in changes] == [
        '<div class="block"><p>a</p></div>',
        "\nb",
    ]


def test_an_open_fence_is_appended_to_and_coloured_once_finished():
    made = stream(["```py\n", "x = '<", "'\n", "y\n", "```\n", "after"])
    assert made[1:4] == [[Append(4, "x = '&lt;")], [Append(4, "'")], [Append(4, "\ny")]]
    (coloured,) = made[4]
    assert isinstance(coloured, ReplaceBlock)
    assert '<span class="s">' in coloured.html
    assert made[5] == [Append(0, '<div class="block"><p>after</p></div>')]


def test_finished_code_is_coloured_later_in_its_place_and_at_the_latest_at_the_end():
    fences = ["```py\nx = 1\n```\n", "- ```py\n  y = 2\n  ```\n", "\nafter"]
    made = stream(fences, colour_every=100)
    assert not any(isinstance(change, ReplaceBlock) for changes in made[:-1] for change in changes)
    assert [change.index for change in made[-1] if isinstance(change, ReplaceBlock)] == [0, 1]


def test_a_fence_without_colours_is_not_sent_again():
    assert stream(["```\nplain\n", "```\n"])[1:] == [[], []]


def test_a_finished_block_is_never_touched_again():
    made = stream(["one **two**\n\n", "three"])
    assert made[1] == [Append(0, '<div class="block"><p>three</p></div>')]


def test_a_later_definition_changes_earlier_blocks_at_the_end():
    last = stream(["see [foo].\n\n", "[foo]: http://a.b\n"])[-1]
    assert isinstance(last[-1], ReplaceBlock)
    assert last[-1].index == 0
    assert '<a href="http://a.b"' in last[-1].html


def test_an_early_definition_changes_nothing_at_the_end():
    made = stream(["[foo]: http://a.b\n\n", "see [foo].", "\n\nx"])
    assert not any(isinstance(change, ReplaceBlock) for change in made[-1])


def test_nothing_new_is_no_change():
    live = LiveMarkdown()
    assert live.changes() == []
    live.append("")
    assert live.changes() == []
    live.finish()
    assert live.changes() == []
    assert not live.is_behind
    assert live.html() == ""


def bytes_a_token(tokens):
    pieces = in_pieces((ANSWER * 40)[: tokens * 5], 5)
    return sum(len(c.html) + 70 for changes in stream_unchecked(pieces) for c in changes) / tokens


def stream_unchecked(pieces):
    live = LiveMarkdown()
    for piece in pieces:
        live.append(piece)
        yield live.changes()


def test_traffic_is_small_and_linear():
    short, long = bytes_a_token(1000), bytes_a_token(4000)
    assert short < 130
    assert long < 1.1 * short
