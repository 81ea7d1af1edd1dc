"""Decode a choice's `logprobs` into tokens, and prepare tokens for display.

Never raises: unreadable logprobs are left out, because they must not break a reply.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from chatapp.upstream.wire.events import LogprobsDelta, TokenLogprob

_MAX_TOP = 20  # the most that a request can ask for


class _Token(msgspec.Struct):
    token: str | None = None
    logprob: float | None = None
    bytes: list[int] | None = None
    top_logprobs: list["_Token"] | None = None

    def read(self) -> TokenLogprob:
        return TokenLogprob(
            token=(self.token or "").replace("\0", "\ufffd"),
            logprob=-9999.0 if self.logprob is None else min(self.logprob, 0.0),
            utf8=_utf8(self.bytes),
            top=tuple(token.read() for token in (self.top_logprobs or ())[:_MAX_TOP]),
        )


class _Logprobs(msgspec.Struct):
    content: list[_Token] | None = None
    refusal: list[_Token] | None = None


def read_logprobs(content: object, choice: int) -> LogprobsDelta | None:
    """Read a choice's `logprobs`; None if they hold no tokens."""
    try:
        read = msgspec.convert(content, _Logprobs)
        delta = LogprobsDelta(_tokens(read.content), _tokens(read.refusal), choice=choice)
    except (msgspec.ValidationError, RecursionError):
        return None
    return delta if delta.content or delta.refusal else None


def count_characters(delta: LogprobsDelta) -> int:
    """Return the characters in a delta's tokens and their alternatives."""
    tokens = delta.content + delta.refusal
    return sum(len(token.token) + sum(len(top.token) for top in token.top) for token in tokens)


@dataclass(frozen=True, slots=True)
class DisplayToken:
    """A token for display: whole characters, and a probability from 0 to 1."""

    text: str
    probability: float
    top: tuple[TokenLogprob, ...] = ()

    def as_record(self) -> tuple[object, ...]:
        """Return the token for JSON: text, probability, and the likeliest tokens at its position.

        Tuples, because the garbage collector stops tracking tuples of plain values.
        """
        top = tuple(
            (alternative.token, round(_probability(alternative.logprob), 4))
            for alternative in self.top
        )
        return self.text, round(self.probability, 4), top


def build_display_tokens(tokens: Iterable[TokenLogprob]) -> list[DisplayToken]:
    """Join tokens whose bytes are parts of one character, multiplying their probabilities.

    An incomplete character becomes U+FFFD. Joined tokens have the alternatives of the first.
    """
    display_tokens: list[DisplayToken] = []
    parts: list[TokenLogprob] = []
    data = b""
    for token in tokens:
        parts.append(token)
        data += _own_bytes(token)
        if not _ends_inside_a_character(data):
            display_tokens.append(_join_tokens(parts, data))
            parts, data = [], b""
    if parts:
        display_tokens.append(_join_tokens(parts, data))
    return display_tokens


def _join_tokens(parts: list[TokenLogprob], data: bytes) -> DisplayToken:
    probability = _probability(sum(part.logprob for part in parts))
    return DisplayToken(data.decode("utf-8", "replace"), probability, parts[0].top)


def _probability(logprob: float) -> float:
    return math.exp(min(0.0, logprob))


def _own_bytes(token: TokenLogprob) -> bytes:
    return token.token.encode() if token.utf8 is None else token.utf8


def _ends_inside_a_character(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return False


def _tokens(tokens: list[_Token] | None) -> tuple[TokenLogprob, ...]:
    return tuple(token.read() for token in tokens or ())


def _utf8(values: list[int] | None) -> bytes | None:
    try:
        return None if values is None else bytes(values)
    except ValueError:  # not in the range of a byte
        return None
