"""A script is everything the demo will say in one reply, decided before the first byte is sent."""

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Literal, NamedTuple

from chatapp.demo.tokens import split_tokens


class Ending(Enum):
    """How a reply ends. The first three are values of `finish_reason`."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    ERROR = "error frame after 200"
    CUT_OFF = "the body ends with neither finish chunk nor [DONE]"
    STALL = "silence until the client leaves"

    @property
    def finish_reason(self) -> str | None:
        finishes = self in (Ending.STOP, Ending.LENGTH, Ending.CONTENT_FILTER)
        return self.value if finishes else None


class Delta(NamedTuple):
    region: Literal["reasoning", "answer"]
    text: str


@dataclass(frozen=True)
class Script:
    """A reply to play. With `stops_after`, only that many tokens of the answer are said."""

    answer: str
    reasoning: str = ""
    ending: Ending = Ending.STOP
    stops_after: int | None = None

    @cached_property
    def reasoning_tokens(self) -> list[str]:
        return split_tokens(self.reasoning)

    @cached_property
    def answer_tokens(self) -> list[str]:
        return split_tokens(self.answer)[: self.stops_after]

    @property
    def deltas(self) -> list[Delta]:
        """One token each, the reasoning first."""
        return [
            *(Delta("reasoning", token) for token in self.reasoning_tokens),
            *(Delta("answer", token) for token in self.answer_tokens),
        ]
