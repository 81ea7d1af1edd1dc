"""The open block: what is appended to it, and when it is rendered again."""

from collections.abc import Callable

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from chatapp.rendering.markdown import Append, Change, LiveMarkdown, ReplaceLast
from chatapp.rendering.markdown.arriving import Line
from chatapp.rendering.markdown.block_html import markdown_html
from chatapp.rendering.markdown.blocks import Block
from chatapp.rendering.markdown.budgets import MAX_BLOCK_LENGTH
from chatapp.rendering.markdown.definitions import Definitions
from chatapp.rendering.markdown.open_block import Prose, is_verbatim
from tests.support.profile import choose_size


def open_line(text: str) -> Line:
    line = Line()
    line.add(text)
    return line


def test_plain_words_are_appended_without_rendering() -> None:
    prose = Prose()
    [first] = prose.show(Block("paragraph"), open_line("some words"), Definitions())
    assert first == Append(0, '<div class="block" dir="auto"><p>some words</p></div>')
    assert prose.takes_words
    assert prose.add_words(" and more") == [Append(2, " and more")]
    assert prose.html == '<div class="block" dir="auto"><p>some words and more</p></div>'


def test_markup_and_possible_urls_are_rendered() -> None:
    for text in (" *a", "``", "\n", "@", "://", " www."):
        prose = Prose()
        prose.show(Block("paragraph"), open_line("some words"), Definitions())
        assert prose.add_words(text) is None, text


def test_a_block_that_becomes_another_element_is_replaced() -> None:
    prose = Prose()
    prose.show(Block("paragraph"), open_line("a title"), Definitions())
    title = '<div class="block" dir="auto"><h3>a title</h3></div>'
    assert prose.become(title) == [ReplaceLast(title)]


def test_code_and_oversized_blocks_are_verbatim() -> None:
    assert is_verbatim(Block("fence"), Line())
    assert is_verbatim(Block("paragraph", size=MAX_BLOCK_LENGTH), open_line("a"))
    assert not is_verbatim(Block("paragraph", size=100), open_line("a"))


def test_a_word_that_becomes_a_url_waits() -> None:
    live = LiveMarkdown()
    for piece in ["see w", "ww", ".exam"]:
        live.append(piece)
        live.changes()
    assert live.html() == '<div class="block" dir="auto"><p>see</p></div>'


@pytest.fixture
def rendered_sources(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that were rendered so far."""
    sources: list[str] = []
    render: Callable[..., str | None] = markdown_html

    def record_render(source: str, *arguments: object) -> str | None:
        sources.append(source)
        return render(source, *arguments)

    monkeypatch.setattr("chatapp.rendering.markdown.open_block.markdown_html", record_render)
    return sources


@pytest.mark.parametrize(
    ("before", "words", "change"),
    [
        ("One, two.", " Three", Append(2, " Three")),
        ("- **bold**", " words", Append(3, " words")),
        ("a *b **c***", " d", Append(2, " d")),
        ("see `code`", ", and", None),  # not a space, so it must be rendered
        ("see `code`", " and", Append(2, " and")),
        ("see `code` ", "and", Append(2, " and")),
        ("a [link](http://b.c)", " and", None),  # the end of a link is never skipped
        ("a **b", " c", Append(3, " c")),
        ("    a `b`", " c", None),  # the code of an indented block ends there
        ("# A ~~b~~", " c", Append(2, " c")),
        ("a b", " **c d**, `e`f", Append(2, " <strong>c d</strong>, <code>e</code>f")),
        ("a `b`", " **c**", Append(2, " <strong>c</strong>")),
        ("a *b", " **c**", None),  # inside open markup
        ("a `b", " `c`", None),
        ("a b", "**c**", None),  # the word before it may matter
        ("a b", " ** c**", None),
        ("| a | b |\n|---|---|\n| **c**", " d", Append(6, " d")),
    ],
)
def test_words_are_appended_without_rendering_only_where_that_is_safe(
    rendered_sources: list[str], before: str, words: str, change: Change | None
) -> None:
    live = LiveMarkdown()
    live.append(before)
    live.changes()
    count = len(rendered_sources)
    live.append(words)
    changes = live.changes()
    assert (changes == [change]) is (change is not None)
    assert (len(rendered_sources) == count) is (change is not None)


def test_markers_are_rendered_with_the_text_after_them(rendered_sources: list[str]) -> None:
    live = LiveMarkdown()
    for piece, times in [("a b", 1), (" **", 1), ("c", 2), ("**", 2), (" d", 3), (" e", 3)]:
        live.append(piece)
        live.changes()
        assert len(rendered_sources) == times, piece
    assert live.html() == '<div class="block" dir="auto"><p>a b <strong>c</strong> d e</p></div>'


def test_a_line_ending_is_rendered_with_the_next_line(rendered_sources: list[str]) -> None:
    live = LiveMarkdown()
    for piece, times in [("- a", 1), (" b\n", 1), ("- c", 2), (" *d*", 3), (" e\n", 3)]:
        live.append(piece)
        live.changes()
        assert len(rendered_sources) == times, piece
    list_html = "<ul><li>a b</li><li>c <em>d</em> e</li></ul>"
    assert live.html() == f'<div class="block" dir="auto">{list_html}</div>'


PIECES = [
    *(
        " `code`",
        " so **much**, `for` it",
        "a",
        " word",
        " and",
        "**bold**",
        " **bold**",
        "*",
        " *",
        "**",
        " **",
        "_",
        " _",
        "~~",
    ),
    *(" (so)", ". Then", ", or", ":", " - ", "\n", "\n- item", "\n\n", "\n# Head", "\n> "),
    *("\n1. one", " [x](http://a.b)", "é", " 日本", ' "q"', "  "),
]


@settings(max_examples=choose_size(60, 600))
@example(["     so **much**, `for` it", " `code`"])  # an indented block is code
@example(["*", ". Then", " _", ". Then", " _", ". Then", ":"])
@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_appending_without_rendering_gives_the_same_html(pieces: list[str]) -> None:
    text = "".join(pieces)
    assume("****" not in text)
    assume("___" not in text)
    live = LiveMarkdown()
    for number, piece in enumerate(pieces, 1):
        live.append(piece)
        live.changes()
        at_once = LiveMarkdown()
        at_once.append("".join(pieces[:number]))
        at_once.changes()
        assert live.html() == at_once.html(), pieces[:number]
