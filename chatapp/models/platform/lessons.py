"""What requests teach about a model: what it refuses, and what is conceded to it from then on.

`Upstream.apply_lesson` notes one on an object, and `Upstream.learn` stores them for all processes.
"""

from dataclasses import dataclass
from typing import TypeAlias

from chatapp.upstream.wire.requests.concessions import Concession


@dataclass(frozen=True, slots=True)
class UsageOptionLesson:
    """The upstream refuses requests that ask for usage."""


@dataclass(frozen=True, slots=True)
class ImagesLesson:
    """The model refuses images."""


@dataclass(frozen=True, slots=True)
class FieldsLesson:
    """The model refuses fields of a request, whatever their value."""

    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContextLesson:
    """The model refused a request as too long; `tokens` is the size it named, if any."""

    tokens: int | None


@dataclass(frozen=True, slots=True)
class ConcessionLesson:
    """The model answers if this is conceded."""

    concession: Concession


Lesson: TypeAlias = (
    UsageOptionLesson | ImagesLesson | FieldsLesson | ContextLesson | ConcessionLesson
)
