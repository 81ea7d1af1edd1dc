"""A script is everything the demo will say in one reply, decided before the first byte is sent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Literal, NamedTuple, Self

from chatapp.demo.tokens import split_tokens

# How each choice of a reply begins, so that they can be told apart.
OPENINGS = ("", "To put it another way:\n\n", "In a third version:\n\n", "And in a fourth:\n\n")
MOST_CHOICES = len(OPENINGS)


class Ending(Enum):
    """How a reply ends. The first five are values of `finish_reason`."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    TOOL_CALLS = "tool_calls"
    FUNCTION_CALL = "function_call"
    ERROR = "error frame after 200"
    CUT_OFF = "the body ends with neither finish chunk nor [DONE]"
    STALL = "silence until the client leaves"

    @property
    def finish_reason(self) -> str | None:
        breaks_off = self in (Ending.ERROR, Ending.CUT_OFF, Ending.STALL)
        return None if breaks_off else self.value


class TextDelta(NamedTuple):
    region: Literal["reasoning", "answer", "refusal"]
    text: str


class CallDelta(NamedTuple):
    """A piece of the tool call at `place`: the first has its name, the others its arguments."""

    place: int
    name: str = ""
    arguments: str = ""


Delta = TextDelta | CallDelta


class Call(NamedTuple):
    """A tool call; `arguments` should be JSON, and sometimes are not."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Script:
    """A reply to play: `unsaid` is the part of the answer that it does not come to."""

    answer: str = ""
    reasoning: str = ""
    ending: Ending = Ending.STOP
    unsaid: str = ""
    refusal: str = ""
    calls: tuple[Call, ...] = ()
    beside: Mapping[str, object] = field(default_factory=dict)  # the text: images, annotations
    is_moderated: bool = False
    is_sent_whole: bool = False  # as JSON, although a stream was asked for
    thinks_in_tags: bool = False

    @property
    def whole_answer(self) -> str:
        return self.answer + self.unsaid

    def choices(self, number: int) -> list[Self]:
        """The same reply several times, each answer with an opening of its own."""
        return [
            replace(self, answer=opening + self.answer) if self.answer else self
            for opening in OPENINGS[:number]
        ]

    @property
    def deltas(self) -> Iterator[Delta]:
        """One token each: the reasoning, the answer, the refusal, the calls."""
        yield from self._reasoning_deltas()
        yield from (TextDelta("answer", token) for token in split_tokens(self.answer))
        yield from (TextDelta("refusal", token) for token in split_tokens(self.refusal))
        for index, call in enumerate(self.calls):
            yield CallDelta(index, name=call.name)
            for token in split_tokens(call.arguments):
                yield CallDelta(index, arguments=token)

    def _reasoning_deltas(self) -> Iterator[Delta]:
        tokens = split_tokens(self.reasoning)
        if self.thinks_in_tags and tokens:
            # cut inside the tags, as models cut them
            tagged = ["<th", "ink>\n", *tokens, "\n</", "think>\n\n"]
            yield from (TextDelta("answer", token) for token in tagged)
        else:
            yield from (TextDelta("reasoning", token) for token in tokens)
