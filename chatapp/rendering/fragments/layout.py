"""Removes the line breaks and indentation of templates from the HTML that is sent.

The rule is that of Vue's and Svelte's compilers: white space with a line break is layout. It is
removed between two tags, after an opening tag, before a closing one, after a `{% … %}` and at both
ends of the template. Beside text, in a tag and in an attribute it becomes one space. Other white
space is kept. This applies only to the template's own text, at compile time, never to a value.
"""

import re
from collections.abc import Iterator

from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream

SPACE = "&#32;"  # at a line's end it forces a space where the rule would remove it
LAYOUT = r"\s*\n\s*"
PIECES = re.compile(rf"{LAYOUT}|</|[<>\"']|[^\s<>\"']+|\s")
BREAK = re.compile(LAYOUT)


class WithoutLayout(Extension):
    """A Jinja2 extension that removes the layout from a template's `data` tokens."""

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
    """Tracks whether the template's HTML is in text, in a tag, or in a quoted attribute."""

    def __init__(self) -> None:
        self._tag = ""  # `<` or `</` inside a tag
        self._quote = ""  # the opening quote inside an attribute

    def read(self, html: str, before: str, after: str) -> str:
        """Return the HTML without its layout; `before` and `after` are the adjacent token types."""
        left, output = _EDGES.get(before, "words"), []
        pieces = [match[0] for match in PIECES.finditer(html)]
        for piece, following in zip(pieces, [*pieces[1:], ""], strict=True):
            if BREAK.fullmatch(piece):
                right = following or _EDGES.get(after, "words")
                piece = " " if self._is_space(left, right) else ""
            else:
                left = self._step(piece)
            output.append(piece)
        return "".join(output)

    def _step(self, piece: str) -> str:
        """Advance past a piece that is not layout; return its kind, seen from the next piece."""
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


# The kind of what is next to a piece of HTML, by its token type; anything else, such as a value,
# counts as words. Two `data` tokens are adjacent if there was a comment between them.
_EDGES = {
    "start": "block",
    "block_end": "block",
    "block_begin": "block",
    "data": "block",
    "eof": "end",
}
