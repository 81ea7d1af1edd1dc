"""Decode an upstream's moderation of a prompt or a reply.

Never raises: returns None for unreadable JSON, because a strange result must not break a reply.
The shape is in OpenAI's API reference ("The chat completion chunk object", `moderation`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

import msgspec

from chatapp.upstream.wire.errors.upstream_error import clean

_MAX_RESULTS = 64
_MAX_CATEGORIES = 128


@dataclass(frozen=True, slots=True)
class ModerationResult:
    """One result: the flagged categories, and the score of each category (0 to 1)."""

    flagged: bool
    categories: tuple[str, ...]
    scores: Mapping[str, float]
    applied_input_types: Mapping[str, tuple[str, ...]]  # category → "text", "image"
    model: str = ""


@dataclass(frozen=True, slots=True)
class ModerationResults:
    """The results for one side of the conversation, prompt or reply."""

    model: str
    results: tuple[ModerationResult, ...]

    @property
    def is_flagged(self) -> bool:
        return any(result.flagged for result in self.results)

    @property
    def categories(self) -> list[str]:
        """The flagged categories, each once, in the upstream's order."""
        return list(dict.fromkeys(name for result in self.results for name in result.categories))


@dataclass(frozen=True, slots=True)
class ModerationFailure:
    """The moderation itself failed."""

    code: str
    message: str


class _Result(msgspec.Struct):
    flagged: bool | None = None
    categories: dict[str, bool | None] | None = None
    category_scores: dict[str, float | None] | None = None
    category_applied_input_types: dict[str, list[str] | None] | None = None
    model: str | None = None

    def read(self) -> ModerationResult:
        categories = list((self.categories or {}).items())[:_MAX_CATEGORIES]
        scores = list((self.category_scores or {}).items())[:_MAX_CATEGORIES]
        applied = list((self.category_applied_input_types or {}).items())[:_MAX_CATEGORIES]
        flagged = tuple(clean(name) for name, is_flagged in categories if is_flagged)
        return ModerationResult(
            flagged=bool(flagged) if self.flagged is None else self.flagged,
            categories=flagged,
            scores={clean(name): score for name, score in scores if _is_number(score)},
            applied_input_types={
                clean(name): tuple(clean(kind) for kind in (kinds or ())[:_MAX_CATEGORIES])
                for name, kinds in applied
            },
            model=clean(self.model or ""),
        )


def _is_number(score: float | None) -> TypeGuard[float]:
    return score is not None and math.isfinite(score)


class _Moderation(msgspec.Struct):
    type: str | None = None
    model: str | None = None
    results: list[_Result] | None = None
    code: Any = None
    message: Any = None


def read_moderation(
    content: object, secret: str = ""
) -> ModerationResults | ModerationFailure | None:
    """Read `moderation.input` or `moderation.output`; `secret` is removed from its messages."""
    try:
        read = msgspec.convert(content, _Moderation)
    except (msgspec.ValidationError, RecursionError):
        return None
    if read.type == "error":
        code, message = ("" if text is None else str(text) for text in (read.code, read.message))
        return ModerationFailure(clean(code, secret=secret), clean(message, 500, secret))
    if read.results is None:
        return None
    results = tuple(result.read() for result in read.results[:_MAX_RESULTS])
    return ModerationResults(clean(read.model or "", secret=secret), results)
