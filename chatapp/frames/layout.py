"""Templates stand over as many lines as a person needs, and what is sent has none of their layout.

The rule is the one of Vue's and Svelte's compilers: white space that holds a line break is layout.
It is nothing between two tags, after an opening tag, before a closing one, after a `{% … %}` and at
either end; beside words, inside a tag and in an attribute it is one space. White space within a
line is meant and stays. Only what a template says itself is looked at, when it is compiled; never
a value.
"""

import re
from collections.abc import Iterator

from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream

SPACE = "&#32;"  # says at a line's end that there is a space where the rule has none
LAYOUT = r"\s*\n\s*"
PIECES = re.compile(rf"{LAYOUT}|</|[<>\"']|[^\s<>\"']+|\s")
BREAK = re.compile(LAYOUT)


class WithoutLayout(Extension):
    """Jinja2's hook: the tokens of a template, with the layout taken from what is plain HTML."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        reader = _Reader()
        before = "start"
        for token in stream:
            if token.type == "data":
                after = stream.current.type
                yield Token(token.lineno, "data", reader.read(token.value, before, after))
            else:
                yield token
            before = token.type


class _Reader:
    """Where a template's HTML is: in text, in a tag, or in a quoted attribute of it."""

    def __init__(self) -> None:
        self._tag = ""  # `<` or `</`, while within it
        self._quote = ""  # that opened the attribute, while within it

    def read(self, html: str, before: str, after: str) -> str:
        """The HTML without its layout, which stands between tokens of these types."""
        left, kept = _EDGES.get(before, "words"), []
        pieces = [match[0] for match in PIECES.finditer(html)]
        for piece, following in zip(pieces, [*pieces[1:], ""], strict=True):
            if BREAK.fullmatch(piece):
                right = following or _EDGES.get(after, "words")
                piece = " " if self._is_space(left, right) else ""
            else:
                left = self._step(piece)
            kept.append(piece)
        return "".join(kept)

    def _step(self, piece: str) -> str:
        """Goes on by a piece that is no layout; says what stands to the left of the next one."""
        if self._quote:
            self._quote = "" if piece == self._quote else self._quote
        elif self._tag and piece in ("'", '"'):
            self._quote = piece
            return "opening"
        elif self._tag and piece == ">":
            kind = "opening" if self._tag == "<" else "closing"
            self._tag = ""
            return kind
        elif piece in ("<", "</"):
            self._tag = piece
        return "opening" if piece == SPACE else "words"

    def _is_space(self, left: str, right: str) -> bool:
        if self._quote:
            return left != "opening" and right != self._quote
        if self._tag:
            return right not in (">", "/>")
        if left in ("block", "opening") or right in ("</", "end"):
            return False
        return left == "words" or right not in ("<", "block")


# What stands beside a piece of HTML, by its token's type: a value is as good as words. Two pieces
# follow one another where a comment stood between them.
_EDGES = {
    "start": "block",
    "block_end": "block",
    "block_begin": "block",
    "data": "block",
    "eof": "end",
}
