"""The block that is still open: what is appended to it, and what makes it be drawn again."""

from chatapp.markdown import Append, LiveMarkdown, ReplaceLast
from chatapp.markdown.arriving import Line
from chatapp.markdown.blocks import Block
from chatapp.markdown.budgets import LONGEST_BLOCK
from chatapp.markdown.definitions import Definitions
from chatapp.markdown.open_block import Prose, is_verbatim


def open_line(text: str) -> Line:
    line = Line()
    line.add(text)
    return line


def test_words_need_no_drawing() -> None:
    prose = Prose()
    [first] = prose.show(Block("paragraph"), open_line("some words"), Definitions())
    assert first == Append(0, '<div class="block" dir="auto"><p>some words</p></div>')
    assert prose.takes_words
    assert prose.add_words(" and more") == [Append(2, " and more")]
    assert prose.html == '<div class="block" dir="auto"><p>some words and more</p></div>'


def test_markup_and_what_may_become_an_address_do() -> None:
    for text in (" *", "`", "\n", "@", "://", " www."):
        prose = Prose()
        prose.show(Block("paragraph"), open_line("some words"), Definitions())
        assert prose.add_words(text) is None, text


def test_what_was_shown_is_replaced_where_it_becomes_another_thing() -> None:
    prose = Prose()
    prose.show(Block("paragraph"), open_line("a title"), Definitions())
    title = '<div class="block" dir="auto"><h3>a title</h3></div>'
    assert prose.become(title) == [ReplaceLast(title)]


def test_code_and_what_is_too_much_are_shown_as_they_come() -> None:
    assert is_verbatim(Block("fence"), Line())
    assert is_verbatim(Block("paragraph", size=LONGEST_BLOCK), open_line("a"))
    assert not is_verbatim(Block("paragraph", size=100), open_line("a"))


def test_words_that_grow_into_an_address_wait_with_it() -> None:
    live = LiveMarkdown()
    for piece in ["see w", "ww", ".exam"]:
        live.append(piece)
        live.changes()
    assert live.html() == '<div class="block" dir="auto"><p>see</p></div>'
