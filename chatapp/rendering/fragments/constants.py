"""Writes what never changes into a template when it is compiled.

A page names some hundred addresses, static files and icons, and calling for each would take a tenth
of its time.
"""

from collections.abc import Iterator
from typing import Any

from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from markupsafe import escape

FUNCTIONS = ("icon", "static", "url")  # whose results depend on nothing but their argument
CALL = ("variable_begin", "name", "lparen", "string", "rparen", "variable_end")


class WithConstants(Extension):
    """A Jinja2 extension that replaces `{{ url("name") }}` and its like with what they return."""

    priority = 110  # after the layout was removed, which treats them as words

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        tokens, at = list(stream), 0
        while at < len(tokens):
            call = tokens[at : at + len(CALL)]
            html = self._evaluate_call(call)
            if html is None:
                yield tokens[at]
                at += 1
            else:
                yield Token(call[0].lineno, "data", html)
                at += len(CALL)

    def _evaluate_call(self, call: list[Token]) -> str | None:
        """Return what the call returns; None if it is another call or can't be known yet."""
        if tuple(token.type for token in call) != CALL or call[1].value not in FUNCTIONS:
            return None
        function: Any = self.environment.globals[call[1].value]
        try:
            return escape(function(call[3].value))
        except ValueError:  # before the static files are collected they have no addresses
            return None
